"""``pounce.empty``: arrays whose memory a worker on the same machine can have as it is."""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING, Any

from .. import _core

if TYPE_CHECKING:
    import numpy
    from numpy.typing import DTypeLike

    from .ref import Ref

# What of a memory was scattered already, by how the array lies in it; a Ref lives as long as somebody has it.
_scattered: weakref.WeakKeyDictionary[_core.SharableMemory, weakref.WeakValueDictionary[tuple[Any, ...], Ref]] = weakref.WeakKeyDictionary()


def empty(shape: int | tuple[int, ...], dtype: DTypeLike = float) -> numpy.ndarray[Any, Any]:
    """A new C-ordered array, like ``numpy.empty``, that ``Client.scatter`` hands to workers of this machine without a copy.

    Fill it in place, then scatter it: scattering takes microseconds, whatever its size, and makes the array read-only here,
    since the workers see the same memory (views of it that were made before stay writable: do not write through them). To
    go on writing, copy it. Workers of other machines get its bytes, as of any array. Its pages are zero until they are written.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : numpy dtype, float64 unless told
        One without Python objects.

    Raises
    ------
    MemoryError
        There is no room for it.
    ValueError
        The dtype holds Python objects, or a size is negative.

    Examples
    --------
    >>> images = pounce.empty((1000, 28, 28), "float32")
    >>> images[:] = 1
    >>> client.submit(float_sum, client.scatter(images)).result()
    784000.0
    """
    import numpy as np

    kind = np.dtype(dtype)
    if kind.hasobject:
        raise ValueError(f"an array of {kind} refers to Python objects, which other processes cannot see")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(size < 0 for size in sizes):
        raise ValueError("negative dimensions are not allowed")
    memory = _core.SharableMemory(math.prod(sizes) * kind.itemsize)
    return np.ndarray(sizes, kind, buffer=memory)  # type: ignore[arg-type]  # any buffer will do


class Scattered:
    """One array that was made by empty(), about to be scattered."""

    def __init__(self, memory: _core.SharableMemory, array: Any):
        self._array = array
        self._place = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)
        self._refs = _scattered.setdefault(memory, weakref.WeakValueDictionary())

    @property
    def ref(self) -> Ref | None:
        """Of the last time it was scattered."""
        return self._refs.get(self._place)

    def keep(self, ref: Ref) -> Ref:
        self._array.flags.writeable = False  # after it was pickled: a task's use of it is writable
        self._refs[self._place] = ref
        return ref


def scattered(value: Any) -> Scattered | None:
    """None: not an array of empty(), or a view of one whose array can still be written."""
    if type(value).__module__ != "numpy" or type(value).__name__ != "ndarray":
        return None
    base = value
    while type(base) is type(value):
        if base is not value and base.flags.writeable:
            return None
        base = base.base
    return Scattered(base, value) if isinstance(base, _core.SharableMemory) else None
