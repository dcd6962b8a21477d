"""%%pounce --bg, and what looks after workers: through a real kernel, on workers of the local launcher."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")

from kernel import notebook_at_home


@pytest.fixture(scope="module")
def notebook():
    with notebook_at_home("import os, pounce\nimport time\nflag = os.getcwd() + '/flag'") as made:
        yield made


HELD = """
import os, time
print("begun", flush=True)
while not os.path.exists({flag!r}): time.sleep(0.01)
print("going on", flush=True)
"""


def held(notebook, name: str) -> tuple[str, Path]:
    flag = notebook.home.folder / name
    return HELD.format(flag=str(flag)), flag


def test_a_cell_in_the_background_returns_a_job_and_goes_on_under_its_own_cell(notebook):
    source, flag = held(notebook, "one")
    cell = notebook.start("%%pounce --bg --name job\n" + source + "left_behind = 6\nleft_behind * 7")
    assert notebook.ended(cell).of("error") == []

    between = notebook.run("while 'begun' not in job.log(): time.sleep(0.01)\njob.state")
    flag.touch()
    after = notebook.run("shown = job.result(60)\nshown, job.state, job.log()")

    assert between.value == "'running'"
    assert after.value == "(42, 'done', 'begun\\ngoing on\\n')"
    own = [m for m in notebook.seen if m["parent_header"].get("msg_id") == cell]
    assert "".join(m["content"]["text"] for m in own if m["msg_type"] == "stream") == "begun\ngoing on\n"
    assert [m["content"]["data"]["text/plain"] for m in own if m["msg_type"] == "display_data"] == ["42"]
    assert notebook.run("%%pounce\nleft_behind").value == "6"


def test_a_cell_in_the_background_is_warned_before_its_leases_time_ends(notebook):
    source, flag = held(notebook, "timed")
    cell = notebook.start("%%pounce --on timed --time 1min --bg --name timed\n" + source)
    notebook.ended(cell)

    said = lambda: [text for m in notebook.seen if m["parent_header"].get("msg_id") == cell and m["msg_type"] == "display_data"
                    if "save what you need" in (text := m["content"]["data"]["text/plain"])]
    while not said():
        notebook.run("timed.state")  # reads what has come
    flag.touch()
    notebook.run("timed.result(60)")

    assert len(said()) == 1 and " s more, until " in said()[0]


def test_a_cell_behind_one_in_the_background_finds_what_it_assigns(notebook):
    source, flag = held(notebook, "two")
    notebook.run("%%pounce --bg --out brought\n" + source + "counted = 1\nbrought = [counted]")
    behind = notebook.start("%%pounce\ncounted + 1")
    flag.touch()

    assert notebook.ended(behind).value == "2"
    assert notebook.run("brought").value == "[1]"


def test_an_error_in_the_background_is_shown_under_the_cell_and_raised_by_result(notebook):
    cell = notebook.start("%%pounce --bg --name wrong\n1 / 0")
    notebook.ended(cell)

    after = notebook.run("wrong.result(60)")

    assert after.error["ename"] == "ZeroDivisionError"
    own = [m for m in notebook.seen if m["parent_header"].get("msg_id") == cell and m["msg_type"] == "error"]
    assert [m["content"]["ename"] for m in own] == ["ZeroDivisionError"] and "division by zero" in "\n".join(own[0]["content"]["traceback"])


def test_a_cell_in_the_background_cannot_ask(notebook):
    notebook.run("%%pounce --bg --name asking\ninput('name? ')")

    assert notebook.run("asking.result(60)").error["ename"] == "StdinNotImplementedError"


def test_a_job_that_is_cancelled_is_interrupted_and_the_worker_stays(notebook):
    notebook.run("%%pounce --bg --name endless\nstays = 1\nprint('begun', flush=True)\nimport time\ntime.sleep(600)")
    notebook.run("while 'begun' not in endless.log(): time.sleep(0.01)\nendless.cancel()")

    assert notebook.run("endless.result(60)").error["ename"] in ("KeyboardInterrupt", "Cancelled")
    assert notebook.run("%%pounce\nstays").value == "1"


def test_explain_says_what_slurm_shows(notebook):
    notebook.run("%%pounce\n1")

    said = notebook.run("%pounce explain").stream("stdout")

    assert "nothing of this notebook waits" in said and "Slurm says: job" in said and "RUNNING" in said


def test_a_try_runs_where_there_is_no_slurm_too(notebook):
    assert notebook.run("%%pounce --gpu 1 --try\n6 * 7").value == "42"


# Its class was "cheetah" on every cluster. Two tries, and the verbs, mean one worker, and Slurm is asked for its classes once.
def test_a_try_goes_to_the_clusters_own_class_for_short_jobs(notebook):
    notebook.run("""from pounce import _core
