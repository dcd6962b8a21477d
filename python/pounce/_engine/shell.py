"""The IPython or marimo that this process is, if it is one. Neither is ever imported here."""

from __future__ import annotations

import contextvars
import sys
from collections.abc import Callable
from typing import Any

_last_cell: contextvars.Context | None = None  # that of the last cell that began


def shell() -> Any:
    """None: there is none."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def has_page() -> bool:
    """Whether it is a notebook's, which can show more than text."""
    return getattr(shell(), "kernel", None) is not None


def marimo() -> Any:
    """marimo's module in a cell of its notebook; None: elsewhere, also in a notebook that runs as a script."""
    module = sys.modules.get("marimo")
    is_notebook = getattr(module, "running_in_notebook", None)
    return module if is_notebook is not None and is_notebook() else None


def cell_begins(*_: Any) -> None:
    """Called in each cell, before its code."""
    global _last_cell
    _last_cell = contextvars.copy_context()


def show_at(place: contextvars.Context | None, show: Callable[..., object], *args: Any) -> None:
    """Calls `show` on this thread as the code of `place` would; None: that of the last cell. ipykernel 7 puts what a
    thread without a message shows under the last message that came, and during a cell that may be a slider's."""
    place = place or _last_cell
    if place is None:
        show(*args)
    else:
        place.copy().run(show, *args)
