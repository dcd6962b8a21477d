"""How a request of a notebook finds a worker, and the saved state that it brings."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from .. import interpreter
from ..state.folder import Folder
from ..state.restorer import Restorer
from .state_notes import tell

_LOOK_S = 0.05
_QUIET_S = 1.0


@dataclass
class Entered:
    """How a request of a notebook found this worker.

    ran : bool
        The namespace is the notebook's, and has the work that the request relies on.
    fresh : bool
        The namespace came to this worker with the request.
    turn, cell : int
        The last cell whose work the namespace had then.
    lost : dict of str to (str, int)
        Names that the worker before could not save: why, and the cell that made them.
    problem : str
        Why the namespace is not saved here; empty: it is.
    """

    ran: bool = True
    fresh: bool = False
    turn: int = 0
    cell: int = 0
    lost: dict[str, tuple[str, int]] = field(default_factory=dict)
    problem: str = ""


def caught_up(folder: Folder, names: dict[str, Any], key: bytes, turn: int, patience_s: float) -> Restorer:
    """The state as soon as it has reached this turn, or as it is if that takes too long."""
    until, told = time.monotonic() + patience_s, False
    while True:
        left = folder.left()  # read first, so that all that a leaving worker saved is seen
        restorer = Restorer(folder, names, key)
        if restorer.turn >= turn or left or time.monotonic() >= until or interpreter.core.ending():
            return restorer
        if not told and time.monotonic() >= until - patience_s + _QUIET_S:
            told = True
            tell("the last worker is still saving its variables")
        restorer.close()
        time.sleep(_LOOK_S)


def problem_with(error: Exception, folder: str) -> str:
    if not folder:
        return "the notebook could not make a folder for them."
    if isinstance(error, FileNotFoundError):
        return f"this worker does not see {folder}. Let the site's state_folder lie where the nodes see it."
    return f"{folder}: {error.strerror}." if isinstance(error, OSError) else str(error)
