"""When a user is told that the time of a lease is nearly over, and in which words."""

from __future__ import annotations

import pytest
from pounce import _core
from pounce._engine import time_left
from pounce._engine.time_left import TimeLeft

NOON = 1_800_000_000


@pytest.fixture
def clock(monkeypatch):
    """`clock(60)`: a minute before the lease's end."""

    def before_the_end(seconds: int) -> None:
        monkeypatch.setattr(time_left.time, "time", lambda: NOON - seconds)

    return before_the_end


def lease(whole_s: int, name: str = "aa", end: int = NOON):
    return _core.LeaseStatus(lease=name, state="busy", node="g1", devices="GPU 0", start_estimate=end - whole_s, end_time=end)


def preempted(grace_s: int):
    return lease(grace_s)._replace(cause=_core.Cause("preempted"))  # whatever its words are


def test_one_that_is_preempted_is_told_at_once_and_why(clock):
    clock(900)

    words = TimeLeft().warning("running", preempted(900))

    assert "yours for 15 min more, until " in words and "(a job that goes first takes its place); then all" in words


@pytest.mark.parametrize(("whole_s", "warned_s"), [(7200, 300), (1000, 200), (120, 60), (60, 60)])
def test_of_a_short_lease_the_last_fifth_is_warned_of_but_a_minute_at_least(clock, whole_s, warned_s):
    left = TimeLeft()

    clock(warned_s + 1)
    assert left.warning("running", lease(whole_s)) == ""
    clock(warned_s)
    assert left.warning("running", lease(whole_s)) != ""


def test_it_says_where_how_long_and_what_to_do(clock):
    clock(240)

    words = TimeLeft().warning("running", lease(7200))

    assert words.startswith("pounce: g1, GPU 0 is yours for 4 min more, until ") and "save what you need" in words


def test_it_is_said_once_to_each_cell(clock):
    clock(30)
    left = TimeLeft()

    said = [bool(left.warning("running", lease(7200), cell)) for cell in (3, 3, 4, 4)]

    assert said == [True, False, True, False]


GIVEN = "Slurm gives this job 5 min, another time than was requested"


def test_what_was_not_requested_is_told_at_once_and_once(clock):
    clock(290)
    left, given = TimeLeft(), lease(300)._replace(given=GIVEN)

    words = left.warning("running", given)

    assert words.startswith("pounce: g1, GPU 0 is yours for 5 min more, until ")
    assert words.endswith(f": {GIVEN}")
    assert left.warning("running", given, cell=4) == ""


def test_an_end_that_was_moved_is_another(clock):
    clock(30)
    left = TimeLeft()
    left.warning("running", lease(7200))

    assert left.warning("running", lease(7200, end=NOON + 100))


@pytest.mark.parametrize(("state", "known"), [("waiting", lease(60)), ("running", None), ("running", lease(60, end=0))])
def test_nothing_is_said_of_what_does_not_run_or_has_no_end(clock, state, known):
    clock(10)

    assert TimeLeft().warning(state, known) == ""
