"""The IPython that this kernel or terminal is, if it is one. IPython itself is never imported here."""

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
