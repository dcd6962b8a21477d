"""Files beside the notebook that have the names of the standard library's modules, in folders that are on ``sys.path``."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from pounce._worker import standard_library

PACKAGE = Path(standard_library.__file__).parents[1]

# Each says who it is and fails, so that whoever imports it shows it. `secrets` and `test` no kernel has imported: they are the person's.
BESIDE = """
import os, pathlib, sys
import pounce
os.mkdir("added")
names = {name for name in sys.stdlib_module_names if name in sys.modules} | set(OF_POUNCE)
for name in names - {"secrets", "test"}:
    for folder in (".", "added"):
        pathlib.Path(folder, f"{name}.py").write_text(f"raise RuntimeError('{name}.py, the file beside the notebook')")
pathlib.Path("added", "secrets.py").write_text("token = 'mine'")
pathlib.Path("statistics.py").write_text("")  # behind the library: IPython puts the notebook's folder there
pathlib.Path("added", "test.py").write_text("token = 'mine too'")
sys.path.insert(0, os.path.abspath("added"))
def tried():
    import email.message, json, logging, queue, random, string, sys, token, types
    import secrets, statistics, test
    own = [name for name in ("logging", "random", "email", "json", "queue") if "added" in sys.modules[name].__file__]
    return own, random.Random(4).random(), logging.getLevelName(10), secrets.token, test.token, statistics.mean([1, 3])
def here():
    import random
    return random.Random(4).random()
"""


@pytest.fixture(scope="module")
def notebook():
    pytest.importorskip("ipykernel")
    kernel = pytest.importorskip("kernel")
    with kernel.notebook_at_home(BESIDE.replace("OF_POUNCE", repr(standard_library._OF_POUNCE))) as made:
        yield made


def test_a_worker_starts_and_user_code_imports_there_what_it_imports_in_the_notebook(notebook):
    assert not (said := notebook.run("client = pounce.Client(cpus=1)\nfound = client.submit(tried).result(60)")).of("error"), said.error["text"]
    assert notebook.run("found == tried() == ([], here(), 'DEBUG', 'mine', 'mine too', 2)").value == "True"


def test_a_cell_imports_the_same(notebook):
    cell = notebook.run("%%pounce --cpus 1 --out there\nthere = tried()\nimport random\nrandom.Random(4).random() == there[1]")
    assert cell.value == "True" and notebook.run("there == tried()").value == "True"


@pytest.mark.parametrize("source", [
    "1/0", "import subprocess\nsubprocess.run(['true']).returncode", "!true", "import asyncio\nawait asyncio.sleep(0)",
    "from IPython.display import HTML\nHTML('x')", "import numpy\nnumpy.arange(3)", "%%timeit -n1 -r1\npass"])
def test_what_pounce_and_ipython_import_late_is_the_library_s(notebook, source):
    cell = notebook.run(f"%%pounce --cpus 1\n{source}")
    assert [error["ename"] for error in cell.of("error")] == (["ZeroDivisionError"] if source == "1/0" else [])
    assert "beside the notebook" not in cell.stream("stdout") + cell.stream("stderr")


def test_variables_are_saved_and_restored_there(notebook):
    notebook.run("%%pounce --cpus 1\nkept = [1, 2]")
    notebook.run("%pounce release")
    assert notebook.run("%%pounce --cpus 1\nkept").value == "[1, 2]"


def test_the_environment_and_the_path_are_the_notebooks(notebook):
    there = notebook.run("%%pounce --cpus 1 --out path,variables\nimport os, sys\npath, variables = list(sys.path), dict(os.environ)")
    assert not there.of("error")
    assert notebook.run("path == [folder or os.getcwd() for folder in sys.path]").value == "True", notebook.run("path, sys.path").value
    assert notebook.run("variables.get('PYTHONPATH') == os.environ.get('PYTHONPATH'), [n for n in variables if 'POUNCE' in n]").value == "(True, ['POUNCE_REPORT'])"


def imported_by(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(str(node.module))
    return {name for name in found if name.partition(".")[0] in sys.stdlib_module_names}


STARTED = """
import importlib, sys
from pounce._worker import interpreter
import cloudpickle
started = set(sys.modules)
for name in sys.argv[1:]:
    importlib.import_module(name)
print(*{name.partition(".")[0] for name in set(sys.modules) - started} & sys.stdlib_module_names - {name.partition(".")[0] for name in started})
"""


def test_each_module_that_a_worker_imports_when_it_has_begun_is_listed():
    files = [*(PACKAGE / "_worker").rglob("*.py"), *(PACKAGE / "_common").rglob("*.py"), PACKAGE / "errors.py", PACKAGE / "on_worker.py"]
    names = sorted(set().union(*map(imported_by, files)))
    later = subprocess.run([sys.executable, "-c", STARTED, *names], capture_output=True, text=True, check=True,
                           env={"PYTHONPATH": str(PACKAGE.parent)}).stdout.split()
    assert len(names) > 30 and {name for name in later if not name.startswith("_")} <= set(standard_library._OF_POUNCE)


def test_secrets_and_statistics_are_left_to_the_notebook():
    """No kernel has imported them, and a secrets.py beside a notebook is common."""
    files = [file for file in PACKAGE.rglob("*.py") if "bench" not in file.parts]
    assert [file.name for file in files if {"secrets", "statistics"} & imported_by(file)] == []
