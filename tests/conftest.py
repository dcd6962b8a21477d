"""How tests are collected, and which stay in one process where several processes share them."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[None]:
    """pytest's own form of the tests' files is kept, whatever PYTHONDONTWRITEBYTECODE says: each of a suite's processes would make it
    anew. What tests themselves import and start does as that says."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    yield
    sys.dont_write_bytecode = before


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """A test's group is its mark `xdist_group`, else its file, whose tests share daemons and kernels. Scenarios on a
    real Slurm mostly wait: they are spread.

    pytest-xdist 3.8 writes the group where pytest 9.2 no longer looks: without this, groups would be no groups.
    """
    if not getattr(config.option, "loadgroup", False):
        return
    for item in items:
        mark = item.get_closest_marker("xdist_group")
        group = mark.args[0] if mark else "" if item.path.parent.name == "slurm" else item.path.stem
        if group and not item.nodeid.endswith(f"@{group}"):
            item._id = f"{item.nodeid}@{group}"
