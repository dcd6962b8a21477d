"""Pickles numpy's arrays: an owner of memory comes back as an owner, a view as a view of its owner."""

from __future__ import annotations

import array as standard
from typing import Any

from . import tensor_pickling
from .memory import EXPORTER, OWNER, Blobs, Region, fill

_PLAIN = "biufcSUVmM"  # kinds of numbers and texts whose bytes say everything
_OWN = ("matrix", "recarray", "MaskedArray")  # numpy's kinds of array that are a plain one with attributes


def reduce(array: Any, pickler: Blobs) -> Any:
    """For ``reducer_override``."""
    import numpy

    kind = type(array)
    if kind is not numpy.ndarray:
        if not _has_own_way(kind, numpy.ndarray):
            return as_kind, (array.view(numpy.ndarray), kind, dict(array.__dict__))
        return NotImplemented
    if ((array.dtype.kind not in _PLAIN and array.dtype != object)
            or (array.dtype.kind == "V" and array.dtype.hasobject)):
        return NotImplemented
    owner = pickler.owner(region(array, pickler))
    if owner.thing is array:
        return _objects(array) if array.dtype == object else _numbers(array, pickler)
    layout = (address(array) - owner.start, array.shape, array.strides, array.dtype, array.flags.writeable)
    return view, (owner.thing, *layout)


def _has_own_way(kind: type, plain: type) -> bool:
    """Whether a subclass defines itself how it is pickled."""
    if kind.__name__ in _OWN and kind.__module__.startswith("numpy"):
        return False
    bases = kind.__mro__[: kind.__mro__.index(plain)]
    return any("__reduce__" in base.__dict__ or "__reduce_ex__" in base.__dict__ for base in bases)


def region(array: Any, pickler: Blobs) -> Region:
    """The memory that `array` lies in, at the end of its ``base`` chain."""
    import numpy

    root = array
    while isinstance(root.base, numpy.ndarray):
        root = root.base
    base = root.base.obj if isinstance(root.base, memoryview) else root.base
    if isinstance(base, (bytes, bytearray, standard.array)):
        data = numpy.frombuffer(base, numpy.uint8)
        return Region("cpu", address(data), data.nbytes, base, EXPORTER)
    if tensor_pickling.is_tensor(base):
        return tensor_pickling.region(base, pickler)
    if not is_dense(root):
        root = array if base is None else numpy.array(array)
    plain = root if type(root) is numpy.ndarray else pickler.once(("plain", id(root)), lambda: root.view(numpy.ndarray))
    return Region("cpu", address(plain), plain.nbytes, plain, OWNER if base is None else 0)


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def _axes(array: Any) -> tuple[int, ...] | None:
    """The order of axes in which the memory is contiguous; None: their own."""
    if array.flags.c_contiguous:
        return None
    return tuple(sorted(range(array.ndim), key=lambda axis: -array.strides[axis]))


def is_dense(array: Any) -> bool:
    """Whether each byte between its first and its last is its own."""
    axes = _axes(array)
    return bool((array if axes is None else array.transpose(axes)).flags.c_contiguous)


def flat(array: Any) -> Any:
    """The memory of a dense array, in the order in which it lies there."""
    axes = _axes(array)
    return (array if axes is None else array.transpose(axes)).reshape(-1)


def as_bytes(thing: Any) -> Any:
    """uint8 on the memory of an array that owns it, of a bytearray or of a storage."""
    import numpy

    if isinstance(thing, numpy.ndarray):
        return flat(thing).view(numpy.uint8)
    if isinstance(thing, (bytes, bytearray, standard.array)):
        return numpy.frombuffer(thing, numpy.uint8)
    return tensor_pickling.as_bytes(thing)


def _numbers(array: Any, pickler: Blobs) -> Any:
    return numbers, (pickler.blob(as_bytes(array)), array.dtype, array.shape, _axes(array), array.flags.writeable)


def _objects(array: Any) -> Any:
    state = (flat(array).tolist(), array.flags.writeable)
    return objects, (array.dtype, array.shape, _axes(array)), state, None, None, set_objects


def reduce_storage(part: tensor_pickling.StorageOn, pickler: Blobs) -> Any:
    """For a tensor on an array's memory."""
    return storage_on, (part.thing, part.offset, part.size)


# ---- what a pickle calls: their names are part of the format ----

def numbers(data: Any, dtype: Any, shape: Any, axes: Any, writeable: bool) -> Any:
    array = _empty(dtype, shape, axes)
    fill(as_bytes(array), data)
    array.flags.writeable = writeable
    return array


def objects(dtype: Any, shape: Any, axes: Any) -> Any:
    return _empty(dtype, shape, axes)


def set_objects(array: Any, state: Any) -> None:
    items, writeable = state
    memory = flat(array)
    for place, item in enumerate(items):  # one by one: an item may be a sequence itself
        memory[place] = item
    array.flags.writeable = writeable


def view(thing: Any, offset: int, shape: Any, strides: Any, dtype: Any, writeable: bool) -> Any:
    import numpy

    locked = writeable and isinstance(thing, numpy.ndarray) and not thing.flags.writeable
    if locked:  # the view was made before its owner was locked
        thing.flags.writeable = True
    array = numpy.ndarray(shape, dtype, flat(thing) if dtype.hasobject else as_bytes(thing), offset, strides)
    if locked:
        thing.flags.writeable = False
    if not writeable:
        array.flags.writeable = False
    return array


def as_kind(array: Any, kind: Any, attributes: dict[str, Any]) -> Any:
    made = array.view(kind)
    made.__dict__.update(attributes)
    return made


def _empty(dtype: Any, shape: Any, axes: Any) -> Any:
    import numpy

    if axes is None:
        return numpy.empty(shape, dtype)
    back = sorted(range(len(axes)), key=lambda place: axes[place])
    pattern = numpy.empty([shape[axis] for axis in axes], dtype).transpose(back)
    return numpy.empty_like(pattern, order="K")  # an owner, which a transposed array is not


def storage_on(thing: Any, offset: int, size: int) -> Any:
    import torch

    memory = as_bytes(thing)[offset : offset + size]
    locked = not memory.flags.writeable and memory.base is not None and isinstance(thing, type(memory))
    if not locked:
        return torch.from_numpy(memory).untyped_storage()
    thing.flags.writeable = True  # torch has no read-only memory; it was made before the array was locked
    try:
        return torch.from_numpy(as_bytes(thing)[offset : offset + size]).untyped_storage()
    finally:
        thing.flags.writeable = False
