"""What IPython keeps of a notebook's cells, for a cell on a worker that reads it: the last values, and ``In``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .._common.names_shown import LAST
from .._engine.display import Shown

_READS_INPUTS = re.compile(r"\b(In|_ih|_i{1,3}|_i\d+)\b")


def last_on_workers(wanted: Iterable[str], shell: Any) -> dict[str, int]:
    """Of the last values that a cell reads, those that workers have: the numbers of their cells."""
    values = {name: shell.user_ns.get(name) for name in LAST if name in wanted}
    return {name: value.number for name, value in values.items() if isinstance(value, Shown)}


def inputs(source: str, shell: Any, on_workers: Mapping[int, str]) -> list[str]:
    """The sources of all cells before this one, those of workers without their magic; empty: the cell reads none."""
    if not _READS_INPUTS.search(source):
        return []
    here = shell.history_manager.input_hist_parsed
    return [on_workers.get(number, text) for number, text in enumerate(here[:-1])]
