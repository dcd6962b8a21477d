"""Functions to bytes, quickly: a function that is provably the same as last time is not pickled again.

Pickling a notebook function by value costs 10-70 us, more than all else in a warm submit. It is skipped when nothing
that goes into the pickle can have changed: the code, atomic defaults and closure values, and each global that the code
names is an atom, a module, something importable, or another such function. Anything else (a list, an array, a class of
the notebook) is pickled anew each time, since it may have changed; if the bytes are equal, the worker keeps its copy.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import _core
from .._common import serialize
from .._common.fingerprint import fingerprint, importable
from .._common.local_modules import LocalModules, Modules, Source
from .._common.submitted_functions import Fresh, LruCache


class Pickled(NamedTuple):
    id: bytes       # digest of the pickle: XXH3-128, 16 bytes
    pickle: bytes
    buffers: list[Any]  # of arrays that the function captured; empty as a rule
    objects: list[str]


def _nothing() -> None:
    return None


_NOTHING = Pickled(b"", b"", [], [])


class FunctionCache:
    """Pickles of functions. One per client; it has no lock: the GIL orders its calls."""

    def __init__(self, modules: Modules | None = None) -> None:
        self._known: weakref.WeakKeyDictionary[Any, tuple[Any, Pickled]] = weakref.WeakKeyDictionary()
        self._last: tuple[Callable[[], Any], Pickled] = _nothing, _NOTHING  # an importable function and its pickle
        self._modules = modules or LocalModules()
        self._fresh = LruCache[Pickled]()  # by the digest of the function alone, with self._sources
        self._sources: dict[str, Source] = {}

    def pickled(self, function: Callable[..., Any], surely: bool = False) -> Pickled:
        """With `surely` the user's modules are as their files are now; else an edit is seen a moment later."""
        plain = self._plain(function)
        sources = self._modules.edited(surely)
        # A function with data in it travels as an argument of another function, which brings the modules.
        return self._with_sources(plain, sources) if sources and not plain.buffers and not plain.objects else plain

    def _with_sources(self, plain: Pickled, sources: dict[str, Source]) -> Pickled:
        if sources is not self._sources:
            self._sources, self._fresh = sources, LruCache()
        fresh = self._fresh.get(plain.id)
        if fresh is None:
            data = serialize.dumps(Fresh(sources, plain.pickle, self._modules.in_place))[0]
            fresh = Pickled(_core.digest(data), data, [], [])
            self._fresh.put(plain.id, fresh, len(data))
        return fresh

    def _plain(self, function: Callable[..., Any]) -> Pickled:
        last, pickled = self._last
        if last() is function and importable(function):
            return pickled
        marks = fingerprint(function)
        if marks is not None:
            known = self._known.get(function)
            if known is not None and known[0] == marks:
                return known[1]
        data, buffers, objects = serialize.dumps(function, submitted=True)
        result = Pickled(_core.digest(data), data, buffers, objects)
        if marks is not None and not buffers and not objects:
            self._known[function] = (marks, result)
            if importable(function):
                self._last = weakref.ref(function), result
        return result
