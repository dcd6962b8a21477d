"""The errors of pounce: one exception class per code of ``_core.ERROR_CODES`` (docs/errors.md).

``str()`` of each is a sentence of cause and a sentence of remedy. ``context`` holds the evidence for people, as
strings: lease, job, node, signal, exit_code, last_lines ... A program decides by the class and its attributes. The
classes are made from the C++ list, so that the two sides cannot drift.
"""

from __future__ import annotations

import builtins
import concurrent.futures
import pickle
from collections.abc import Mapping
from typing import Any, TypeVar

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

# The attributes of a class by which programs decide, each a field of ``_core.Error``, with their defaults.
_DIED: dict[str, Any] = {"signal": None, "exit_code": None}  # how the worker's Python ended, where that is known
_FACTS: dict[str, dict[str, Any]] = {
    "worker_crashed": _DIED,
    "out_of_memory": {**_DIED, "object": ""},  # of data that the worker refused, and is as it was
    "file_not_here": {"path": ""},
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
        Evidence, to be shown. Which keys there are depends on the class; docs/errors.md lists them.
    """

    code = "internal"
    default_remedy = ""
    _facts: Mapping[str, Any] = {}

    def __init__(self, text: str = "", remedy: str = "", context: Mapping[str, str] | None = None, **facts: Any):
        super().__init__(text)
        self.text = text
        self.remedy = remedy or self.default_remedy
        self.context: dict[str, str] = dict(context or {})
        if unknown := facts.keys() - self._facts.keys():
            raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(unknown))}")
        self.__dict__.update(facts)

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
        return type(self), (self.text, self.remedy, self.context), self._own_facts()

    def _own_facts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._facts}


def _make(code: str, name: str, remedy: str) -> type[PounceError]:
    bases = (PounceError, *_ALSO.get(code, ()))
    doc = f"{name}: see docs/errors.md. What to do by default: {remedy}"
    body = {"__doc__": doc, "__module__": PounceError.__module__, "code": code, "default_remedy": remedy,
            "_facts": _FACTS.get(code, {}), **_FACTS.get(code, {})}
    if OSError in bases[-1].__mro__:  # a TimeoutError is one, and would take three arguments for errno and file
        body["__new__"] = lambda cls, text="", *_, **__: OSError.__new__(cls, text)
    return type(name, bases, body)


BY_CODE: dict[str, type[PounceError]] = {
    each.code: _make(each.code, each.name, each.remedy) for each in _core.ERROR_CODES}
globals().update({cls.__name__: cls for cls in BY_CODE.values()})
__all__ = ["PounceError", *sorted(cls.__name__ for cls in BY_CODE.values())]


def make(code: str, text: str, remedy: str = "", context: Mapping[str, str] | None = None,
         **facts: Any) -> PounceError:
    """The exception of one C++ ``Error``; a code of a newer peer becomes ``InternalError``."""
    return BY_CODE.get(code, BY_CODE["internal"])(text, remedy, context, **facts)


def of(error: _core.Error | None) -> PounceError:
    """The exception of an ``Error`` from C++."""
    error = error or _core.Error()
    facts = {name: getattr(error, name) for name in _FACTS.get(error.code, {})}
    return make(error.code, error.text, error.remedy, error.context, **facts)


def record_of(error: PounceError) -> _core.Error:
    """The ``Error`` of an exception."""
    return _core.Error(error.code, error.text, error.remedy, error.context, **error._own_facts())
