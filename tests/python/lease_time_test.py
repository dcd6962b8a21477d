"""What a function learns of the time that its lease still has."""

from __future__ import annotations

from types import SimpleNamespace

import pounce
import pytest
from pounce import on_worker

TOLD = """
    def left():
        while pounce.time_left() is None:  # until the launcher has told it
            time.sleep(0.01)
        return pounce.time_left()
"""


@pytest.fixture
def ends_at(monkeypatch):
    """`ends_at(unix)`: this is a worker, whose time ends then; 0: it does not know."""
    return lambda end: monkeypatch.setattr(on_worker.interpreter, "core", SimpleNamespace(end_time=end))


def test_in_the_notebook_itself_no_limit_is_known():
    assert pounce.time_left() is None


def test_where_the_batch_system_has_not_told_it_no_limit_is_known(ends_at):
    ends_at(0)

    assert pounce.time_left() is None


def test_it_is_the_seconds_until_the_end(ends_at, monkeypatch):
    ends_at(1_800_000_000)
    monkeypatch.setattr(on_worker.interpreter.time, "time", lambda: 1_800_000_000 - 61.5)

    assert pounce.time_left() == 61.5


def test_it_is_nothing_when_the_end_has_passed(ends_at, monkeypatch):
    ends_at(1_800_000_000)
    monkeypatch.setattr(on_worker.interpreter.time, "time", lambda: 1_800_000_009)

    assert pounce.time_left() == 0


def test_a_function_learns_the_time_of_its_lease_which_gets_less(home):
    run = home.run(TOLD + """
    def twice():
        return left(), left(), time.time()
    client = pounce.Client()
    first, second, now = client.options(time="10min").submit(twice).result(60)
    while client.leases()[0].end_time is None:  # pounced tells the worker and the client, and the order is nobody's
        time.sleep(0.01)
    report(first=first, second=second, end=client.leases()[0].end_time, now=now)
    """)

    told = run.reports
    assert 540 < told["second"] <= told["first"] <= 600
    assert abs(told["now"] + told["second"] - told["end"]) < 1  # what the client's own lease says


def test_the_next_interpreter_of_a_lease_knows_it_too(home):
    run = home.run(TOLD + """
    client = pounce.Client().options(time="10min")
    client.submit(left).result(60)
    error_of(lambda: client.submit(os.kill, 0, signal.SIGKILL).result(60))
    report(at_once=client.submit(pounce.time_left).result(60))
    """)

    assert 500 < run.reports["at_once"] <= 600


def test_a_lease_without_a_limit_has_none(home):
    run = home.run("report(left=pounce.Client().submit(pounce.time_left).result(60))")

    assert run.reports == {"left": None}
