"""Arrays and tensors hand over their memory where their own pickling would copy it into the pickle.

numpy does so itself only for contiguous arrays of plain numbers. torch never does, and its pickles of tensors that
share memory no longer share it.
"""

from __future__ import annotations

import collections
import pickle
import sys
import threading
from collections.abc import Callable
from typing import Any, ClassVar

from . import by_value
from .ref import pickling

_SPARSE = 4    # an array in a file that uses less than one in so many bytes of its span is copied out
_ALIGNED = 16  # alignment that torch's kernels may count on, and that a frame does not promise

_reducers: dict[type, Callable[[Any], Any]] = {}
_current = threading.local()  # .storages: those of the current pickling, so that shared memory is pickled once


class Pickler(by_value.Pickler):
    """With reducers for the types below. One per object."""

    dispatch_table: ClassVar[Any] = collections.ChainMap(_reducers, *by_value.Pickler.dispatch_table.maps)

    def brings(self, cls: type) -> bool:
        return pickling.submitted

    def dump(self, obj: Any) -> Any:
        know_imported(_reducers, _array, _tensor)
        outer = getattr(_current, "storages", None)
        _current.storages = {}
        try:
            return super().dump(obj)
        finally:
            _current.storages = outer


def know_imported(reducers: dict[type, Callable[[Any], Any]], array: Callable[[Any], Any],
                  tensor: Callable[[Any], Any]) -> None:
    """Registers the reducers for numpy and torch, if this process has imported them by now."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and hasattr(numpy, "memmap"):
        reducers.setdefault(numpy.ndarray, array)
        reducers.setdefault(numpy.memmap, array)
    if torch is not None and hasattr(torch, "UntypedStorage"):
        reducers.setdefault(torch.Tensor, tensor)


# ---- numpy ----

def _array(array: Any) -> Any:
    import numpy

    plain = numpy.asarray(array)  # a memmap's file is not on the other machine
    if plain.dtype.hasobject:
        return plain.__reduce_ex__(5)
    if plain.dtype.kind in "mM":  # dates have no buffer of their own
        return _dates, (numpy.ascontiguousarray(plain).view("i8").reshape(plain.shape), plain.dtype)
    if not plain.flags.forc:
        whole = _lies_in_file(plain) if pickling.by_file else None
        if whole is not None:
            return _strided, (whole, plain.dtype, plain.shape, plain.strides, _address(plain) - _address(whole))
        plain = numpy.ascontiguousarray(plain)
    return plain.__reduce_ex__(5)


def _lies_in_file(array: Any) -> Any:
    """The file's bytes from the array's first to its last: cheaper to name than to copy. None: it is in no file."""
    import numpy

    from .file_regions import mapping_of

    mapping = mapping_of(array)
    if mapping is None or not array.size:
        return None
    steps = [(length - 1) * step for length, step in zip(array.shape, array.strides, strict=True)]
    whole = numpy.frombuffer(mapping, numpy.uint8)
    first = _address(array) - _address(whole) + sum(step for step in steps if step < 0)
    length = sum(map(abs, steps)) + array.itemsize
    return whole[first : first + length] if length <= array.nbytes * _SPARSE else None


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def _strided(whole: Any, dtype: Any, shape: Any, strides: Any, offset: int) -> Any:
    import numpy

    return numpy.ndarray(shape, dtype, whole, offset, strides)


def _dates(numbers: Any, dtype: Any) -> Any:
    return numbers.view(dtype)


# ---- torch ----

class _Storage:
    """The memory of one or more tensors."""

    def __init__(self, storage: Any):
        self._storage = storage

    def __reduce__(self) -> Any:
        import torch

        array: Any = torch.empty(0, dtype=torch.uint8).set_(self._storage).numpy()
        return _storage, (pickle.PickleBuffer(array),)


def _tensor(tensor: Any) -> Any:
    import torch

    if tensor.device.type != "cpu" and pickling.to_host:
        tensor = tensor.cpu()
    plain = tensor.device.type == "cpu" and tensor.layout is torch.strided and not tensor.is_quantized
    if not plain or tensor.is_conj() or tensor.is_neg() or tensor.__dict__:
        return tensor.__reduce_ex__(5)
    storage = tensor.untyped_storage()
    shared = _Storage(storage)
    if storage.nbytes():
        shared = _current.storages.setdefault(storage.data_ptr(), shared)
    return _view, (shared, tensor.dtype, tensor.storage_offset(), tuple(tensor.shape), tensor.stride(),
                   tensor.requires_grad)


def _storage(buffer: Any) -> Any:
    import torch

    if memoryview(buffer).nbytes == 0:
        return torch.UntypedStorage(0)
    numbers = torch.frombuffer(buffer, dtype=torch.uint8)
    return (numbers if numbers.data_ptr() % _ALIGNED == 0 else numbers.clone()).untyped_storage()


def _view(storage: Any, dtype: Any, offset: int, shape: tuple[int, ...], stride: tuple[int, ...],
          requires_grad: bool) -> Any:
    import torch

    return torch.empty(0, dtype=dtype).set_(storage, offset, shape, stride).requires_grad_(requires_grad)
