"""What the interpreter of a worker is told of the notebook's process beside its environment, in one variable of that.

Python takes some things from the environment as it starts, which the notebook's own Python has otherwise: there ``sys.path`` got
most of its folders later, when the standard library was imported, and hash() has a seed that no variable tells.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field

_VARIABLE = "_POUNCE_NOTEBOOK"


@dataclass(frozen=True)
class NotebookProcess:
    """Nothing in it is secret."""

    path: list[list[str]] = field(default_factory=lambda: [[], [], []])  # local_modules.SearchPath
    standard: list[str] = field(default_factory=list)  # modules of the standard library that are imported there
    shown: dict[str, str | None] = field(default_factory=dict)  # variables with which the interpreter begins, as user code sees them

    def into(self, environment: dict[str, str]) -> dict[str, str]:
        return {**environment, _VARIABLE: json.dumps(asdict(self))}


def taken() -> NotebookProcess:
    """On the worker, once: from then on the environment is what user code sees."""
    said = os.environ.pop(_VARIABLE, None)
    found = NotebookProcess(**json.loads(said)) if said else NotebookProcess()
    for name, value in found.shown.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    return found
