"""What cells of one process and of a gang's ranks share: the shell, and a reply's error and variables as bytes."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from ... import errors
from ..._common import bundle
from .. import interpreter


def error_of(shell: Any, error: BaseException) -> dict[str, Any]:
    kind = KeyboardInterrupt if isinstance(error, asyncio.CancelledError) else type(error)
    try:
        text = str(error)
    except Exception:
        text = "its message cannot be shown"
    return {"type": kind.__name__, "text": text, "lines": shell.stb or [], "node": interpreter.node,
            "devices": interpreter.devices,
            "name": getattr(error, "name", None) if isinstance(error, NameError) else None, "pickle": _pickled(error)}


def bundled(values: dict[str, Any]) -> tuple[bytes, list[Any]]:
    try:
        return bundle.dumps(values)
    except Exception as error:
        from ..._common import serialize

        where, part, why = serialize.path_of_unpicklable(values, "the worker's variables") or ("", values, error)
        text = f"{where} is a {type(part).__name__}, which cannot be brought back: {why}"
        raise errors.ResultNotPicklable(text) from None


def shells() -> Any:
    """The module of the shell, which imports IPython."""
    try:
        from . import shell
    except ImportError as error:
        raise errors.BadRequest(f"cells need IPython on the worker, whose Python {sys.executable} lacks {error.name}",
                                "Install it there: python -m pip install ipython.") from None
    return shell


def _pickled(error: BaseException) -> bytes:
    """Empty if the error cannot be pickled: its text is sent anyway."""
    try:
        from ..._common import exceptions

        return exceptions.dumps(error, bundle.pickler)
    except Exception:
        return b""
