"""The IPython or marimo that this process is, if it is one. Neither is ever imported here."""

from __future__ import annotations

import sys
from typing import Any


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
