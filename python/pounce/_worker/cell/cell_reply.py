"""What cells of one process and of a gang's ranks share: the shell, and a reply's error and variables as bytes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Any

from ... import errors
from ..._common import bundle
from ..._common.cell_protocol import CellError
from .. import interpreter


def error_of(shell: Any, error: BaseException) -> CellError:
    kind = KeyboardInterrupt if isinstance(error, asyncio.CancelledError) else type(error)
    text = shells().text_of(error)
    name = getattr(error, "name", None) if isinstance(error, (NameError, ModuleNotFoundError)) else None
    return CellError(kind.__name__, text, shell.stb or [], interpreter.node, interpreter.devices, name, _pickled(error))


def brought_back(names: dict[str, Any], brings: Sequence[str]) -> tuple[bytes, list[Any]]:
    values = {name: names[name] for name in brings if name in names}
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
