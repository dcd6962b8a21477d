"""Pickles pandas' frames with their knowledge of shared memory, so that a write to one still copies first."""

from __future__ import annotations

import importlib
from typing import Any

from .memory import Blobs

_INTERNALS = "pandas._libs.internals"


def reduce_block(block: Any, _: Blobs) -> Any:
    return make_block, (type(block), block.values, block.mgr_locs.indexer, block.ndim, block.refs)


def reduce_series(manager: Any, _: Blobs) -> Any:
    return make_manager, (type(manager), manager.blocks[0], manager.axes[0])


def reduce_refs(refs: Any, _: Blobs) -> Any:
    return type(refs), ()


def reduce_index(index: Any, _: Blobs) -> Any:
    refs = index.__dict__.get("_references")  # a RangeIndex has no memory to share
    if refs is None:
        return NotImplemented
    make, arguments = index.__reduce__()[:2]
    return make_index, (make, arguments, refs)


def make_block(kind: Any, values: Any, places: Any, dimensions: int, refs: Any) -> Any:
    placement = importlib.import_module(_INTERNALS).BlockPlacement(places)
    return kind(values, placement=placement, ndim=dimensions, refs=refs)


def make_manager(kind: Any, block: Any, axis: Any) -> Any:
    return kind(block, axis)


def make_index(make: Any, arguments: Any, refs: Any) -> Any:
    index = make(*arguments)
    setattr(index, "_references", refs)  # noqa: B010  (pandas has no public name for it)
    refs.add_index_reference(index)
    return index
