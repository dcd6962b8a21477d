"""What a notebook makes is what a plain kernel has, by whichever way it comes: as an argument, as a result, as a variable of a
cell, and when a worker was released and another one has restored it."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import made_home
from value_kinds import KINDS

pytest.importorskip("IPython")
pytest.importorskip("torch")

HERE = Path(__file__).parent
WAYS = {
    "made": "in the notebook itself",
    "argument": "as an argument",
    "result": "as a result",
    "there_and_back": "as an argument that is returned",
    "variable": "as a variable of a cell",
    "brought": "made by a cell and brought",
    "sent_and_restored": "as a variable that was sent, after a release",
    "made_there_and_restored": "made by a cell, after a release",
    "restored_and_brought": "brought after a release",
    "argument_after_it": "as an argument after a release",
}


@pytest.fixture(scope="module")
def report():
    with made_home(idle_release_s=600) as home:
        home.environment["PYTHONPATH"] = str(HERE)
        yield home.run("import runpy; runpy.run_module('value_program')", seconds=300).reports


@pytest.mark.parametrize("kind", [kind.says for kind in KINDS])
def test_a_value_is_what_it_is_in_a_plain_kernel(report, kind):
    assert {WAYS[way]: found[kind] for way, found in report.items() if found[kind]} == {}


def test_all_ways_were_gone(report):
    assert report.keys() == WAYS.keys()
