"""Compiles a cell to look at it: its warnings come when it runs."""

from __future__ import annotations

import warnings
from typing import Any


def quiet_compile(source: str, file: str, flags: int) -> Any:
    """The filters stay as they are: after each change of them Python shows warnings again that it shows once."""
    shown, warnings.showwarning = warnings.showwarning, lambda *_, **__: None
    try:
        return compile(source, file, "exec", flags, dont_inherit=True)
    finally:
        warnings.showwarning = shown
