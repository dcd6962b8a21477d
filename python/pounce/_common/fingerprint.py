"""Tells whether a function has changed: its code, and all that it captured."""

from __future__ import annotations

import sys
import types
import weakref
from typing import Any

from .code_names import global_names
from .serialize import ATOMS

_SHORT = 64  # a longer tuple is not compared item by item


class _Is:
    """Equal only to the same object; keeps it alive, so that its id is not reused."""

    __slots__ = ("thing",)

    def __init__(self, thing: Any):
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Is) and other.thing is self.thing

    __hash__ = None  # type: ignore[assignment]


def fingerprint(function: Any, seen: dict[int, int] | None = None) -> list[Any] | None:
    """Everything that the pickle depends on; None if that cannot be told or cannot be weakly referenced. `seen`: the
    places of the functions that this fingerprint holds already, by identity: one may call itself.
    """
    if importable(function):
        try:
            weakref.ref(function)
        except TypeError:
            return None
        return [_Is(function)]
    if type(function) is not types.FunctionType or function.__dict__:
        return None
    seen = {} if seen is None else seen
    if id(function) in seen:
        return [seen[id(function)]]  # not the function itself: its fingerprint must not keep it alive
    seen[id(function)] = len(seen)
    code = function.__code__
    marks: list[Any] = [_Is(code)]
    values = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:
            return None
    names = function.__globals__
    values.extend(names[name] for name in global_names(code) if name in names)
    for value in values:
        mark = _mark(value, seen)
        if mark is None:
            return None
        marks.append(mark)
    return marks


def _mark(value: Any, seen: dict[int, int]) -> Any:
    kind = type(value)
    if kind in ATOMS:
        return (kind, repr(value)) if kind in (float, complex) else (kind, value)
    if kind is types.ModuleType or importable(value):
        return _Is(value)
    if kind is tuple and len(value) <= _SHORT:
        marks = [_mark(item, seen) for item in value]
        return None if None in marks else (kind, marks)
    return fingerprint(value, seen) if kind is types.FunctionType else None


def importable(value: Any) -> bool:
    """True if pickle writes only its name: a function or class found where it says it lives, outside the notebook."""
    if not isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)):
        return False
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if module is None or module in ("__main__", "__mp_main__") or module in _by_value() or "." in name:
        return False
    return getattr(sys.modules.get(module), name, None) is value


def _by_value() -> Any:
    """Modules that the user has registered with cloudpickle to be sent by value."""
    cloudpickle = sys.modules.get("cloudpickle")
    return cloudpickle.list_registry_pickle_by_value() if cloudpickle else ()
