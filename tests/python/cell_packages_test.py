"""Which cells call a package manager, and what the user is told then."""

from __future__ import annotations

import os

import pytest
from pounce._worker.cell import packages


@pytest.mark.parametrize(("source", "does"), [
    ("%pip install rich", True),
    ("import a\n  !pip install rich", True),
    ("!{sys.executable} -m pip list", True),
    ("!/opt/mine/bin/python -m pip install rich", True),
    ("!python3.11 -m pip install rich", True),
    ("%conda install numpy", True),
    ("pip = 1\nprint('%pip')", False),
    ("%pipeline", False),
])
def test_cells_that_call_a_package_manager(source, does):
    assert packages.installs(source) == does


def test_an_environment_that_cannot_be_written_is_answered_with_the_way_to_one_that_can(monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(packages.site, "ENABLE_USER_SITE", False)

    assert "cannot be written" in packages.note() and "python -m venv" in packages.note() and "--env" in packages.note()
