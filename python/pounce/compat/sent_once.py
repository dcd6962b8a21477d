"""``SentOnce``: large arguments of many calls. Equal contents are sent once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from .. import Ref
from .._common.snapshot import snapshot_of

_LARGE_BYTES = 64 * 1024  # from this size on
_KEPT = 32                # most recently used objects; an older one is sent again when it is used again


class SentOnce:
    """One thread at a time. `scatter` gets a copy if the original may change (_common/snapshot.py).

    A program may refill the array of one call for a later one, so an array is identified by its content.
    """

    def __init__(self, scatter: Callable[[Any], Ref]):
        self._scatter = scatter
        self._sent: OrderedDict[Hashable, tuple[Ref, Any]] = OrderedDict()

    def by_ref(self, value: Any) -> Any:
        """`value` if it is small, or cannot travel by itself; else a Ref to its current content.

        Blocks until it is hashed (about 50 ms for a GiB), and copied if its content is new.
        """
        snapshot = None if _nbytes(value) < _LARGE_BYTES else snapshot_of(value)
        if snapshot is None:
            return value
        key = snapshot.key
        if key not in self._sent:
            self._sent[key] = self._scatter(snapshot.made()), snapshot.keeps
        self._sent.move_to_end(key)
        if len(self._sent) > _KEPT:
            self._sent.popitem(last=False)
        return self._sent[key][0]

    def clear(self) -> None:
        self._sent.clear()


def _nbytes(value: Any) -> int:
    """The size of an array, a pandas table or a sparse matrix; 0 for anything else."""
    usage = getattr(value, "memory_usage", None)
    if callable(usage):
        return int(usage(index=True).sum()) if getattr(value, "ndim", 1) == 2 else int(usage(index=True))
    nbytes = getattr(value, "nbytes", None) or getattr(getattr(value, "data", None), "nbytes", 0)
    return nbytes if isinstance(nbytes, int) else 0
