"""What failed in one of several processes is found again by its name, and runs alone: else one unsteady test fails a whole run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from suites import reports
from suites.schedule import Outcome, look_again
from suites.suites import NORMAL, SUITES, Options

TESTS = """
import pytest
from pathlib import Path

LOOKED = Path(__file__).with_suffix(".looked")

def stumbles(name):
    first = LOOKED.with_name(name)
    if not first.exists():
        first.touch()
        raise AssertionError("it is the first time")

def test_plain(): stumbles("plain")

@pytest.mark.parametrize("word", ["while True: pass", "a@b"])
def test_with_parameters(word): stumbles(str(len(word)))

@pytest.mark.xdist_group("of_its_own")
def test_with_a_group(): stumbles("group")

class TestOfAClass:
    @pytest.mark.parametrize("number", [1])
    def test_inside(self, number): stumbles("inside")

def test_that_fails_again(): assert not "steady"
"""


def test_what_stumbles_once_is_unsteady_whatever_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr(reports, "ROOT", tmp_path)
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    (tmp_path / "small_test.py").write_text(TESTS)
    def run(words, name, again):
        path = tmp_path / f"{name}.xml"
        subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", f"--junitxml={path}", *words],
                       cwd=tmp_path, check=False, capture_output=True)
        return reports.Report(path, again)

    first = run(["-n", "2", "--dist", "loadgroup", "small_test.py"], "first",
                lambda cases: [run(map(reports.pytest_id, cases), "again", None)])
    outcome = Outcome(SUITES[0], cases=first.cases(), reports=[first])
    assert outcome.count("failed") == len(outcome.cases) == 6

    look_again(outcome, Options(NORMAL))

    assert [case.name for case in outcome.cases if case.outcome == "failed"] == ["test_that_fails_again"]
    assert {case.name for case in outcome.unsteady} == {
        "test_plain", "test_with_parameters[while True: pass]", "test_with_parameters[a@b]",
        "test_with_a_group", "test_inside[1]"}
