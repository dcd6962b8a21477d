"""What a fresh process sees of a saved notebook is what the process that made it sees."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from state_traps import TRAPS

PROGRAM = Path(__file__).with_name("state_traps.py")


def outcome(what: str, folder: Path) -> dict[str, tuple[str, dict[str, str]]]:
    done = subprocess.run([sys.executable, str(PROGRAM), what, str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("state")
    return outcome("save", folder), outcome("restore", folder)


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.says)
def test_a_fresh_process_sees_the_same(trap, outcomes):
    saved, restored = outcomes

    assert not saved[trap.says][0].startswith(("NameError", "TypeError", "AttributeError", "SyntaxError"))
    assert restored[trap.says][0] == saved[trap.says][0]


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.says)
def test_what_cannot_be_saved_is_named_with_the_reason_and_nothing_else(trap, outcomes):
    saved, restored = outcomes

    assert saved[trap.says][1] == restored[trap.says][1]
    assert saved[trap.says][1].keys() == trap.unparkable.keys()
    assert [why for name, why in trap.unparkable.items() if why not in saved[trap.says][1][name]] == []
