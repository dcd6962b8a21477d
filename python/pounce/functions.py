"""Functions to bytes, quickly: a function that is provably the same as last time is not pickled again.

Pickling a notebook function by value costs 10-70 us, more than the rest of a warm submit. It is skipped when nothing that
goes into the pickle can have changed: the code, atomic defaults and closure values, and each global that the code names
is an atom, a module, something importable, or another such function. Anything else (a list, an array, a class of the
notebook) is pickled anew each time, since it may have changed; if the bytes are the same, the worker keeps what it has.
"""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from . import _core, serialize
from .modules import Fresh, LocalModules, Source
from .serialize import _ATOMS


class Pickled(NamedTuple):
    id: bytes       # digest of the pickle: XXH3-128, 16 bytes
    pickle: bytes
    buffers: list[Any]  # of arrays that the function captured; empty as a rule
    objects: list[str]


class FunctionCache:
    """Pickles of functions. One per client; not for several threads at once (the GIL orders its calls)."""

    def __init__(self) -> None:
        self._known: weakref.WeakKeyDictionary[Any, tuple[Any, Pickled]] = weakref.WeakKeyDictionary()
        self._modules = LocalModules()
        self._fresh: dict[bytes, Pickled] = {}  # by the digest of the function alone, with self._sources
        self._sources: dict[str, Source] = {}

    def pickled(self, function: Callable[..., Any], surely: bool = False) -> Pickled:
        """With `surely`, of modules as their files are at this moment; else an edit is seen a moment later."""
        plain = self._plain(function)
        sources = self._modules.edited(surely)
        # One with data in it travels as an argument of another function, which brings the modules.
        return self._with_sources(plain, sources) if sources and not plain.buffers and not plain.objects else plain

    def _with_sources(self, plain: Pickled, sources: dict[str, Source]) -> Pickled:
        if sources is not self._sources:
            self._sources, self._fresh = sources, {}
        fresh = self._fresh.get(plain.id)
        if fresh is None:
            data = serialize.dumps(Fresh(sources, plain.pickle))[0]
            fresh = self._fresh[plain.id] = Pickled(_core.digest(data), data, [], [])
        return fresh

    def _plain(self, function: Callable[..., Any]) -> Pickled:
        fingerprint = _fingerprint(function)
        if fingerprint is not None:
            known = self._known.get(function)
            if known is not None and known[0] == fingerprint:
                return known[1]
        data, buffers, objects = serialize.dumps(function)
        result = Pickled(_core.digest(data), data, buffers, objects)
        if fingerprint is not None and not buffers and not objects:
            self._known[function] = (fingerprint, result)
        return result


class _Is:
    """Equal only to the same object; keeps it alive, so that its identity is not used again."""

    __slots__ = ("thing",)

    def __init__(self, thing: Any):
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Is) and other.thing is self.thing

    __hash__ = None  # type: ignore[assignment]


def _fingerprint(function: Any, seen: frozenset[int] = frozenset()) -> list[Any] | None:
    """Everything that the pickle depends on; None if that cannot be told or cannot be weakly referenced."""
    if _importable(function):
        try:
            weakref.ref(function)
        except TypeError:
            return None
        return [_Is(function)]
    if type(function) is not types.FunctionType or function.__dict__ or id(function) in seen:
        return None
    seen = seen | {id(function)}
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


def _mark(value: Any, seen: frozenset[int]) -> Any:
    kind = type(value)
    if kind in _ATOMS:
        return (kind, repr(value)) if kind in (float, complex) else (kind, value)
    if kind is types.ModuleType or _importable(value):
        return _Is(value)
    return _fingerprint(value, seen) if kind is types.FunctionType else None


def _importable(value: Any) -> bool:
    """True if pickle writes only its name: a function or class found where it says it lives, outside the notebook."""
    if not isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)):
        return False
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if module is None or module in ("__main__", "__mp_main__") or module in _by_value() or "." in name:
        return False
    return getattr(sys.modules.get(module), name, None) is value


def _by_value() -> Any:
    """Modules that the person asked cloudpickle to send by value."""
    cloudpickle = sys.modules.get("cloudpickle")
    return cloudpickle.list_registry_pickle_by_value() if cloudpickle else ()


_names: weakref.WeakKeyDictionary[types.CodeType, tuple[str, ...]] = weakref.WeakKeyDictionary()


def global_names(code: types.CodeType) -> tuple[str, ...]:
    """Names that the code may look up in its globals, nested functions included; attribute names too, harmlessly."""
    known = _names.get(code)
    if known is None:
        names = dict.fromkeys(code.co_names)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                names.update(dict.fromkeys(global_names(constant)))
        known = _names[code] = tuple(names)
    return known
