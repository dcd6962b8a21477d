"""%pounce hold through a real kernel, on workers of the local launcher: cells without a magic run on the worker that is held."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sysconfig
import time

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")

from conftest import made_home
from kernel import SECONDS, Notebook, notebook_at_home
from pounce.cell.held_cells import goes

FIRST = "import os, pounce; here = os.getpid()"


@pytest.fixture(scope="module")
def notebook():
    with notebook_at_home(FIRST) as made:
        yield made


@pytest.fixture
def held(notebook):
    began = notebook.run("%pounce hold --cpus 1")
    assert not began.of("error"), began.error
    notebook.began = began
    yield notebook
    notebook.run("%pounce release")


def pouncectl(notebook, *words: str) -> str:
    program = shutil.which("pouncectl", path=os.environ.get("POUNCE_BUILD") or sysconfig.get_path("scripts"))
    done = subprocess.run([program, *words], env=notebook.home.environment, capture_output=True, check=True, timeout=SECONDS, text=True)
    return done.stdout


def leases(notebook) -> list[dict]:
    """Without those of earlier tests, which are on their way out."""
    return [one for one in json.loads(pouncectl(notebook, "status", "--json"))["leases"] if one["state"] in ("idle", "busy", "starting")]


def is_away(notebook) -> bool:
    return notebook.run("os.getpid() == here").value == "False"


def until(condition) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# ---- which cells go ----


@pytest.mark.parametrize("cell", ["x = 1", "# why\nx = 1", "!ls", "%matplotlib inline\nx", "%%time\nx = 1", "%%bash\nls", "exit\nx = 1"])
def test_a_cell_without_our_magics_goes_to_the_worker_that_is_held(cell):
    assert goes(cell.splitlines(keepends=True))


@pytest.mark.parametrize("cell", ["", "# nothing", "%%pounce --cpus 2\nx", "%pounce status", "x = 1\n%pounce status", "exit", "quit()",
                                  "# why\n%%pounce\nx", "%pounce?", "%whos", "%who int"])
def test_a_cell_of_ours_or_of_nothing_stays(cell):
    assert not goes(cell.splitlines(keepends=True))


# ---- holding ----


def test_cells_without_a_magic_run_on_the_worker_that_is_held(held):
    assert "this notebook holds" in held.began.said and "%pounce release" in held.began.said
    assert is_away(held)
    assert held.run("kept = [1]").kinds == []
    assert held.run("kept.append(2)\nkept").value == "[1, 2]"


def test_the_notebooks_variables_are_there_and_the_workers_come_when_asked_for(notebook):
    notebook.run("scale = 3\ndef scaled(n): return scale * n")

    notebook.run("%pounce hold --cpus 1")
    inside = notebook.run("total = scaled(4)\ntotal")
    notebook.run("%pounce pull total")
    notebook.run("%pounce release")

    assert (inside.value, notebook.run("total, os.getpid() == here").value) == ("12", "(12, True)")


def test_lines_of_ours_stay_and_a_mixed_cell_says_that_it_does(held):
    alone = held.run("%pounce status")
    mixed = held.run("%pounce status\nos.getpid() == here")

    assert "this notebook holds" in alone.stdout and not alone.said
    assert mixed.value == "True" and "runs in the notebook" in mixed.said


def test_a_cell_that_begins_with_local_runs_in_the_notebook(held):
    assert held.run("%%pounce --local\nos.getpid() == here").value == "True"
    assert held.run("%%pounce --local\n%%time\nassert os.getpid() == here").reply["status"] == "ok"
    assert "stands alone" in held.run("%%pounce --local --cpus 1\n1").stream("stderr")


def test_local_means_the_same_where_nothing_is_held(notebook):
    assert notebook.run("%%pounce --local\nos.getpid() == here").value == "True"


def test_magics_run_on_the_worker_too_and_keep_their_meaning(held):
    timed = held.run("%%time\nimport os\nwhere = os.getpid()")
    shell = held.run("!echo parent $PPID")

    assert "Wall time" in timed.stdout
    assert held.run("where == os.getpid()").value == "True"
    assert shell.stdout.split() == ["parent", held.run("os.getpid()").value]


def test_the_lines_of_a_traceback_are_the_cells_own(held):
    failed = held.run("x = 1\n1 / 0")
    wrong = held.run("x = 1\nif :\n  pass")

    assert "line 2" in failed.error["text"] and failed.error["ename"] == "ZeroDivisionError"
    assert "line 2" in wrong.error["text"] and wrong.error["ename"] == "SyntaxError"


def test_what_a_page_asks_for_itself_stays_in_the_notebook(held):
    held.client.execute("asked_in = os.getpid() == here", silent=True)

    assert held.run("%%pounce --local\nasked_in").value == "True"


def test_a_cell_with_a_line_uses_the_worker_that_is_held_and_never_gives_it_away(held):
    held.run("where = os.getpid()")

    assert held.run("%%pounce --cpus 1\nimport os\nwhere == os.getpid()").value == "True"
    assert "does not offer" in held.run("%%pounce --gpu 1\n1").stream("stderr")
    assert is_away(held)


def test_holding_twice_is_once_and_other_options_take_another_worker(held):
    first = held.run("os.getpid()").value

    assert "already" in held.run("%pounce hold --cpus 1").said
    assert held.run("os.getpid()").value == first
    held.run("%pounce hold --gpu 1")
    assert held.run("os.getpid()").value != first and is_away(held)


def test_off_leaves_an_ordinary_worker(held):
    held.run("where = os.getpid()")

    over = held.run("%pounce hold --off")

    assert "cells run in the notebook again" in over.said and "busy for" in over.said
    assert held.run("os.getpid() == here").value == "True"
    assert held.run("%%pounce\nimport os\nwhere == os.getpid()").value == "True"


def test_release_says_what_it_has_cost(held):
    over = held.run("%pounce release")

    assert "given back" in over.said and "held for" in over.said
    assert held.run("os.getpid() == here").value == "True"


def test_options_of_a_cell_are_refused(notebook):
    assert "a worker's options alone" in notebook.run("%pounce hold --bg").stream("stderr")
    assert "takes options" in notebook.run("%pounce hold gpu").stream("stderr")
    assert "holds no worker" in notebook.run("%pounce hold --off").stream("stderr")


def test_help_shows_the_options(notebook):
    assert "--off" in notebook.run("%pounce hold --help").stdout


def test_the_tab_key_knows_it(notebook):
    assert "hold" in notebook.completed("%pounce ho") and "--off" in notebook.completed("%pounce hold --o")


def test_the_accounting_hears_that_its_lease_was_held_also_when_it_is_not_any_more(notebook):
    held_of = lambda: [one["used"].get("held") for one in leases(notebook) if "used" in one]
    notebook.run("%%pounce --cpus 1\n1")
    until(lambda: held_of() == [None])  # an ordinary one

    notebook.run("%pounce hold --cpus 1")
    until(lambda: held_of() == [True])
    notebook.run("%pounce restart")
    notebook.run("%pounce hold --off")
    notebook.run("%%pounce --cpus 1\n1")

    assert held_of() == [True]
    notebook.run("%pounce release")
    ended = lambda: json.loads(pouncectl(notebook, "status", "--json"))["ended"]
    until(lambda: ended() and ended()[-1].get("held"))
    assert ended()[-1]["code"] == "lease_ended"


# ---- that it stays, and how it ends ----


def test_a_worker_that_is_held_stays_while_another_goes_and_its_rest_counts_as_idle():
    with made_home(idle_release_s=1) as home:
        notebook = Notebook(home)
        notebook.run(FIRST)
        notebook.run("%pounce hold --cpus 1")
        notebook.run("x = 1")
        notebook.run("%%pounce --on other\ny = 1")

        until(lambda: len(leases(notebook)) == 1)  # the other one has gone
        (lease,) = leases(notebook)
        time.sleep(2)

        assert is_away(notebook) and [one["lease"] for one in leases(notebook)] == [lease["lease"]]
        assert leases(notebook)[0]["used"]["idle_ms"] > leases(notebook)[0]["used"]["busy_ms"]
        notebook.run("%pounce hold --off")
        until(lambda: not leases(notebook))
        notebook.close()


def test_a_cell_after_the_worker_has_gone_is_told_why_and_does_not_run_anywhere(held):
    held.run("kept = 5")
    pouncectl(held, "release", "--now", leases(held)[0]["lease"])
    until(lambda: not leases(held))

    refused = held.run("ran = 1")
    after = held.run("os.getpid() == here, 'ran' in globals()")

    assert refused.error["ename"] == "LeaseEnded" and "has not run" in refused.error["text"]
    assert "pouncectl release --now" in refused.error["text"]
    assert after.value == "(True, False)"
    held.run("%pounce hold --cpus 1")
    assert held.run("kept").value == "5"


@pytest.mark.parametrize("line", ["pounce.cell.hold.Hold.is_there = True", "pounce.cell.hold.Hold.is_there = True; pounce.cell.hold.cancel_if_queued = bool"],
                         ids=["heard as it is sent", "heard when it has come to another worker"])
def test_a_cell_on_its_way_when_the_worker_goes_does_not_run_on_another(held, line):
    before = "import pounce.cell.hold as module; there, cancel = module.Hold.is_there, module.cancel_if_queued"
    held.run(f"%%pounce --local\n{before}; {line}")  # as where the notebook has not heard yet
    pouncectl(held, "release", "--now", leases(held)[0]["lease"])
    until(lambda: not leases(held))
    held.run("%pounce status")  # pounced's answer comes behind its word that the worker is gone: no call is on its way to that

    refused = held.run("ran = 1")

    after = held.run("%%pounce --local\nmodule.Hold.is_there, module.cancel_if_queued = there, cancel\n'ran' in globals()")
    assert "has not run" in refused.error["text"] and "pouncectl release --now" in refused.error["text"] and after.value == "False"
    assert held.run("%%pounce --cpus 1\n'ran' in globals()").value == "False"


def test_a_cell_with_a_line_after_the_worker_has_gone_gets_another_that_nobody_holds(held):
    before = leases(held)[0]["lease"]
    pouncectl(held, "release", "--now", before)
    until(lambda: not leases(held))

    cell = held.run("%%pounce --cpus 1\n6 * 7")

    assert cell.value == "42" and "the hold is over: the worker that this notebook held is gone: Released by" in cell.said
    assert held.run("os.getpid() == here").value == "True"
    until(lambda: [one["state"] for one in leases(held)] == ["idle"])  # it goes back by itself; a worker that is held is busy


def test_a_crash_in_the_background_costs_the_python_and_not_the_hold(held):
    before = leases(held)[0]["lease"]

    held.run(f"%%pounce --bg --name job\nimport os\nos.kill(os.getpid(), {int(signal.SIGKILL)})")
    held.run("%%pounce --local\ntry: job.result(60)\nexcept pounce.errors.WorkerCrashed: pass")

    assert is_away(held)
    until(lambda: [(one["lease"], one["state"]) for one in leases(held)] == [(before, "busy")])


def test_the_line_of_the_hold_tells_when_the_worker_has_gone(held):
    seen = len(held.seen)
    pouncectl(held, "release", "--now", leases(held)[0]["lease"])

    def told() -> bool:
        held.run("%pounce status")
        return any("the hold is over" in message["content"].get("text", "") and message["msg_type"] == "stream"
                   and message["parent_header"]["msg_id"] == held.began.messages[0]["parent_header"]["msg_id"] for message in held.seen[seen:])

    until(told)


def test_a_crash_costs_the_python_and_not_the_hold(held):
    before = leases(held)[0]["lease"]

    crashed = held.run(f"import signal\nos.kill(os.getpid(), {int(signal.SIGKILL)})")

    assert crashed.error["ename"] == "WorkerCrashed"
    assert is_away(held) and leases(held)[0]["lease"] == before


def test_restart_keeps_the_hold(held):
    before = leases(held)[0]["lease"]
    held.run("gone = 1")

    held.run("%pounce restart")

    assert is_away(held) and leases(held)[0]["lease"] == before
    assert held.run("'gone' in globals()").value == "False"
