"""The worker's side of ``Gang.scatter(broadcast=True)``: one rank sends a value from its device to the others'."""

from __future__ import annotations

import json
from typing import Any

from .. import _core, errors
from .._common import device_pickle
from .._common.rank import CAME, Order, RankSetup
from . import interpreter, rank_run

# By the order's key: the value's pickle, and the memory of its arrays on our device.
_values: dict[str, tuple[bytes, list[Any]]] = {}
_groups: dict[str, _Group] = {}  # working groups that we have joined


def new_group(device: str) -> str:
    """The id of a group that all ranks will join. Runs on the worker, as an ordinary task."""
    return interpreter.core.devices.new_group(device)


def receive(place: RankSetup, order: Order, buffers: list[Any] | None) -> str:
    """Puts the value on this rank's device, and returns the device's name. Runs on the worker, as an ordinary task.
    `buffers`: the arrays of bytes, on rank 0, which sends them to the others.
    """
    with rank_run.as_rank(place):
        for known in _values, _groups:
            for name in known.keys() - order.alive:
                del known[name]
        device = _own(place, order.device)
        try:
            group = _groups.get(order.group) or _Group(place, order, device)
            memory = _memory(order, device, buffers)
            for one in memory:
                group.broadcast(one, order.limit)
        except BaseException:
            _groups.pop(order.group, None)  # the group has ended, for all ranks
            raise
        _values[order.key] = order.pickle, memory
        return device


class _Group:
    """Blocks until all ranks have joined."""

    def __init__(self, place: RankSetup, order: Order, device: str):
        self._name, self._rank, self._steps = order.group, place.rank.rank, 0
        self._uuid = _uuid(device)
        self._communicator = _core.Communicator(interpreter.core.devices, device, order.group, self._rank,
                                                place.rank.world_size)
        self._came()
        self._communicator.join(order.limit)
        _groups[order.group] = self

    def broadcast(self, memory: Any, limit: float) -> None:
        self._came()
        self._communicator.broadcast(memory, 0, limit)

    def _came(self) -> None:
        """Tells the gang's client, which can then say which rank is missing."""
        self._steps += 1
        content = {"group": self._name, "rank": self._rank, "step": self._steps, "uuid": self._uuid}
        interpreter.core.show(json.dumps({"type": CAME, "content": content}).encode(), [])


def _own(place: RankSetup, device: str) -> str:
    """This rank's device. If its libraries see the devices of all ranks of the node, its local rank selects one."""
    devices = interpreter.core.devices
    if device == "cuda" and "CUDA_VISIBLE_DEVICES" in place.environment and len(devices.visible(device)) > 1:
        return f"cuda:{place.rank.local_rank}"
    return device


def _uuid(device: str) -> str:
    """Empty: host memory, which several ranks may use."""
    kind, _, number = device.partition(":")
    return interpreter.core.devices.visible(device)[int(number or 0)] if kind == "cuda" else ""


def _memory(order: Order, device: str, buffers: list[Any] | None) -> list[Any]:
    devices, holder = interpreter.core.devices, f"broadcast {order.key[:8]}"
    if buffers is not None:
        return [devices.put(device, buffer, holder) for buffer in buffers]
    return [devices.allocate(device, size, holder) for size in order.sizes]


class Held:
    """Stands for a broadcast value in the arguments of a run."""

    def __init__(self, key: str):
        self._key = key

    def __reduce__(self) -> Any:
        return held, (self._key,)


def held(key: str) -> Any:
    """The value. Called on the worker, inside loads()."""
    if key not in _values:
        raise errors.LostError(f"what was broadcast is not on this worker ({interpreter.node}) any more: "
                               "another process took its place",
                               "Scatter it again with gang.scatter(..., broadcast=True).")
    return device_pickle.loads(*_values[key])