from pounce._tables.classes import classes_of
asked_for = []
def _classes(client):
    asked_for.append(1)
    return classes_of(_core.ClassesIs(classes=[_core.ClassUse("day", True, 1440), _core.ClassUse("debug", False, 15)], launcher="slurm"))
of_pounce, pounce.Client.classes = pounce.Client.classes, _classes""")

    notebook.run("%%pounce --gpu 1 --try --time 10min\ntried = 1")
    shown = notebook.run("%pounce vars --try --time 10min").stream("stdout")
    leases = notebook.run("sorted({row.class_ for row in pounce.Client().queue() if row.class_}), len(asked_for)").value
    notebook.run("pounce.Client.classes = of_pounce")

    assert "tried" in shown and leases == "(['debug'], 1)"


def test_restart_is_a_new_python_on_the_same_worker(notebook):
    notebook.run("%%pounce --cpus 1\nimport os\ngone = 1\nfirst = os.getpid()")
    leases = notebook.run("sorted(row.lease for row in pounce.Client().queue())").value

    said = notebook.run("%pounce restart --cpus 1").said
    after = notebook.run("%%pounce --cpus 1\n'gone' in globals()")

    assert "a new Python" in said and "gone" in said and after.value == "False"
    assert notebook.run("sorted(row.lease for row in pounce.Client().queue())").value == leases
    assert "no worker now" in notebook.run("%pounce restart --on nothing").stream("stderr")


def test_what_a_cell_changes_in_place_is_the_workers_change(notebook):
    notebook.run("options = {'lr': 1}")
    notebook.run("%%pounce\noptions['lr'] = 2")
    notebook.run("options['lr'] = 3")

    cell = notebook.run("%%pounce\noptions")

    assert cell.value == "{'lr': 3}"
    assert "options changed in the notebook" in cell.said and "and on the worker" in cell.said


@pytest.mark.parametrize("call", ["%pip", "!pip", "!python3 -m pip"])
def test_a_package_manager_says_where_packages_are(notebook, call):
    said = notebook.run(f"%%pounce\nimport sys\n{call} --version").said

    assert "pounce: packages are in " in said or "cannot be written" in said
    assert "%pounce restart" in said


def test_a_module_that_a_cell_writes_can_be_imported_at_once_on_both_sides(notebook):
    folder = str(notebook.home.folder)
    notebook.run(f"import sys; sys.path.insert(0, {folder!r})")
    notebook.run("%%pounce\nopen('written_there.py', 'w').write('value = 42')")

    assert notebook.run("import written_there; written_there.value").value == "42"
    assert notebook.run("%%pounce\nimport written_there\nwritten_there.value").value == "42"


def test_the_cells_of_the_document_run(notebook):
    document = (Path(__file__).resolve().parents[2] / "docs" / "cell.md").read_text()
    cells = re.findall(r"^```ipython\n(.*?)^```", document, flags=re.M | re.S)

    shown = [notebook.run(cell) for cell in cells]

    assert len(cells) == 11 and [one.of("error") for one in shown] == [[]] * 11
    drawn = random.Random(1)
    assert shown[1].value == shown[2].value == "1498500" and shown[7].value == "2997000"
    assert shown[5].value == str([drawn.random(), drawn.random()][1])
    assert shown[10].value == "(2, 'done', '0\\n1\\n2\\n')"
