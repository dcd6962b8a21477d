"""Reads a cell to look at it: its warnings, and the calls that IPython rewrites, are shown when it runs."""

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


def python_of(shell: Any, source: str) -> str:
    """The source as IPython runs it, without the line `------> f(x)` of a call that `%autocall` rewrites."""
    shown, shell.show_rewritten_input = shell.show_rewritten_input, False
    try:
        return str(shell.transform_cell(source))
    finally:
        shell.show_rewritten_input = shown
