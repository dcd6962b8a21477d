"""One class of a notebook is one object in each process: what cells, calls and a next kernel make of it after a change."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import made_home

pytest.importorskip("IPython")

HERE = Path(__file__).parent
PROGRAM = "import runpy, sys; sys.argv.append({part!r}); runpy.run_module('class_program')"
SEEN = {
    "an object that is brought leaves the notebook's class as it is": [True, 0, True],
    "a class that is brought is the same class with the worker's attributes": [True, 1],
    "a result brings no old methods": ["new", "new", True],
    "a call sees the class as it was submitted": [[1, 5, None], [2, None, None], [2, None, None]],
    "a cell that reads an object sees its class as the notebook has it now": ["first", "second"],
    "an object that is sent leaves the worker's class as it is": [5, True],
    "a call leaves the class of cells as it is": 5,
    "an object that is sent before its class is restored has the saved attributes": [5, True],
    "what a restored function raises is caught there": "there",
    "what a restored function raises is caught here": True,
    "what a call raises is caught here": True,
    "a class that was made anew is a new one": [False, True, 2],
    "and so it is after a release": [False, True, 2],
    "a worker's class is one class here": True,
    "a worker's class that was made anew is a new one here": [True, 2, False],
    "a class is one class in the next kernel": [True, 5, True, False],
    "a class that the next kernel makes anew is a new one": False,
}


@pytest.fixture(scope="module")
def report():
    with made_home(idle_release_s=600) as home:
        home.environment["PYTHONPATH"] = str(HERE)
        parts = [home.run(PROGRAM.format(part=part), seconds=300).reports for part in ("notebook", "next")]
        yield parts[0] | parts[1]


@pytest.mark.parametrize("what", SEEN)
def test_after_a_change(report, what):
    assert report[what] == SEEN[what]
