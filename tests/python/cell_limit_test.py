"""A cell meets the end of its worker's time alive: a real kernel, on workers of the local launcher. Instead of waiting for the end the
tests say in the cell that it has come."""

from __future__ import annotations

import re
import types

import pytest
from pounce import errors
from pounce._worker.cell import time_limit

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")

from kernel import notebook_at_home

LINE = "%%pounce --time 10min\n"
TIME_IS_KNOWN = LINE + """
import asyncio, os, pounce, time
from pounce._worker import interpreter
while pounce.time_left() is None: time.sleep(0.05)
def nearly_over(): interpreter.core.interrupt_before_end(pounce.time_left())
"""


@pytest.fixture(scope="module")
def notebook():
    with notebook_at_home("import os, pounce") as made:
        yield made


@pytest.fixture
def late(notebook):
    """A notebook on a new worker. After `nearly_over()` its cell is interrupted, as 30 s before the end."""
    notebook.run("%pounce release")
    assert not notebook.run(TIME_IS_KNOWN).of("error")
    return notebook


def text(cell) -> str:
    return re.sub("\x1b\\[[0-9;]*m", "", cell.error["text"])


@pytest.mark.parametrize("blocks", ["while True: made += 1", "made += 1; time.sleep(1000)"])
def test_what_a_cell_has_made_when_its_time_ends_is_there_on_the_next_worker(late, blocks):
    cell = late.run(LINE + f"made, there = 0, os.getpid()\ntry:\n    nearly_over()\n    {blocks}\nfinally:\n    tidied = True")
    after = late.run(LINE + "made > 0, tidied, there != os.getpid()")

    assert cell.error["ename"] == "WalltimeReached" and "so that what it has made is saved" in cell.error["evalue"]
    assert blocks in text(cell) and "_interrupted" not in text(cell)
    assert after.value == "(True, True, True)" and "restored" in after.stream("stdout")


def test_an_await_ends_as_a_line_does(late):
    cell = late.run(LINE + "made = 1\nnearly_over()\nawait asyncio.sleep(1000)")

    assert cell.error["ename"] == "WalltimeReached" and "await asyncio.sleep(1000)" in text(cell)
    assert late.run(LINE + "made").value == "1"


def test_a_cell_that_catches_it_has_ended_well_and_the_next_one_runs_on_the_next_worker(late):
    cell = late.run(LINE + "there = os.getpid()\ntry:\n    nearly_over()\n    time.sleep(1000)\nexcept pounce.WalltimeReached:\n    caught = 1\ncaught")

    assert cell.value == "1"
    assert late.run(LINE + "caught, there != os.getpid()").value == "(1, True)"


@pytest.mark.parametrize(("left", "last_save", "kept"), [(3600, 1, 30), (3600, 40, 80), (60, 1, 15), (None, 1, 30)])
def test_time_is_kept_for_a_save_as_long_as_the_last_or_a_quarter_of_a_short_time(monkeypatch, left, last_save, kept):
    monkeypatch.setattr(time_limit.interpreter, "time_left", lambda: left)

    assert time_limit.TimeLimit(last_save, True).kept_s == kept
    assert time_limit.TimeLimit(last_save, False).kept_s == 0  # --at-limit kill


def test_a_cell_that_goes_on_is_told_of(monkeypatch, capsys):
    monkeypatch.setattr(time_limit.interpreter, "core", types.SimpleNamespace(
        end_time=0, interrupt_before_end=lambda seconds, share: None, limit_reached=lambda: 1))
    monkeypatch.setattr(time_limit.signal, "signal", lambda number, handler: None)
    limit = time_limit.TimeLimit(0.0, True)

    with limit.over_code():
        with pytest.raises(errors.WalltimeReached):
            limit._interrupted(2, None)
        limit._interrupted(2, None)

    assert "the cell goes on after WalltimeReached" in capsys.readouterr().out and limit.reached
