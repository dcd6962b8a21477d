"""The store at which torch's processes find each other, behind a socket that listens already. It is made when torch is
imported: a rank that connects earlier waits in the socket's queue.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import socket
import sys
from collections.abc import Iterator
from typing import Any

from .._common.after_import import AfterImport
from .._common.rank import PeerFailed

_MODULE = "torch.distributed"
_STORE_TIMEOUT_S = 2  # if rank 0 has died
_store: Any = None
_waits: AfterImport | None = None


def serve(listening: socket.socket, world_size: int, at_once: bool) -> None:
    """Serves the store as soon as this process imports torch; `at_once`: now. Does nothing where torch is missing."""
    global _waits
    close()
    if _MODULE in sys.modules:
        _make(listening, world_size)
    elif not at_once:
        _waits = AfterImport(_MODULE, lambda: _make(listening, world_size))
    elif importlib.util.find_spec("torch") is not None:
        importlib.import_module(_MODULE)
        _make(listening, world_size)


def close() -> None:
    global _store, _waits
    _store = None
    if _waits is not None:
        _waits.stop()
    _waits = None


def follow_environment() -> None:
    """Sets torch's debug level from TORCH_DISTRIBUTED_DEBUG again. torch reads it at its import, which may have been in
    an earlier run."""
    module = sys.modules.get(_MODULE)
    if module is not None and module.is_available():
        module.set_debug_level_from_env()


@contextlib.contextmanager
def one_group() -> Iterator[None]:
    """Ends the process group that is made meanwhile, so that the next run makes its own and peers of a failed rank do
    not wait. Those raise ``PeerFailed`` then.
    """
    was_there = _is_initialized()
    try:
        yield
    except Exception as error:
        first = _failed_first() if _is_initialized() else None
        if first is None or first == int(os.environ["RANK"]):
            raise
        raise PeerFailed(first) from error
    finally:
        if not was_there and _is_initialized():
            with contextlib.suppress(Exception):  # it may be broken: the cause is reported already
                sys.modules[_MODULE].destroy_process_group()
            _forget_in_accelerate()


def _failed_first() -> int | None:
    """Which rank failed first; None: the store is gone. The first rank notes it before its group ends, so ranks that
    fail because of that find the note.

    The note is in the group's own store, since a new connection would wait for DNS (gotchas P28).
    """
    import datetime

    with contextlib.suppress(Exception):
        store = sys.modules[_MODULE].distributed_c10d._get_default_store()
        store.set_timeout(datetime.timedelta(seconds=_STORE_TIMEOUT_S))
        return int(store.compare_set("pounce/failed_first", "", os.environ["RANK"]))
    return None


def _forget_in_accelerate() -> None:
    """accelerate (1.15, state.py), and so Trainer, would keep the group's state as long as the process lives."""
    state: Any = sys.modules.get("accelerate.state")
    with contextlib.suppress(AttributeError):  # not there, or another version
        state.AcceleratorState._reset_state(reset_partial_state=True)
        state.GradientState._reset_state()


def _is_initialized() -> bool:
    module = sys.modules.get(_MODULE)
    return module is not None and module.is_available() and module.is_initialized()


def _make(listening: socket.socket, world_size: int) -> None:
    """Makes the store's server, which takes the socket. It has no client yet."""
    global _store
    distributed = sys.modules[_MODULE]
    if not distributed.is_available():
        return
    address, port = listening.getsockname()[:2]
    _store = distributed.TCPStore(address, port, world_size, is_master=True, wait_for_workers=False,
                                  master_listen_fd=os.dup(listening.fileno()))
