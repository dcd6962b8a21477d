"""A remote cell's error as if it were raised here: its own type, the worker's lines, and one line that says where."""

from __future__ import annotations

from typing import Any

from .. import errors
from .._common import exceptions
from .._common.cell_protocol import CellError


def remote_error(error: CellError, hint: str = "") -> BaseException:
    where = " · ".join(filter(None, ("on " + (error.node or "the worker"), error.devices)))
    lines = [where, *error.lines, *([hint] if hint else [])]
    exception = _exception(error)
    exception._render_traceback_ = lambda *_: lines  # type: ignore[attr-defined]  # IPython asks for it
    if exceptions.leads_to_group(exception.__context__):
        exception.__context__ = None  # the lines have it
    return exception


def in_words(error: errors.PounceError) -> errors.PounceError:
    """Shows an error of the worker without lines of code: none of them caused it, and all of them are ours."""
    if error.code != "internal":
        error._render_traceback_ = lambda *_: [f"{type(error).__name__}: {error}"]  # type: ignore[attr-defined]
    return error


def syntax_error(shell: Any, error: SyntaxError) -> BaseException:
    """A SyntaxError of the notebook's own cell, shown as IPython shows one: without our lines."""
    lines = shell.SyntaxTB.structured_traceback(type(error), error, [])
    return type(type(error).__name__, (Exception,), {"_render_traceback_": lambda _: lines})(str(error))


def _exception(error: CellError) -> BaseException:
    if error.type == "KeyboardInterrupt":
        return KeyboardInterrupt(error.text)
    exception: BaseException | None = None
    try:
        exception = exceptions.loads(error.pickle)
        exception._render_traceback_ = None  # type: ignore[attr-defined]
        str(exception)  # IPython needs its text
        if not _is_shown_otherwise(exception):
            return exception
    except Exception:
        pass
    kind = type(error.type, (errors.TaskRaised,), {"__str__": lambda _: error.text})
    in_its_place: BaseException = kind(error.text)
    in_its_place.__cause__ = exception
    return in_its_place


def _is_shown_otherwise(exception: BaseException) -> bool:
    """IPython shows a SyntaxError and a group, and ends at a SystemExit, without asking for our lines."""
    return isinstance(exception, (SyntaxError, SystemExit)) or exceptions.is_group(exception)
