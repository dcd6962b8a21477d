"""A cell that goes on without its kernel (``--bg``, ``--keep``, or as the site says): where its output is kept."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from .. import errors
from .._common.cell_protocol import KeptCell
from .._engine.session import Session
from ..errors import BadRequest
from ..kept import records
from ..kept.records import Record
from .background import Again
from .notebook_state import NotebookState, notebook
from .options_line import CellLine
from .stop import say

_MOST_LINE = 60
_LOOK_S = 3600.0
_looked_at = -_LOOK_S
_T = TypeVar("_T")


def begun(session: Session, line: CellLine, source: str, number: int, state: NotebookState) -> Record | None:
    """Makes the folder of a cell that is about to be sent. None: it does not go on without this kernel."""
    wanted = line.keeps or line.background or session.keeps_cells
    if not wanted or not source.strip():
        return None
    if not session.cell_output_bytes:
        if line.keeps:
            raise BadRequest("this site has no cell go on without its kernel",
                             "A batch run does: %pounce batch --help.")
        return None
    root = records.root_of(session.saved_states)
    first = next((text.strip() for text in source.splitlines() if text.strip()), "")
    about = {"name": line.name, "notebook": notebook(), "cell": number, "line": first[:_MOST_LINE],
             "began": time.time(), "state": state.id, "host": socket.gethostname(), "pid": os.getpid(),
             "python": sys.version.split()[0]}
    try:
        _remove_old(root, session.parked_keep_s)
        return records.made(root, about)
    except OSError as error:
        say(f"this cell does not go on without its kernel: {root}: {error.strerror}")
        return None


def _remove_old(root: str, keep_s: float) -> None:
    """Looks at all of them, so only once in an hour."""
    global _looked_at
    now = time.monotonic()
    if now - _looked_at >= _LOOK_S:
        _looked_at = now
        records.remove_old(root, keep_s)


def request(session: Session, record: Record | None) -> KeptCell | None:
    return KeptCell(record.folder, session.cell_output_bytes) if record is not None else None


@contextmanager
def noted(record: Record | None) -> Iterator[None]:
    """Around the kernel's part of a cell: what ends it here, and not on its worker, is its end."""
    try:
        yield
    except (Again, GeneratorExit):
        raise
    except (KeyboardInterrupt, errors.ClientClosed, errors.LostError):  # it never ran, or it may go on
        if record is not None and not record.beat():
            record.remove()
        raise
    except BaseException as error:
        if record is not None:
            records.end_by_kernel(record, error)
        raise


def noting(record: Record | None, act: Callable[[], _T]) -> _T:
    with noted(record):
        return act()


def not_all(why: str) -> str:
    return f"not all output of this cell is kept: {why}"
