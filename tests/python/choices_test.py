"""What could be asked for instead of waiting, as objects and as sentences."""

from __future__ import annotations

import pytest
from pounce.choices import choices_of, sooner

RESOURCES = ("", 1, "a100", 0, 0, 0, 1)
WAIT = ("wait", "", RESOURCES, False, (1600, 1200, 2200, "3 running jobs"), "")
OTHER = ("gpu", "a100_3g.20gb", RESOURCES, True, None, "")
LION = ("class", "class=lion", RESOURCES, False, None, "class lion runs 4 jobs of yours at a time, and 4 run")
CPU = ("cpu", "cpu", RESOURCES, False, None, "")
CANCEL = ("cancel", "cancel", RESOURCES, False, None, "")


@pytest.fixture(autouse=True)
def at_1000(monkeypatch):
    monkeypatch.setattr("time.time", lambda: 1000.0)


def test_each_says_how_to_have_it_and_when_it_starts():
    assert [str(choice) for choice in choices_of([WAIT, OTHER, LION, CPU, CANCEL])] == [
        "wait on: starts in about 10 min (3 min to 20 min)",
        "--gpu a100_3g.20gb: free now",
        "--class lion: class lion runs 4 jobs of yours at a time, and 4 run",
        "no --gpu: when cannot be said",
        "press stop: nothing is asked for any more",
    ]


def test_the_status_line_names_the_first_that_is_free():
    assert sooner(choices_of([WAIT, LION, OTHER])) == "sooner: a100_3g.20gb is free: --gpu a100_3g.20gb, or press stop"
    assert sooner(choices_of([WAIT, LION, CPU, CANCEL])) == ""
