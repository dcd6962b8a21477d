"""A value whose arrays go to a device of the worker: the pickle names them by number and leaves out their memory."""

from __future__ import annotations

import collections
import io
import pickle
import threading
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ..errors import BadRequest
from . import arrays
from .device_array import KINDS, DeviceArray
from .ref import meanwhile, pickling

_DEVICES = "Devices are \"cuda\", \"cuda:1\" for a worker's second GPU, and \"host\"."

_current = threading.local()  # .buffers: those of the current pickling; .memory: that of the current unpickling
_reducers: dict[type, Callable[[Any], Any]] = {}


class _Pickler(arrays.Pickler):
    dispatch_table: ClassVar[Any] = collections.ChainMap(_reducers, *arrays.Pickler.dispatch_table.maps)

    def brings(self, cls: type) -> bool:
        return True


def dumps(value: Any, device: str) -> tuple[bytes, list[pickle.PickleBuffer], list[str]]:
    """As ``serialize.dumps``, with the memory of each array in `buffers`, and nothing else there. Raises BadRequest if
    the value has no array, or one of a dtype that no device has.
    """
    arrays.know_imported(_reducers, _array, _tensor)
    file = io.BytesIO()
    ids: dict[str, int] = {}
    buffers: list[pickle.PickleBuffer] = []
    with meanwhile(pickling, ids=ids, by_file=False), meanwhile(_current, buffers=buffers):
        _Pickler(file, protocol=5).dump((device, value))
    if not buffers:
        raise BadRequest(f"there is no array in this {type(value).__name__} that could lie on a device",
                         "device= is for numpy arrays and CPU tensors, at any depth.")
    return file.getvalue(), buffers, list(ids)


def loads(data: Any, memory: Sequence[Any]) -> Any:
    """On the worker: `memory` holds the buffers on the device."""
    with meanwhile(_current, memory=memory):
        return pickle.loads(data)[1]


def check_name(device: Any) -> str:
    """Returns `device` if it names one."""
    kind, _, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    if kind not in ("cuda", "host") or (":" in str(device) and not number.isdecimal()):
        raise BadRequest(f"there is no device {device!r}", _DEVICES)
    return str(device)


def _kept(flat: Any) -> int:
    _current.buffers.append(pickle.PickleBuffer(flat))
    return len(_current.buffers) - 1


def _array(array: Any) -> Any:
    import numpy

    plain: Any = numpy.asarray(array)
    if (plain.dtype.kind not in KINDS or not plain.dtype.isnative
            or plain.dtype.char in "gG"):  # long doubles, which only this processor has
        raise BadRequest(f"an array of {plain.dtype} cannot lie on a device",
                         "Devices have booleans and numbers, in this machine's byte order.")
    if not plain.flags.forc:
        plain = numpy.ascontiguousarray(plain)
    order = "C" if plain.flags.c_contiguous else "F"
    return _device_array, (_kept(plain.reshape(-1, order=order).view("u1")), plain.dtype.str, plain.shape, order)


def _device_array(index: int, dtype: str, shape: tuple[int, ...], order: str) -> DeviceArray:
    return DeviceArray(_current.memory[index], dtype, shape, order)


def _tensor(tensor: Any) -> Any:
    import torch

    if tensor.device.type != "cpu" or tensor.layout is not torch.strided or tensor.is_quantized:
        raise BadRequest(f"a tensor on {tensor.device} with layout {tensor.layout} cannot be sent to a device",
                         "Scatter a dense CPU tensor.")
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    flat: Any = plain.reshape(-1).view(torch.uint8).numpy()
    return _device_tensor, (_kept(flat), plain.dtype, tuple(plain.shape), tensor.requires_grad)


def _device_tensor(index: int, dtype: Any, shape: tuple[int, ...], requires_grad: bool) -> Any:
    import torch.utils.dlpack

    memory = _current.memory[index]
    if not memory.nbytes:
        where = "cpu" if memory.device.startswith("host") else memory.device
        return torch.empty(shape, dtype=dtype, device=where, requires_grad=requires_grad)
    numbers = torch.utils.dlpack.from_dlpack(DeviceArray(memory, "|u1", (memory.nbytes,)))
    return numbers.view(dtype).view(shape).requires_grad_(requires_grad)
