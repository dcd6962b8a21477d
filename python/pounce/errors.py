"""The errors of pounce: one exception class per code of ``_core.ERROR_CODES`` (docs/errors.md).

``str()`` of each is a sentence of cause and a sentence of remedy. ``context`` holds the evidence as strings: lease,
job, node, signal, exit_code, last_lines ... The classes are made from the C++ list, so that the two sides cannot drift.
"""

from __future__ import annotations

import builtins
import concurrent.futures
import pickle
from collections.abc import Mapping
from typing import TypeVar

from . import _core

# Python's own exceptions for the same failures: except clauses written for them go on working.
_ALSO: dict[str, tuple[type[BaseException], ...]] = {
    "cancelled": (concurrent.futures.CancelledError,),
    # Until 3.10 these were two classes.
    "timeout": tuple({concurrent.futures.TimeoutError, builtins.TimeoutError}),
    "out_of_memory": (builtins.MemoryError,),
    "bad_request": (builtins.ValueError,),
    "not_picklable": (pickle.PicklingError,),
    "result_not_picklable": (pickle.PicklingError,),
}


Kind = TypeVar("Kind", bound=type)


def public(kind: Kind) -> Kind:
    """Decorates a class that ``import pounce`` has: help and tracebacks name it as users do, ``pounce.Wait``."""
    kind.__module__ = "pounce"
    return kind


@public
class PounceError(Exception):
    """Any failure that pounce reports. Untrusted text in it (a job's name, Slurm's words) acts on no terminal.

    Attributes
    ----------
    code : str
        The wire name, for example ``"out_of_memory"``.
    text : str
        One sentence of cause.
    remedy : str
        One sentence: what to do.
    context : dict of str to str
        Evidence. Which keys there are depends on the class; docs/errors.md lists them.
    """

    code = "internal"
    default_remedy = ""

    def __init__(self, text: str = "", remedy: str = "", context: Mapping[str, str] | None = None):
        super().__init__(text)
        self.text = text
        self.remedy = remedy or self.default_remedy
        self.context: dict[str, str] = dict(context or {})

    def __str__(self) -> str:
        text = self.text.rstrip()
        if text and text[-1] not in ".!?":
            text += "."
        whole = f"{text} {self.remedy}".strip() + self._evidence()
        return "\n".join(_core.printable(line) for line in whole.split("\n"))

    def _evidence(self) -> str:
        """What the user should see at once: where it happened, and the last lines of the log."""
        shown = ""
        where = ", ".join(f"{key} {self.context[key]}" for key in ("job", "node", "log") if self.context.get(key))
        if where:
            shown += f"\n  ({where})"
        lines = self.context.get("last_lines", "").rstrip("\n")
        if lines:
            shown += "\n  last lines:\n" + "\n".join(f"    {line}" for line in lines.splitlines())
        return shown

    def __reduce__(self):
        return type(self), (self.text, self.remedy, self.context)


def _make(code: str, name: str, remedy: str) -> type[PounceError]:
    bases = (PounceError, *_ALSO.get(code, ()))
    doc = f"{name}: see docs/errors.md. What to do by default: {remedy}"
    body = {"__doc__": doc, "__module__": PounceError.__module__, "code": code, "default_remedy": remedy}
    if OSError in bases[-1].__mro__:  # a TimeoutError is one, and would take three arguments for errno and file
        body["__new__"] = lambda cls, text="", *_, **__: OSError.__new__(cls, text)
    return type(name, bases, body)


BY_CODE: dict[str, type[PounceError]] = {
    each.code: _make(each.code, each.name, each.remedy) for each in _core.ERROR_CODES}
globals().update({cls.__name__: cls for cls in BY_CODE.values()})
__all__ = ["PounceError", *sorted(cls.__name__ for cls in BY_CODE.values())]


def make(code: str, text: str, remedy: str = "", context: Mapping[str, str] | None = None) -> PounceError:
    """The exception of one C++ ``Error``; a code of a newer peer becomes ``InternalError``."""
    return BY_CODE.get(code, BY_CODE["internal"])(text, remedy, context)


def of(error: _core.Error | None) -> PounceError:
    """The exception of an ``Error`` from C++."""
    error = error or _core.Error()
    return make(error.code, error.text, error.remedy, error.context)


def record_of(error: PounceError) -> _core.Error:
    """The ``Error`` of an exception."""
    return _core.Error(error.code, error.text, error.remedy, error.context)


def _signal(self: PounceError) -> int | None:
    """The signal that ended the worker's Python, or None."""
    return int(self.context["signal"]) if self.context.get("signal", "").isdigit() else None


def _exit_code(self: PounceError) -> int | None:
    """The exit code of the worker's Python, or None."""
    code = self.context.get("exit_code", "")
    return int(code) if code.lstrip("-").isdigit() else None


for _name in ("worker_crashed", "out_of_memory"):
    for _word, _reader in (("signal", _signal), ("exit_code", _exit_code)):
        setattr(BY_CODE[_name], _word, property(_reader))
