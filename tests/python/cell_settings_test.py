"""What the notebook has set in its process is so in its next cell on a worker, and stays so on the worker after that."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from kernel import notebook_at_home
from pounce._common.settings import figures, table
from pounce._engine.changed_settings import ChangedSettings
from state_process_test import SETTINGS, installed, with_reasons

IMPORTS = "import contextlib, decimal, json, locale, logging, os, socket, sys, time, warnings"
LIBRARIES = "\n".join(sorted({change.partition(";")[0] for change, _ in installed(SETTINGS).values() if change.startswith("import")}))
MORE = {
    "a variable of the environment": ("os.environ['MY_FLAG'] = 'a\\nb'", "os.environ.get('MY_FLAG')"),
    "one that is gone": ("os.environ.pop('TO_GO', None)", "os.environ.get('TO_GO')"),
    "a folder of sys.path": ("os.makedirs('added', exist_ok=True); sys.path.append(os.path.abspath('added'))",
                            "'added' in map(os.path.basename, sys.path)"),
    "the folder": ("os.makedirs('below', exist_ok=True); os.chdir('below')", "os.path.basename(os.getcwd())"),
}
FILE = "a handler that writes a file"  # of the notebook's folder, which the last row leaves
ROWS = {**SETTINGS, **MORE, FILE: (SETTINGS[FILE][0], "[type(one).__name__ for one in logging.getLogger('mine').handlers]")}
LOOKS = "print(json.dumps({row: repr(eval(look)) for row, look in json.loads(%r).items()}))"
LOOK = LOOKS % json.dumps({row: look for row, (_, look) in installed(ROWS).items()})
THERE = "%%pounce --cpus 1\n"


@pytest.fixture(scope="module")
def notebook():
    with notebook_at_home("%load_ext pounce") as made:
        yield made


@pytest.fixture(scope="module")
def looks(notebook):
    """What the rows show in the notebook, on a worker before and after they were set, and on the worker after that."""
    def look(where: str) -> dict[str, str]:
        shown = notebook.run(f"{where}{IMPORTS}\n{LIBRARIES}\n{LOOK}")
        assert not shown.of("error"), shown.of("error")
        return json.loads(shown.stdout.splitlines()[-1])

    before = look(THERE)
    notebook.run(IMPORTS + "\n" + "\n".join(change for change, _ in installed(ROWS).values()))
    here, there = look(""), look(THERE)
    notebook.run("%pounce release")
    return before, here, there, look(THERE)


@pytest.mark.xdist_group("cell_settings")
@pytest.mark.parametrize("row", with_reasons(ROWS))
def test_a_setting_of_the_notebook_is_there_on_its_worker_and_on_the_next(row, looks):
    before, here, there, next_one = (each[row] for each in looks)

    assert there == here and next_one == here
    assert before != here or row == "one that is gone"


@pytest.mark.xdist_group("cell_settings")
def test_what_a_cell_changes_stays_until_the_notebook_changes_the_same_setting(notebook, looks):
    shows = "import pandas\nprint(pandas.get_option('display.precision'), pandas.get_option('display.max_rows'))"
    notebook.run(THERE + "import pandas\npandas.set_option('display.precision', 5)")
    notebook.run("import pandas\npandas.set_option('display.max_rows', 11)")
    assert notebook.run(THERE + shows).stdout.splitlines()[-1] == "5 11"
    notebook.run("%pounce release")
    assert notebook.run(THERE + shows).stdout.splitlines()[-1] == "5 11"
    notebook.run("pandas.set_option('display.precision', 4)")
    assert notebook.run(THERE + shows).stdout.splitlines()[-1] == "4 11"


@pytest.mark.xdist_group("cell_settings")
def test_the_page_of_settings_names_what_follows_and_what_cannot(notebook, looks):
    told = notebook.run("import numpy\nnumpy.set_printoptions(formatter={'float': (one for one in ()).send})\n%pounce settings")

    assert "environment: " in told.stdout and "MY_FLAG" in told.stdout and "pandas: display." in told.stdout
    assert "printing formatter does not follow" in told.stdout
    notebook.run("numpy.set_printoptions(formatter=None)")


@pytest.mark.xdist_group("cell_settings")
def test_a_variable_of_a_mebibyte_follows_and_one_that_is_gone_again_too(notebook, looks):
    shows = "import os\nprint(len(os.environ.get('BIG', '')))"
    notebook.run("os.environ['BIG'] = 'x' * 2**20")
    assert notebook.run(THERE + shows).stdout.splitlines()[-1] == "1048576"
    notebook.run("del os.environ['BIG']")
    assert notebook.run(THERE + shows).stdout.splitlines()[-1] == "0"


STARTUP = {
    "10-names.py": "greeting = 'hello'\ndef greet(name): return f'{greeting} {name}'\n"
                   "from IPython.core.magic import register_line_magic\n"
                   "@register_line_magic\ndef hail(line): return greet(line)",
    "20-fails.py": "before = 1\nraise ValueError('of a startup file')"}


@pytest.fixture(scope="module")
def notebook_with_startup_files():
    with notebook_at_home("%load_ext pounce", startup=STARTUP) as made:
        yield made


@pytest.mark.xdist_group("cell_startup")
def test_names_and_magics_of_startup_files_are_names_like_others(notebook_with_startup_files):
    notebook = notebook_with_startup_files

    assert notebook.run(THERE + "print(greet('you'), before)").stdout.splitlines()[-1] == "hello you 1"
    assert notebook.run(THERE + "%hail me").value == "'hello me'"
    notebook.run("greeting = 'good day'")
    assert notebook.run(THERE + "%hail me").value == "'good day me'"
    notebook.run("%pounce release")
    assert notebook.run(THERE + "%hail me").value == "'good day me'"


@pytest.mark.xdist_group("cell_startup")
def test_a_magic_that_needs_a_module_that_only_the_notebook_has_says_how_to_install_it(notebook_with_startup_files):
    notebook = notebook_with_startup_files
    notebook.run("import importlib.machinery, sys, types\nghost = sys.modules['ghost'] = types.ModuleType('ghost')\n"
                 "ghost.__spec__ = importlib.machinery.ModuleSpec('ghost', None)\ndel ghost")
    notebook.run("from IPython.core.magic import register_line_magic\n@register_line_magic\ndef needs(line): import ghost")

    assert "%pip install ghost in a %%pounce cell installs it" in notebook.run(THERE + "%needs").error["text"]


@pytest.mark.xdist_group("cell_startup")
def test_a_cell_of_one_line_may_call_without_parentheses_and_name_magics_without_their_sign(notebook_with_startup_files):
    """IPython reads such lines in cells of one line alone. It was shown three times what it had made of one."""
    notebook = notebook_with_startup_files
    notebook.run("greeting = 'hello'\n%autocall 1\n%automagic 0")

    shown = notebook.run(THERE + "greet 'you'")
    assert (shown.value, shown.stdout) == ("'hello you'", "------> greet('you')\n")
    assert notebook.run(THERE + "alias said echo").error["ename"] == "SyntaxError"
    notebook.run("%autocall 0\n%automagic 1")
    assert not notebook.run(THERE + "alias said echo").of("error")
    assert notebook.run(THERE + "greet 'you'").error["ename"] == "SyntaxError"


@pytest.mark.xdist_group("cell_startup")
def test_a_macro_of_the_notebook_runs_in_a_cell(notebook_with_startup_files):
    notebook = notebook_with_startup_files
    notebook.run("counted = 20")
    notebook.run("get_ipython().user_ns['more'] = __import__('IPython.core.macro').core.macro.Macro('counted += 1\\nprint(counted)\\n')")

    assert notebook.run(THERE + "more").stdout.splitlines()[-1] == "21"


@pytest.mark.xdist_group("cell_startup")
def test_a_formatter_of_a_class_of_the_notebook_shows_its_values_and_one_that_raises_leaves_their_text(notebook_with_startup_files):
    notebook = notebook_with_startup_files
    notebook.run("class Sum:\n    pass\nunit = 'kg'\n"
                 "get_ipython().display_formatter.formatters['text/html'].for_type(Sum, lambda value: f'<b>{unit}</b>')\n"
                 "class Bad:\n    def __repr__(self): return 'bad'\n"
                 "get_ipython().display_formatter.formatters['text/html'].for_type(Bad, lambda value: 1 / 0)")

    (shown,) = notebook.run(THERE + "Sum()").of("execute_result")
    assert shown["data"]["text/html"] == "<b>kg</b>"
    (shown,) = notebook.run(THERE + "Bad()").of("execute_result")
    assert shown["data"] == {"text/plain": "bad"}


@pytest.mark.xdist_group("cell_startup")
def test_a_feature_of_the_future_holds_in_later_cells_on_the_worker(notebook_with_startup_files):
    notebook = notebook_with_startup_files
    shows = THERE + "def f(a: not_there): pass\nprint(f.__annotations__)"
    assert "not_there" in notebook.run(shows).error["text"]
    notebook.run("from __future__ import annotations")

    assert notebook.run(shows).stdout.splitlines()[-1] == "{'a': 'not_there'}"


def test_the_page_of_settings_lists_every_row_of_the_table():
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text().partition("## What does not follow")[0]
    first_columns = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    listed = {row for column in first_columns for row in re.findall("`([^`]+)`", column)}

    assert listed == {*table.SETTINGS, "environment", "search path"}


def test_proxies_hubs_and_folders_of_compilers_that_the_kernel_was_started_with_follow():
    program = "from pounce._engine.changed_settings import ChangedSettings\nprint(sorted(ChangedSettings().since(0).rows['environment']))"
    started = {"HTTPS_PROXY": "http://proxy:3128", "HF_HUB_OFFLINE": "1", "http_proxy": "http://localhost:1", "OTHER": "1",
               "TRITON_CACHE_DIR": "/tmp/kernels", "AWS_SECRET_ACCESS_KEY": "k", "AWS_DEFAULT_REGION": "eu"}
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, **started}, capture_output=True, text=True, check=True)

    names = done.stdout
    assert all(name in names for name in ("HTTPS_PROXY", "HF_HUB_OFFLINE", "TRITON_CACHE_DIR", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"))
    assert "http_proxy" not in names and "OTHER" not in names


def test_flags_that_cannot_follow_are_named():
    program = "from pounce._common.settings.table import left_out\nprint(left_out())"
    done = subprocess.run([sys.executable, "-b", "-X", "importtime", "-X", "dev", "-c", program], capture_output=True, text=True, check=True)

    assert "the flag -b of Python" in done.stdout and "the flag -X importtime of Python" in done.stdout and "dev" not in done.stdout


@pytest.mark.parametrize(("backend", "why"), [("qtagg", "no screen"), ("widget", "%matplotlib widget in a cell there chooses"),
                                               ("module://ipympl.backend_nbagg", "%matplotlib widget in a cell there chooses")])
def test_a_backend_that_does_not_follow_says_what_to_do(backend, why, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")  # a kernel's
    ((name, reason),) = figures.matplotlib_left_out(SimpleNamespace(rcParams={"backend": backend}))

    assert name == f"matplotlib's backend {backend}" and why in reason


def test_nothing_is_sent_when_nothing_changed_and_a_look_takes_no_millisecond():
    own = ChangedSettings()
    first = own.since(0)
    begun = time.thread_time()  # what the machine does beside it does not count
    again = own.since(first.number)
    seconds = time.thread_time() - begun

    assert again.rows == {} and again.number == first.number == 1
    assert seconds < 0.005  # 1 ms on a quiet machine


def test_options_that_are_as_usual_are_not_sent():
    rows = ChangedSettings().since(0).rows

    assert all(row not in rows for row, setting in table.SETTINGS.items() if setting.usual is not None and setting.module is None)
