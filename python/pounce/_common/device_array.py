"""``DeviceArray``: an array that lies on a device of a worker."""

from __future__ import annotations

import math
import pickle
from typing import Any

from ..errors import public

# DLPack's code for each kind of numpy's, https://dmlc.github.io/dlpack/latest/c_api.html
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
KINDS = frozenset(_CODES)
_CPU, _CUDA = 1, 2  # likewise


@public
class DeviceArray:
    """An array on a device: what a task gets for a handle of ``Client.scatter(array, device=…)``. Frameworks use it in
    place, without a copy: ``torch.from_dlpack(a)``, ``cupy.from_dlpack(a)``, ``jax.dlpack.from_dlpack(a)``, and on host
    memory ``numpy.from_dlpack(a)``.

    All tasks of the worker that take the handle share this memory: read it, and change a copy
    (``torch.from_dlpack(a).clone()``). The memory lives as long as the array and the arrays made from it. A task that
    returns it sends it as a numpy array.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    strides : tuple of int
        In bytes, as in numpy. C order, or Fortran order if the scattered array was in Fortran order.
    device : str
        "cuda:0", "host:0".
    nbytes : int

    Examples
    --------
    >>> def total(numbers):
    ...     import numpy
    ...     return float(numpy.from_dlpack(numbers).sum())
    >>> import numpy
    >>> client.submit(total, client.scatter(numpy.ones(1000), device="host")).result()
    1000.0
    """

    __slots__ = ("__weakref__", "_dtype", "_memory", "_order", "shape")

    def __init__(self, memory: Any, dtype: str, shape: tuple[int, ...], order: str = "C"):
        self._memory, self._dtype, self.shape, self._order = memory, dtype, shape, order

    @property
    def dtype(self) -> Any:
        import numpy

        return numpy.dtype(self._dtype)

    @property
    def itemsize(self) -> int:
        return int(self._dtype[2:])

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(step * self.itemsize for step in self._steps())

    @property
    def device(self) -> str:
        return str(self._memory.device)

    @property
    def nbytes(self) -> int:
        return int(self._memory.nbytes)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<pounce.DeviceArray {self._dtype[1:]} {self.shape} on {self.device}>"

    def numpy(self) -> Any:
        """A copy in this process's own memory. Blocks for the copy.

        Raises
        ------
        DeviceFailed
        """
        import numpy

        array: Any = numpy.empty(self.shape, self._dtype, "F" if self._order == "F" else "C")
        self._memory.read_into(array.reshape(-1, order="A"))
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise ValueError("what lies on a device is numpy's only as a copy; "
                             "numpy.from_dlpack takes host memory over as it is")
        array = self.numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, _, which = self.device.partition(":")
        return (_CUDA, int(which)) if kind == "cuda" else (_CPU, 0)

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None,
                   copy: bool | None = None) -> Any:
        """As the array API says. `stream` has no effect: the data is there for every stream before a task begins."""
        if copy:
            raise BufferError("a DeviceArray is handed over as it is; copy what was made of it")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"this array lies on {self.device}, and is handed over there only")
        return self._memory.dlpack(self.shape, self._steps(), _CODES[self._dtype[1]], 8 * self.itemsize)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html, version 3, read-only."""
        if not self.device.startswith("cuda"):
            raise AttributeError("this array lies in host memory")
        return {"version": 3, "shape": self.shape, "typestr": self._dtype, "data": (self._memory.address, True),
                "strides": self.strides, "stream": None}

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Arrives as a numpy array."""
        flat = self.numpy().reshape(-1, order="A").view("u1")
        return _from_host, (pickle.PickleBuffer(flat), self._dtype, self.shape, self._order)

    def _steps(self) -> tuple[int, ...]:
        """Strides, in elements."""
        lengths = self.shape if self._order == "F" else self.shape[::-1]
        steps = [math.prod(max(length, 1) for length in lengths[:axis]) for axis in range(len(lengths))]
        return tuple(steps if self._order == "F" else steps[::-1])


def _from_host(buffer: Any, dtype: str, shape: tuple[int, ...], order: str) -> Any:
    import numpy

    flat: Any = numpy.frombuffer(buffer, dtype)
    return flat.reshape(shape, order=order)
