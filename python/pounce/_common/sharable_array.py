"""``pounce.empty``: arrays whose memory a worker on the same machine can share."""

from __future__ import annotations

import math
import operator
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, SupportsIndex

from .. import _core

if TYPE_CHECKING:
    import numpy
    from numpy.typing import DTypeLike

    from .ref import Ref

_SMALL = 256 * 1024  # a smaller one is copied anyway, and costs no descriptor
_read_only: weakref.WeakSet[_core.SharableMemory] = weakref.WeakSet()  # memory that was scattered

# For each memory, what one session has scattered of it, by the array's layout. The Refs live while they are in use.
Known = weakref.WeakKeyDictionary[_core.SharableMemory, "weakref.WeakValueDictionary[tuple[Any, ...], Ref]"]


def empty(shape: SupportsIndex | Iterable[SupportsIndex], dtype: DTypeLike = float) -> numpy.ndarray[Any, Any]:
    """A new C-ordered array, like ``numpy.empty``, that ``Client.scatter`` shares with workers of this machine.

    Fill it in place, then scatter it: scattering copies nothing, takes microseconds at any size, and makes the array
    read-only here, since the workers see the same memory (views made before stay writable: do not write through them).
    To go on writing, copy it. Workers of other machines get its bytes, as of any array. Its pages are zero until they
    are written. A process that is forked from this one shares it too: both see what either writes.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : numpy dtype, by default float64
        One without Python objects.

    Raises
    ------
    MemoryError
        There is not enough memory for it.
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
    sizes = tuple(map(operator.index, shape)) if isinstance(shape, Iterable) else (operator.index(shape),)
    if any(size < 0 for size in sizes):
        raise ValueError("negative dimensions are not allowed")
    nbytes = math.prod(sizes) * kind.itemsize
    if nbytes < _SMALL:
        return np.zeros(sizes, kind)
    memory = _core.SharableMemory(nbytes)
    return np.ndarray(sizes, kind, buffer=memory)  # type: ignore[arg-type]  # any buffer will do


class Scattered:
    """One array made by empty(), about to be scattered."""

    def __init__(self, memory: _core.SharableMemory, array: Any, known: Known):
        self._array, self._memory = array, memory
        self._place = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)
        self._refs = known.setdefault(memory, weakref.WeakValueDictionary())

    @property
    def ref(self) -> Ref | None:
        """The Ref of the last time it was scattered."""
        return self._refs.get(self._place)

    def keep(self, ref: Ref) -> Ref:
        self._array.flags.writeable = False  # not before it is pickled: a task gets a writable array
        self._refs[self._place] = ref
        _read_only.add(self._memory)
        return ref


def scattered(value: Any, known: Known) -> Scattered | None:
    """None: it is not an array of empty(), or a view of one that is writable, or one that was made writable again."""
    if type(value).__module__ != "numpy" or type(value).__name__ != "ndarray":
        return None
    base = value
    while type(base) is type(value):
        if base is not value and base.flags.writeable:
            return None
        base = base.base
    if not isinstance(base, _core.SharableMemory) or (value.flags.writeable and base in _read_only):
        return None
    return Scattered(base, value, known)
