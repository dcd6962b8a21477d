"""%%pounce under VS Code's Jupyter extension, whose messages are replayed: beside a plain kernel, and as the extension restarts it."""

from __future__ import annotations

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")

from conftest import made_home
from kernel import SECONDS
from vscode import VsCode, outputs

pytestmark = pytest.mark.xdist_group("vscode")  # one kernel for most
CELLS = {
    "prints": "import sys\nprint('one')\nprint('two')\nprint('wrong', file=sys.stderr)",
    "value": "{'answer': [6 * 7]}",
    "displays": "from IPython.display import display\nhandle = display('begun', display_id='bar')\nhandle.update('over')\ndisplay({'a': 1})",
    "raises": "print('first')\nraise ValueError('no more')",
    "does_not_compile": "for",
    "empty_value": "nothing = None\nnothing",
}


@pytest.fixture(scope="module")
def alice():
    with made_home(idle_release_s=600, orphan_grace_s=10, heartbeat_ms=500) as home:
        yield home


@pytest.fixture(scope="module")
def notebook(alice):
    made = VsCode(alice)
    assert not made.run("import pounce\nimport os").of("error")
    made.run("%%pounce --cpus 1\nof_the_worker = [1, 2, 3]")
    yield made
    made.run("%pounce release")
    made.close()


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_shows_and_answers_what_it_does_in_a_plain_kernel(notebook, name):
    plain = notebook.run("# on the same line\n" + CELLS[name])
    remote = notebook.run("%%pounce --cpus 1\n" + CELLS[name])

    assert outputs(remote) == outputs(plain)
    assert remote.reply["status"] == plain.reply["status"]
    assert remote.reply["execution_count"] == plain.reply["execution_count"] + 1


def test_a_question_is_answered_in_its_box(notebook):
    cell = notebook.start("%%pounce --cpus 1\n'hello ' + input('name? ')")

    assert notebook.asked("alice") == ("name? ", False)
    assert notebook.ended(cell).value == "'hello alice'"


def test_its_view_of_variables_shows_the_notebooks_and_leaves_no_trace(notebook):
    notebook.run("scale, words = 3, ['a', 'b']")
    before = notebook.run("%%pounce --cpus 1\nscale").reply["execution_count"]

    rows = notebook.variables()

    assert rows["scale"] == {"type": "int", "value": "3", "count": 0} and rows["words"]["count"] == 2
    assert not [name for name in rows if "VSCODE" in name] and "of_the_worker" not in rows
    after = notebook.run("%%pounce --cpus 1\n[name for name in dir() if 'VSCODE' in name]")
    assert after.value == "[]" and after.reply["execution_count"] == before + 1
    assert "VSCODE" not in notebook.run("%pounce vars").stdout


def test_its_view_of_variables_shows_a_held_workers(notebook):
    assert not notebook.run("%pounce hold --cpus 1").of("error")
    try:
        notebook.run("of_the_held = (1, 2)")
        rows = notebook.variables()
    finally:
        notebook.run("%pounce hold --off")

    assert rows["of_the_held"] == {"type": "tuple", "value": "(1, 2)", "count": 2}


def test_a_completion_that_is_sent_while_a_cell_runs_is_answered_once_when_a_plain_kernel_would(notebook):
    cell = notebook.start("%%pounce --cpus 1\nprint('begun', flush=True)\ninput()")
    notebook.ended(cell, until=lambda shown: "begun" in shown.stdout)

    asked = notebook.client.complete("of_the_wor")
    notebook.asked("go on")
    kinds = []
    while kinds[-1:] != ["complete_reply"]:
        reply = notebook.client.get_shell_msg(timeout=SECONDS)
        kinds.append(reply["msg_type"])

    assert kinds == ["execute_reply", "complete_reply"]  # the kernel's one main thread is the cell's
    assert reply["parent_header"]["msg_id"] == asked and reply["content"]["matches"] == ["of_the_worker"]


def test_a_completion_is_answered_while_a_background_cell_runs(notebook, alice):
    flag = alice.folder / "completed"
    notebook.run(f"%%pounce --cpus 1 --bg --name waits\nwhile not os.path.exists({str(flag)!r}): pass")

    matches = notebook.completed("of_the_wor")

    flag.touch()
    assert notebook.run(f"waits.result({SECONDS})").of("error") == [] and matches == ["of_the_worker"]


def test_a_cell_behind_one_that_raises_runs(notebook):
    """stop_on_error is False: VS Code itself decides which of its cells go on."""
    first = notebook.start("%%pounce --cpus 1\n1 / 0")
    second = notebook.start("%%pounce --cpus 1\n6 * 7")

    assert notebook.ended(first).error["ename"] == "ZeroDivisionError"
    assert notebook.ended(second).value == "42"


def test_its_stop_button_stops_the_cell_and_keeps_the_variables(notebook):
    cell = notebook.start("%%pounce --cpus 1\nimport time\nprint('begun', flush=True)\ntime.sleep(600)")
    notebook.ended(cell, until=lambda shown: "begun" in shown.stdout)

    notebook.interrupt()

    error = notebook.ended(cell).error
    assert error["ename"] == "KeyboardInterrupt" and "time_limit.py" not in error["text"] and "line 4" in error["text"]
    assert notebook.run("%%pounce --cpus 1\nof_the_worker").value == "[1, 2, 3]"


def test_its_restart_kills_all_below_the_kernel_and_no_background_cell(alice):
    flag = alice.folder / "restarted"
    first = VsCode(alice)
    first.run("import pounce, os")
    first.run(f"%%pounce --cpus 1 --bg --name trains\nprint('begun', flush=True)\nwhile not os.path.exists({str(flag)!r}): pass\nmade = 42")
    first.run("while 'begun' not in trains.log(): pass")

    second = first.restarted()
    started = second.run("import pounce")
    cell = second.start("%pounce attach trains")
    second.ended(cell, until=lambda shown: "begun" in shown.stdout)
    flag.touch()
    second.ended(cell)

    assert started.reply["execution_count"] == 1
    assert second.run("%%pounce --cpus 1\nmade").value == "42"
    second.run("%pounce release")
    second.close()
