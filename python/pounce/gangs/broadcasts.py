"""The values that a gang sent to its ranks' devices, and the groups that the ranks form for that. The client's side."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import _core, errors
from .._common.rank import CAME, Order, RankSetup
from .._engine.session import Session
from .._engine.submission import parts_for_device

_JOIN_S = 120.0  # a group's first steps open devices and make connections between them
_SLOWEST = 50e6  # bytes per second, on the slowest path


@errors.public
class Broadcast:
    """A value that lies on the devices of all ranks of a gang. Made by ``Gang.scatter(value, broadcast=True)``; an
    argument of its ``run``. The devices' memory is freed by the next broadcast after the last use of this, or with the
    gang's lease.
    """

    def __init__(self, key: str, nbytes: int, device: str):
        self.key, self.nbytes, self.device = key, nbytes, device

    def __repr__(self) -> str:
        return f"<pounce.Broadcast {self.key[:8]} of {self.nbytes:,} bytes on {self.device} of each rank>"


class Value(NamedTuple):
    pickle: bytes
    buffers: list[Any]  # numpy.ndarray of bytes
    device: str

    @property
    def nbytes(self) -> int:
        return len(self.pickle) + sum(buffer.nbytes for buffer in self.buffers)


def value_of(value: Any, device: str) -> Value:
    """The value in its sent form. Raises what scattering it raises."""
    import numpy

    data, buffers = parts_for_device(value, device)
    return Value(data, [numpy.frombuffer(buffer.raw(), "u1") for buffer in buffers], device)


class Broadcasts:
    """The broadcasts of one gang. One thread at a time, except for `came`."""

    def __init__(self, session: Session):
        self._alive: weakref.WeakSet[Broadcast] = weakref.WeakSet()
        self._groups: dict[tuple[str, tuple[str, ...]], str] = {}  # by the device and the processes that joined
        self._came: dict[str, dict[int, tuple[int, str]]] = {}  # by the group: each rank's last step, and its device
        self._session = session

    def group(self, device: str, places: Sequence[RankSetup], new_group: Callable[[], str]) -> str:
        """The group of these processes: a known one, or a new one."""
        _of_sessions.setdefault(self._session, weakref.WeakSet()).add(self)
        self._session.takers.setdefault(CAME, _rank_came)
        of = device, tuple(place.process for place in places)
        if of not in self._groups:
            # The groups of other processes are over.
            self._groups = {known: name for known, name in self._groups.items() if known[1] == of[1]}
            self._groups[of] = new_group()
            self._came = {name: self._came.get(name, {}) for name in self._groups.values()}
        return self._groups[of]

    def order(self, value: Value, group: str) -> Order:
        alive = frozenset((*(each.key for each in self._alive), *self._groups.values()))
        return Order(os.urandom(16).hex(), value.device, group, value.pickle,
                     tuple(buffer.nbytes for buffer in value.buffers), _JOIN_S + value.nbytes / _SLOWEST, alive)

    def done(self, order: Order, value: Value) -> Broadcast:
        broadcast = Broadcast(order.key, value.nbytes, value.device)
        self._alive.add(broadcast)
        return broadcast

    def failed(self, group: str, error: BaseException, ranks: int) -> BaseException:
        """The error to raise. A timeout names the ranks that did not come."""
        came = self._came.get(group, {})
        shared = _shared(came)
        self._groups = {known: name for known, name in self._groups.items() if name != group}
        if shared is not None:
            return shared
        if not isinstance(error, errors.Timeout):
            return error
        last = max((step for step, _ in came.values()), default=0)
        missing = [rank for rank in range(ranks) if came.get(rank, (0, ""))[0] < last]
        if not missing:
            return error
        names = ", ".join(map(str, missing))
        step = "join the group of devices" if last == 1 else "the broadcast"
        text = f"rank {names} of {ranks} did not come to {step} in time"
        return errors.Timeout(text, "pouncectl logs shows what its node says; scatter it again when it runs.",
                              {**error.context, "missing": names})

    def came(self, group: str, rank: int, step: int, uuid: str) -> None:
        if group in self._came:
            self._came[group][rank] = step, uuid


def _shared(came: dict[int, tuple[int, str]]) -> errors.PounceError | None:
    """The error for two ranks with one GPU, which is clearer than NCCL's."""
    try:
        _core.one_rank_each([uuid or str(rank) for rank, (_, uuid) in sorted(came.items())])
    except errors.BadRequest as error:
        return error
    return None


_of_sessions: weakref.WeakKeyDictionary[Session, weakref.WeakSet[Broadcasts]] = weakref.WeakKeyDictionary()


def _rank_came(session: Session, task: str, content: dict[str, Any], buffers: list[Any], /) -> None:
    for each in _of_sessions.get(session, ()):
        each.came(content["group"], content["rank"], content["step"], content["uuid"])
