"""The notebook's folder is removed, and made again or not, while a client, a worker and a kernel are in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from pounce._common import here

PROGRAM = """
    import shutil
    work = os.path.join(os.getcwd(), "work")
    def where(): return os.getcwd()
    def writes(): open("made", "w").close()
    os.mkdir(work); os.chdir(work)
    with pounce.Client() as client:
        client.submit(writes).result(60)
        shutil.rmtree(work)
        report(work=work, gone=client.submit(pow, 2, 3).result(60), user_code=error_of(lambda: client.submit(where).result(60))["type"])
        report(new_client=error_of(pounce.Client), file=error_of(lambda: pounce.File("made")))
        os.mkdir(work)
        report(again=client.submit(where).result(60))
        client.submit(writes).result(60)
        report(made=os.path.isfile(os.path.join(work, "made")))
        shutil.rmtree(work); os.mkdir(work)
        error_of(lambda: client.submit(os._exit, 3).result(60))
        report(new_interpreter=client.submit(where).result(60))
        with pounce.Client() as other:
            report(new_worker=other.submit(where).result(60))
        try: os.getcwd()
        except FileNotFoundError: report(kernel="stays where it was, as any Python")
"""


@pytest.fixture(scope="module")
def reports(module_home):
    return module_home.run(PROGRAM).reports


def test_a_call_that_needs_no_folder_runs_without_one(reports):
    assert reports["gone"] == 8


def test_user_code_meets_a_folder_that_is_gone_as_in_any_python(reports):
    assert reports["user_code"] == "FileNotFoundError"
    assert reports["kernel"] == "stays where it was, as any Python"


def test_a_client_in_a_folder_that_is_gone_says_so(reports):
    assert reports["new_client"]["type"] == "BadRequest" and f"was removed: {reports['work']}" in reports["new_client"]["text"]
    assert "os.chdir" in reports["new_client"]["text"]
    assert reports["file"]["type"] == "BadRequest" and f"{reports['work']}/made" in reports["file"]["text"]


@pytest.mark.parametrize("who", ["again", "new_interpreter", "new_worker"])
def test_a_folder_that_was_made_again_is_the_one_that_calls_run_in(reports, who):
    assert reports[who] == reports["work"]


def test_what_a_call_writes_is_in_the_new_folder(reports):
    assert reports["made"]


def test_cells_run_in_the_folder_that_was_made_again():
    pytest.importorskip("ipykernel")
    kernel = pytest.importorskip("kernel")
    with kernel.notebook_at_home("import os, shutil, pounce\nos.mkdir('work')\nos.chdir('work')\nwork = os.getcwd()") as notebook:
        assert notebook.run("%%pounce --cpus 1\nkept = [1]\nkept").value == "[1]"
        notebook.run("shutil.rmtree(work)")
        assert notebook.run("%%pounce --cpus 1\nkept.append(2)\nkept").value == "[1, 2]"
        notebook.run("os.mkdir(work)")
        where = "%%pounce --cpus 1 --out there\nimport os\nthere = os.getcwd()\nkept"
        assert notebook.run(where).value == "[1, 2]"
        assert notebook.run("there == work").value == "True"
        notebook.run("%pounce release")
        assert notebook.run(where).value == "[1, 2]", "with a new worker, asked for by a kernel whose folder was removed"
        assert not notebook.run("%pounce parked").of("error")


# ---- the name of it ----

SAYS = """
import os, sys
from pounce._common import here
{change}
print(here.folder(), here.absolute("x"), here.absolute("/a/../b"), sep="\\n")
here.follow()
print(os.path.samefile(".", here.folder()) if os.path.isdir(here.folder()) else "none")
"""


@pytest.mark.parametrize("change, followed", [
    ("", "True"),
    ("os.rmdir(os.getcwd())", "none"),
    ("now = os.getcwd(); os.rmdir(now); os.mkdir(now)", "True"),
    ("now = os.getcwd(); os.rmdir(now); os.rmdir(os.path.dirname(now))", "none"),
])
def test_a_removed_folder_has_its_name_still(tmp_path, change, followed):
    folder = tmp_path / "outer" / "in ner (deleted)"
    folder.mkdir(parents=True)
    site = os.path.dirname(os.path.dirname(os.path.dirname(here.__file__)))
    said = subprocess.run([sys.executable, "-c", SAYS.format(change=change)], cwd=folder, env={**os.environ, "PYTHONPATH": site},
                          capture_output=True, text=True, check=False)
    shutil.rmtree(tmp_path / "outer", ignore_errors=True)
    assert said.stdout.splitlines() == [str(folder), f"{folder}/x", "/b", followed], said.stderr
