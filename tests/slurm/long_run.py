"""Marks what takes minutes and holds a rule that a shorter test holds too."""

from __future__ import annotations

import os

import pytest


def only_in_long_runs(why: str) -> pytest.MarkDecorator:
    """`why`: what it costs, and which shorter test holds the same."""
    return pytest.mark.skipif(not os.environ.get("POUNCE_LONG_RUN"), reason=f"{why}: tests/run --long runs it")
