"""What IPython keeps of a notebook's cells, for a cell on a worker that reads it: the last values, and ``In``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .._common.names_shown import LAST
from .._engine.display import Shown

_READS_INPUTS = re.compile(r"\b(In|_ih|_i{1,3}|_i\d+)\b")


def last_values(wanted: Iterable[str], shell: Any) -> tuple[dict[str, int], dict[str, Any]]:
    """Of the last values that a cell reads: the numbers of cells whose workers have them, and the notebook's own."""
    found = {name: shell.user_ns[name] for name in LAST if name in wanted and name in shell.user_ns}
    there = {name: value.number for name, value in found.items() if isinstance(value, Shown)}
    return there, {name: value for name, value in found.items() if name not in there}


def inputs(source: str, shell: Any, on_workers: Mapping[int, str]) -> list[str]:
    """The sources of all cells before this one, those of workers without their magic; empty: the cell reads none."""
    if not _READS_INPUTS.search(source):
        return []
    here = shell.history_manager.input_hist_parsed
    return [on_workers.get(number, text) for number, text in enumerate(here[:-1])]
