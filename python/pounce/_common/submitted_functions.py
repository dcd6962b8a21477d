"""Functions on a worker, reused by many calls: each call gets the function as submitted, whatever earlier ones did.

A function that captured nothing mutable is unpickled once. It is still checked before each call: one that assigned a
global, a variable of its closure or an attribute of itself has changed, and is unpickled again. One that captured a
list, an array or a class of the notebook is unpickled for each call.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from . import local_modules, serialize
from .fingerprint import fingerprint, importable

_COPIED_BYTES = 1024 * 1024  # largest pickle of a function that is copied for each item of a task
BUDGET_BYTES = 32 * 1024 * 1024
_Value = TypeVar("_Value")


class LruCache(Generic[_Value]):
    """The most recently used values, by key, up to a budget of bytes."""

    def __init__(self, budget: int = BUDGET_BYTES) -> None:
        self._values: dict[bytes, tuple[_Value, int]] = {}  # the least recently used first
        self._budget = budget
        self._dropped = 0  # bytes, since the last collection
        self.nbytes = 0

    def get(self, key: bytes) -> _Value | None:
        entry = self._values.pop(key, None)
        if entry is None:
            return None
        self._values[key] = entry
        return entry[0]

    def put(self, key: bytes, value: _Value, nbytes: int) -> None:
        self.drop(key)
        self._values[key] = (value, nbytes)
        self.nbytes += nbytes
        while self.nbytes > self._budget and len(self._values) > 1:
            self.drop(next(iter(self._values)))
        if self._dropped > self._budget:  # a function and its globals refer to each other: only a collection frees them
            self._dropped = 0
            gc.collect()

    def drop(self, key: bytes) -> None:
        _, nbytes = self._values.pop(key, (None, 0))
        self.nbytes -= nbytes
        self._dropped += nbytes


class SubmittedFunctions:
    """Functions by their digests. Not for several threads at once."""

    def __init__(self) -> None:
        self._kept = LruCache[tuple[Any, Any]]()
        self._last: tuple[bytes, Any] = b"", None  # an importable one: such a function is what its name says

    def function(self, id: bytes, pickle: Callable[[], bytes]) -> Any:
        """The function from `pickle`: the one that was kept if it has not changed, else unpickled again."""
        last, function = self._last
        if function is not None and id == last and importable(function):
            return function
        kept = self._kept.get(id)
        if kept is not None and _marks(kept[0]) == kept[1]:
            if importable(kept[0]):
                self._last = id, kept[0]
            return kept[0]
        data = pickle()
        function = serialize.loads(data)
        marks = _marks(function)
        if marks is None:
            self._kept.drop(id)
        else:
            self._kept.put(id, (function, marks), len(data))
        return function


class Fresh:
    """Travels to a worker: a function and the changed modules that it may need. Immutable except for its cache."""

    def __init__(self, sources: dict[str, local_modules.Source], pickle: bytes, in_place: bool = False):
        self._sources, self._pickle, self._in_place = sources, pickle, in_place
        self._generation = -1
        self._functions = SubmittedFunctions()

    def __reduce__(self) -> Any:
        return Fresh, (self._sources, self._pickle, self._in_place)

    def function(self) -> Callable[..., Any]:
        """On the worker, before each call: the function, with the modules as they were when it was submitted."""
        generation = local_modules.serve(self._sources, self._in_place)
        if generation != self._generation:
            self._functions, self._generation = SubmittedFunctions(), generation
        return self._functions.function(b"", lambda: self._pickle)


def _marks(function: Any) -> Any:
    """Marks that change with what the function captured; None: that cannot be told."""
    if type(function) is Fresh:
        return True
    marks = fingerprint(function)
    return marks if marks is None else (marks, len(getattr(function, "__globals__", ())))


def for_each_item(function: Callable[..., Any]) -> Callable[[], Callable[..., Any]]:
    """Returns a maker of `function` as it is now, for several calls in one task. With much data they share one."""
    if importable(function):
        return lambda: function
    try:
        data, buffers, objects = serialize.dumps(function, submitted=True)
    except Exception:  # what it captured travels in one direction only
        return lambda: function
    if buffers or objects or len(data) > _COPIED_BYTES:
        return lambda: function
    functions = SubmittedFunctions()
    return lambda: functions.function(b"", lambda: data)
