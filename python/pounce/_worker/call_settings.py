"""The notebook's settings in a worker's calls: a call comes with those that the notebook had when it was submitted."""

from __future__ import annotations

import pickle
import sys
import types
from typing import Any

from .._common.settings.table import GENERATORS, RUNS, SETTINGS
from .state import process_state

# Calls have random streams and MLflow runs of their own, and no shell.
_NOT_FOR_CALLS = frozenset((*GENERATORS, RUNS, *(name for name, row in SETTINGS.items() if row.package == "IPython")))
_followed = ""  # the object that the last call came with


def follow(id: str, job: Any) -> None:
    """Writes what this process has not had of the settings in the object `id`, which came with the job."""
    if id != _followed:
        take(job.settings(), id)


def take(data: Any, id: str = "") -> None:
    """`data`: the kernel, the number of its last change, and the changes by row, pickled."""
    global _followed
    kernel, number, rows = pickle.loads(data)
    change: Any = types.SimpleNamespace(kernel=kernel, since=0, number=number, rows=rows)
    process_state.baseline()  # before anything is written
    process = process_state.present
    _tell(process.follow(change))
    _followed = id
    _tell(process.put_back(but=_NOT_FOR_CALLS))
    process_state.put_back_on_import(_tell, _NOT_FOR_CALLS)


def _tell(failed: dict[str, str]) -> None:
    for part, why in failed.items():
        print(f"pounce: the notebook's {part} could not be set here: {why}", file=sys.stderr, flush=True)
