"""``LruCache``: the most recently used values, by key, up to a budget of bytes."""

from __future__ import annotations

import gc
from typing import Generic, TypeVar

_Value = TypeVar("_Value")

BUDGET_BYTES = 32 * 1024 * 1024


class LruCache(Generic[_Value]):
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
