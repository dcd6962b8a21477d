"""Pickles torch's tensors as views of storages, each saved once. torch is never imported to look for them."""

from __future__ import annotations

import sys
from typing import Any

from .memory import STORAGE, Blobs, Region, fill
from .problems import NotParkable, StateError

_HOOKS = "_backward_hooks"
_COPIED = 16 * 1024 * 1024  # bytes from a GPU at once


class Storage:
    """Stands in a pickle for a storage that owns its memory."""

    def __init__(self, storage: Any):
        self.storage = storage


class StorageOn:
    """Stands for a storage on the memory of an array, as torch.from_numpy makes one."""

    def __init__(self, thing: Any, offset: int, size: int):
        self.thing, self.offset, self.size = thing, offset, size


def is_tensor(thing: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, getattr(torch, "Tensor", ()))


def region(tensor: Any, pickler: Blobs) -> Region:
    return _region(tensor.untyped_storage(), pickler)


def _region(storage: Any, pickler: Blobs) -> Region:
    start = storage.data_ptr()
    key = ("storage", str(storage.device), start, storage.nbytes(), 0 if start else id(storage))
    thing = pickler.once(key, lambda: Storage(storage))
    return Region(str(storage.device) if start else f"none{id(storage)}", start, storage.nbytes(), thing, STORAGE)


def reduce(tensor: Any, pickler: Blobs) -> Any:
    """For ``reducer_override``."""
    import torch

    if tensor.grad_fn is not None:
        raise NotParkable(tensor, "the graph of its gradient cannot be moved: keep loss.item() or x.detach()")
    kind = type(tensor)
    plain = tensor.layout is torch.strided and not (tensor.is_quantized or tensor.is_conj() or tensor.is_neg())
    if kind not in (torch.Tensor, torch.nn.Parameter) or not plain or tensor.device.type not in ("cpu", "cuda"):
        return NotImplemented
    layout = (tensor.dtype, tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.requires_grad)
    state = {"grad": tensor.grad, "attributes": dict(tensor.__dict__), "hooks": getattr(tensor, _HOOKS)}
    state = {name: value for name, value in state.items() if value is not None and value != {}}
    return build, (_part(tensor.untyped_storage(), pickler), kind, *layout), state or None, None, None, finish


def _part(storage: Any, pickler: Blobs) -> Any:
    own = _region(storage, pickler)
    owner = pickler.owner(own)
    if isinstance(owner.thing, Storage) and (owner.start, owner.size) == (own.start, own.size):
        return owner.thing
    key = ("on", own.device, own.start, own.size)
    return pickler.once(key, lambda: StorageOn(owner.thing, own.start - owner.start, own.size))


def reduce_storage(storage: Any, pickler: Blobs) -> Any:
    """For torch's own UntypedStorage."""
    return same, (_part(storage, pickler),)


def reduce_part(part: Storage, pickler: Blobs) -> Any:
    import torch

    storage = part.storage
    flat = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
    return own_storage, (pickler.blob(_on_host(flat, pickler)), storage.nbytes(), str(storage.device))


def _on_host(flat: Any, pickler: Blobs) -> Any:
    import torch

    if flat.device.type == "cpu":
        return flat.numpy()
    host = torch.empty(flat.shape, dtype=flat.dtype)
    for start in () if pickler.counts else range(0, len(flat), _COPIED):
        pickler.check()
        host[start : start + _COPIED].copy_(flat[start : start + _COPIED])
    return host.numpy()


# ---- what a pickle calls: their names are part of the format ----

def same(storage: Any) -> Any:
    return storage


def own_storage(data: Any, size: int, device: str) -> Any:
    import torch

    flat = torch.empty(size, dtype=torch.uint8)
    fill(flat.numpy(), data)
    return flat.to(_present(device)).untyped_storage()


def _present(device: str) -> str:
    """The same device, if this worker has it."""
    import torch

    if device == "cpu" or int(device.partition(":")[2] or 0) < torch.cuda.device_count():
        return device
    there = torch.cuda.device_count()
    raise StateError(f"It was on {device}, and this worker has {there} GPU{'' if there == 1 else 's'}. "
                     "Ask for as many GPUs as before.")


def as_bytes(storage: Any) -> Any:
    import torch

    return torch.empty(0, dtype=torch.uint8).set_(storage).numpy()


def build(storage: Any, kind: Any, dtype: Any, offset: int, shape: Any, stride: Any, requires_grad: bool) -> Any:
    import torch

    tensor = torch.empty(0, dtype=dtype, device=storage.device).set_(storage, offset, shape, stride)
    if kind is not torch.Tensor:
        tensor = tensor.as_subclass(kind)
    return tensor.requires_grad_(requires_grad)


def finish(tensor: Any, state: dict[str, Any]) -> None:
    tensor.grad = state.get("grad")
    tensor.__dict__.update(state.get("attributes", {}))
    if "hooks" in state:
        setattr(tensor, _HOOKS, state["hooks"])
