"""``Snapshot``: a value as it is now, identified by its content, although its owner may change it in place later."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from .. import _core
from . import serialize, sharable_array
from .file_regions import mapping_of


class Snapshot(NamedTuple):
    key: Hashable               # the same for equal values, as long as `keeps` lives
    keeps: Any
    made: Callable[[], Any]     # returns the value, which does not change any more


def snapshot_of(value: Any) -> Snapshot | None:
    """None: it cannot be pickled, or has Refs in it.

    Blocks until it is hashed (about 50 ms for a GiB). ``made`` copies it, except for two kinds of array: a file's,
    which may be larger than memory and travels by its name, and one of ``pounce.empty``, which is read-only once
    scattered.
    """
    if _has_guards(value):
        return Snapshot(id(value), value, lambda: value)
    try:
        data, buffers, objects = serialize.dumps(value)
    except Exception:
        return None
    if objects:
        return None
    views = [buffer.raw() for buffer in buffers]
    content = _core.digest(b"".join([_core.digest(data), *map(_core.digest, views)]))
    return Snapshot(content, None, lambda: serialize.loads(data, [bytearray(view) for view in views]))


def _has_guards(value: Any) -> bool:
    if not hasattr(value, "__array_interface__"):
        return False
    return mapping_of(value) is not None or sharable_array.scattered(value, weakref.WeakKeyDictionary()) is not None
