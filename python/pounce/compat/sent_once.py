"""``SentOnce``: large arguments of many calls, each content one object of the workers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from .. import Ref
from .._common.snapshot import snapshot_of

_LARGE_BYTES = 64 * 1024  # from here on
_KEPT = 32                # of the objects that calls were last given; an earlier one is sent again where it comes again


class SentOnce:
    """One thread at a time. What `scatter` is given is a copy where the original may change (_common/snapshot.py).

    A program may fill the array of one call anew for a later one: an array is known by what is in it.
    """

    def __init__(self, scatter: Callable[[Any], Ref]):
        self._scatter = scatter
        self._sent: OrderedDict[Hashable, tuple[Ref, Any]] = OrderedDict()

    def by_ref(self, value: Any) -> Any:
        """`value` if it is small, or cannot travel by itself; else a Ref to what it is now.

        Blocks until it is hashed (about 50 ms for a GiB), and copied where its content is new.
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
    """Of an array, a table of pandas or a sparse matrix; 0 of anything else."""
    usage = getattr(value, "memory_usage", None)
    if callable(usage):
        return int(usage(index=True).sum()) if getattr(value, "ndim", 1) == 2 else int(usage(index=True))
    nbytes = getattr(value, "nbytes", None) or getattr(getattr(value, "data", None), "nbytes", 0)
    return nbytes if isinstance(nbytes, int) else 0
