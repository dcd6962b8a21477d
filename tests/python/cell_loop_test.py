"""A cell that moves to another worker between two steps of its loop: a real kernel, on workers of the local launcher. That
somebody waits is what the cell's own first lines say on its first worker; who asks otherwise is in tests/slurm."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")

from cell_state_test import afresh, notebook  # noqa: F401  the same notebook, of this module's own

SOMEBODY_WAITS = """\
import os, pounce, types
from pounce._worker.cell import loops
loops.interpreter = types.SimpleNamespace(core=types.SimpleNamespace(yield_asked=lambda: True), time_left=lambda: None)
"""


def cell(*lines: str) -> str:
    return "\n".join(["%%pounce", SOMEBODY_WAITS + lines[0], *lines[1:]])


def test_it_goes_on_at_the_next_step_on_another_worker_with_its_variables(afresh):  # noqa: F811
    shown = afresh.run(cell(
        "begun, pids, done = [os.getpid()], set(), []",
        "for step in pounce.steps(range(4)):",
        "    done.append(step)",
        "    pids.add(os.getpid())",
        "    print('step', step)",
        "len(begun), len(pids), done",
    ))

    assert not shown.of("error"), shown.error["text"]
    assert shown.value == "(1, 2, [0, 1, 2, 3])"
    assert re.findall(r"^step \d$", shown.stdout, re.MULTILINE) == [f"step {n}" for n in range(4)]
    assert "pounce: the loop was left after 1 of 4 steps, since somebody waits for what its worker holds" in shown.said
    assert afresh.run("%%pounce\nstep, done").value == "(3, [0, 1, 2, 3])"


def test_one_that_holds_what_cannot_be_saved_goes_on_where_it_is(afresh):  # noqa: F811
    shown = afresh.run(cell(
        "pids, opened = set(), open(os.devnull)",
        "for step in pounce.steps({0: 1, 1: 1, 2: 1}, total=3):",
        "    pids.add(os.getpid())",
        "    print('step', step)",
        "len(pids)",
    ))

    assert shown.value == "1"
    assert re.findall(r"^step \d$", shown.stdout, re.MULTILINE) == ["step 0", "step 1", "step 2"]
    assert "it goes on here, on the worker that it has: opened cannot be saved" in shown.said


@pytest.mark.parametrize("loop", [
    "for number, step in enumerate(pounce.steps(range(3))):\n    print('step', step)",
    "for step, other in zip(pounce.steps(range(3)), 'abc'):\n    print('step', step)",
    "for step in pounce.steps(iter(range(3)), total=3):\n    print('step', step)",
    "if True:\n    for step in pounce.steps(range(3)):\n        print('step', step)",
    "def run():\n    for step in pounce.steps(range(3)):\n        print('step', step)\nrun()",
    "[print('step', step) for step in pounce.steps(range(3))]",
], ids=["enumerate", "zip", "an iterator", "in an if", "in a function", "a comprehension"])
def test_what_could_not_be_gone_on_with_is_a_plain_loop(afresh, loop):  # noqa: F811
    shown = afresh.run(cell("done = []", loop))

    assert shown.stdout.count("step") == 3 and "was left" not in shown.said


def test_one_in_the_background_stays_and_says_so(afresh):  # noqa: F811
    code = cell("done = []", "for again in range(2):\n    pass", "for step in pounce.steps(range(3)):", "    done.append(step)", "for step in pounce.steps(range(3)):",
                "    done.append(step)")

    afresh.run(code.replace("%%pounce", "%%pounce --bg --name job", 1))
    said = afresh.run("job.result(60)\nprint(job.log())").stream("stdout")

    assert said.count("with --bg this loop is not left between two steps: it keeps its worker until it is over") == 1
    assert afresh.run("%%pounce\ndone").value == "[0, 1, 2, 0, 1, 2]"


def test_what_was_sent_with_it_is_not_sent_again(afresh):  # noqa: F811
    afresh.run("mine = [0]")
    code = cell("", "for step in pounce.steps(range(3)):", "    mine.append(step)", "len(mine), mine")

    shown = afresh.run(code.replace("%%pounce", "%%pounce --in mine", 1))

    assert shown.value == "(4, [0, 0, 1, 2])"


def test_what_it_brings_comes_at_its_end(afresh):  # noqa: F811
    shown = afresh.run(cell("", "made = iter([1])", "for step in pounce.steps(range(3)):", "    made = [step]").replace("%%pounce", "%%pounce --out made", 1))

    assert not shown.of("error") and afresh.run("made").value == "[2]"


def test_a_loop_that_is_a_variable_moves_as_well(afresh):  # noqa: F811
    shown = afresh.run(cell("", "loop, done = pounce.steps(range(3)), []", "for step in loop:", "    done.append(step)", "done"))

    assert shown.value == "[0, 1, 2]" and "was left after 1 of 3 steps" in shown.said and "goes on here" not in shown.said


def test_lines_are_pythons_own(afresh):  # noqa: F811
    shown = afresh.run(cell("", "odd, kept = 'a\\u2028b\u2028c', [1]", "for step in pounce.steps(range(2)):", "    kept.append(step)", "len(odd), kept"))

    assert shown.value == "(5, [1, 0, 1])"


def test_one_whose_variables_are_lost_does_not_go_on_without_them(afresh):  # noqa: F811
    shown = afresh.run(cell(
        "from pounce._worker.cell import runner",
        "runner._saved._save = lambda *_, **__: True",
        "for step in pounce.steps(range(3)):",
        "    print('step', step)",
    ))

    assert shown.stdout == "step 0\n" and "what it had done went with that worker" in shown.error["text"]


def test_an_error_behind_a_move_shows_the_line_that_it_is_on(afresh):  # noqa: F811
    shown = afresh.run(cell(
        "done = []",
        "for step in pounce.steps(range(3)):",
        "    1 / (2 - step)",
    ))

    assert "ZeroDivisionError" in shown.error["text"] and re.search(r"line .*?7", re.sub(r"\x1b\[[0-9;]*m", "", shown.error["text"]))
