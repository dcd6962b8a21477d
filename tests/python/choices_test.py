"""What could be asked for instead of waiting, as objects and as sentences."""

from __future__ import annotations

import pytest
from pounce import _core
from pounce._engine.choices import choice_of, sooner

WAIT = _core.Choice("wait", eta=_core.Eta(1600, 1200, 2200, "3 running jobs"))
OTHER = _core.Choice("gpu", "a100_3g.20gb", now=True)
LION = _core.Choice("class", "class=lion", against="class lion runs 4 jobs of yours at a time, and 4 run")
CPU = _core.Choice("cpu", "cpu")
CANCEL = _core.Choice("cancel", "cancel")


@pytest.fixture(autouse=True)
def at_1000(monkeypatch):
    monkeypatch.setattr("time.time", lambda: 1000.0)


def test_each_says_how_to_have_it_and_when_it_starts():
    assert [str(choice_of(choice)) for choice in [WAIT, OTHER, LION, CPU, CANCEL]] == [
        "wait on: starts in about 10 min (3 min to 20 min)",
        "--gpu a100_3g.20gb: free now",
        "--class lion: class lion runs 4 jobs of yours at a time, and 4 run",
        "no --gpu: when cannot be said",
        "press stop: nothing is asked for any more",
    ]


def test_the_status_line_names_the_first_that_is_free():
    assert sooner([*map(choice_of, (WAIT, LION, OTHER))]) == "sooner: a100_3g.20gb is free: --gpu a100_3g.20gb, or press stop"
    assert sooner([*map(choice_of, (WAIT, LION, CPU, CANCEL))]) == ""
