"""A notebook without Jupyter: cells run in this process's shell. For programs of a home (`home.run`)."""

from __future__ import annotations

import contextlib
import io
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
names: dict[str, Any] = shell.user_ns


def cell(source: str) -> str:
    """What it raised; empty: nothing."""
    with contextlib.redirect_stdout(io.StringIO()):
        result = shell.run_cell(source)
    error = result.error_before_exec or result.error_in_exec
    return f"{type(error).__name__}: {error}" if error is not None else ""


def on_worker(source: str, out: str = "") -> str:
    return cell(f"%%pounce --cpus 1{f' --out {out}' if out else ''}\n{source}")


cell("%load_ext pounce")
