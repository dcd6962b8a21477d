"""The worker's side of a gang's run: sockets that listen before ranks know them, the rank's environment, its end."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .. import errors
from .._common import random_streams
from .._common.random_streams import Streams
from .._common.rank import Offer, Rank, RankSetup
from . import interpreter, mlflow_runs, torch_store
from .launch_variables import is_of_a_launch

_DEVICES = "CUDA_VISIBLE_DEVICES"

_process = os.urandom(8).hex()  # this interpreter's id: a replacement has no socket open
_own: socket.socket | None = None
_store: socket.socket | None = None
_current: Rank | None = None


def offer() -> Offer:
    """Opens this worker's sockets for the next run. Runs on the worker, as an ordinary task."""
    global _own, _store
    close()
    address = _address()
    _own, _store = _listening(address), _listening(address)
    return Offer(_process, interpreter.node, address, _interface_of(address), _own.getsockname()[1],
                 _store.getsockname()[1], interpreter.visible_devices or "")


def run(place: RankSetup, streams: Streams | None, function: Callable[..., Any], kwargs: dict[str, Any],
        *args: Any) -> Any:
    """Calls the function as that rank, which draws from these streams. Runs on the worker, as an ordinary task."""
    if streams is not None:
        random_streams.begin(streams)
    with as_rank(place), mlflow_runs.only_from_rank_0(place.rank.rank), torch_store.one_group():
        try:
            return function(*args, **kwargs)
        finally:
            interpreter.hear_reports()  # while it is this rank that reports


def command(place: RankSetup, environment: dict[str, str], words: list[str]) -> int | None:
    """Runs a program once on this node; None: another rank of the node runs it. `environment`: the program's variables,
    beside those of the rank.
    """
    import shutil

    from . import child

    with as_rank(place, at_once=True):
        if not place.is_leader:
            return None
        mine = {name: value for name, value in os.environ.items() if not name.startswith("TORCHELASTIC_")}
        # The first folder has torchrun of this worker's environment.
        path = f"{os.path.dirname(sys.executable)}:{os.environ.get('PATH', '')}"
        program = shutil.which(words[0], path=path)
        if program is None:
            raise errors.BadRequest(f"there is no program {words[0]} on {interpreter.node}",
                                    "Give its whole path, or install it there.")
        return child.run([program, *words[1:]], mine | environment | {"PATH": path})


def close() -> None:
    """Closes the sockets of the last run, and its store."""
    global _own, _store
    torch_store.close()
    for one in (_own, _store):
        if one is not None:
            one.close()
    _own = _store = None


def current() -> Rank:
    """This process's rank; outside a gang it is the only one."""
    return _current or Rank()


def listener() -> socket.socket:
    return _own.dup() if _own is not None else _listening("127.0.0.1")


@contextlib.contextmanager
def as_rank(place: RankSetup, at_once: bool = False) -> Iterator[None]:
    """Gives the process the environment of that rank meanwhile. `at_once`: a child needs the store, so this process
    does not wait until user code imports torch.
    """
    global _current
    if place.process != _process or _own is None or _store is None:
        raise errors.WorkerCrashed(f"rank {place.rank.rank} was replaced before it began", "Run it again.")
    before = {name: value for name, value in os.environ.items() if _is_of_the_run(name, place)}
    before.pop(_DEVICES, None)
    if interpreter.visible_devices is not None:
        before[_DEVICES] = interpreter.visible_devices
    os.environ.update(place.environment)
    _current = place.rank
    torch_store.follow_environment()
    try:
        if place.rank.rank == 0:
            torch_store.serve(_store, place.rank.world_size, at_once)
        yield
    finally:
        _current = None
        for name in [name for name in os.environ if _is_of_the_run(name, place)]:
            del os.environ[name]
        os.environ.update(before)
        torch_store.follow_environment()


def _is_of_the_run(name: str, place: RankSetup) -> bool:
    """Also for variables that the function wrote, as accelerate and Lightning do: the next call is no rank."""
    return name in place.environment or name == _DEVICES or is_of_a_launch(name)


def _address() -> str:
    """The IP address at which this worker is reached."""
    endpoint: str = interpreter.core.endpoint
    return endpoint.removeprefix("tcp://").rpartition(":")[0].strip("[]")


def _listening(address: str) -> socket.socket:
    """A socket that listens at a free port, in the site's range if it has one."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for port in _ports():
        with contextlib.suppress(OSError):
            return socket.create_server((address, port), family=family, backlog=512)
    raise errors.BadRequest(f"no port of {interpreter.ports} is free on {interpreter.node}",
                            "Give pounce more ports there.")


def _ports() -> range:
    first, _, last = interpreter.ports.partition("-")
    return range(int(first), int(last or first) + 1) if first else range(1)


def _interface_of(address: str) -> str:
    """The interface's name, as gloo and NCCL need it; empty if it is not known."""
    if sys.platform != "linux" or ":" in address:
        return ""
    import fcntl
    import struct

    get_address = 0x8915  # SIOCGIFADDR of linux/sockios.h
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):
                answer = fcntl.ioctl(probe, get_address, struct.pack("256s", name[:15].encode()))
                if socket.inet_ntoa(answer[20:24]) == address:
                    return name
    return ""
