"""The next worker of a notebook, requested before the current one's time ends, so that no cell waits in between."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .. import errors
from .._engine.options import Options
from .._worker.cell import runner
from ..calls import view_with
from ..client import Client
from .notebook_state import NotebookState
from .target import Target

LEAD_S = 30.0  # before the end, where a worker would start at once
MOVE_S = 20.0  # of a worker's time: too little to begin a cell, where the next one is ready
_MOST_LEAD_S = 3600.0
_LEAST_PAUSE_S, _MOST_PAUSE_S = 10.0, 600.0  # between two looks, however short the cells are
_UNUSED_S = 60.0  # without a cell: the requested worker goes back

Running = tuple[NotebookState, Client, Target]


@dataclass
class _Successor:
    client: Client
    begun: Any  # a future


class Successors:
    """
    Parameters
    ----------
    new_client : callable
        Makes a client without leases.

    Thread: the notebook's, and one of its own, which checks the time while cells run, and sleeps otherwise.
    """

    def __init__(self, new_client: Callable[[], Client]):
        self._new_client = new_client
        self._successors: dict[NotebookState, _Successor] = {}
        self._changed = threading.Condition()
        self._running: Running | None = None
        self._sleeps = False  # the thread, until it is notified
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def watching(self, state: NotebookState, client: Client, target: Target) -> Iterator[None]:
        """A cell runs on this worker in the foreground."""
        with self._changed:
            self._running = (state, client, target)
            if self._sleeps:
                self._changed.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="pounce-successor", daemon=True)
            self._thread.start()
        try:
            yield
        finally:
            self._running = None

    def is_ready(self, state: NotebookState) -> bool:
        successor = self._successors.get(state)
        return successor is not None and bool(successor.begun.done()) and _has_worker(successor.client)

    def taken(self, state: NotebookState) -> Client | None:
        """The client of the next worker, which is the state's from now on; None: none was requested."""
        with self._changed:
            successor = self._successors.pop(state, None)
        return successor.client if successor is not None else None

    def close(self) -> None:
        """Gives back all requested workers."""
        for state in list(self._successors):
            self.give_back(state)

    def give_back(self, state: NotebookState) -> None:
        """Gives back the worker that was requested to follow the state's."""
        client = self.taken(state)
        if client is not None:
            client.close()

    def _run(self) -> None:
        """Looks at most every ten seconds, and at nothing else: a series of short cells wakes no thread."""
        unused, pause = 0.0, _LEAST_PAUSE_S
        while True:
            with self._changed:
                self._sleeps = self._running is None and not self._successors
                self._changed.wait(None if self._sleeps else pause)
                running = self._running
            if self._sleeps:
                unused, pause = 0.0, _LEAST_PAUSE_S
                continue
            unused = 0.0 if running is not None else unused + pause
            with contextlib.suppress(Exception):  # a client was closed, or pounced is away: the next look finds out
                if unused >= _UNUSED_S:
                    self.close()
                pause = self._looked(*running) if running is not None else _LEAST_PAUSE_S

    def _looked(self, state: NotebookState, client: Client, target: Target) -> float:
        """Returns the seconds until the next look."""
        left = seconds_left(client)
        self._drop_failed(state)
        if left is None or state in self._successors:
            return _LEAST_PAUSE_S
        if left <= _MOST_LEAD_S and left <= LEAD_S + _wait_s(client, target.options):
            self._ask((state, client, target))
        # Near the end often, far from it seldom; and in time for the shortest lead.
        return min(max(_LEAST_PAUSE_S, (left - LEAD_S) / 10), max(0.0, left - LEAD_S) or _LEAST_PAUSE_S, _MOST_PAUSE_S)

    def _drop_failed(self, state: NotebookState) -> None:
        """Gives back a successor that has gone again, or never came."""
        successor = self._successors.get(state)
        if successor is not None and successor.begun.done() and not _has_worker(successor.client):
            self.give_back(state)

    def _ask(self, running: Running) -> None:
        state, _, target = running
        client = self._new_client()
        with self._changed:
            wanted = self._running is not None and self._running[:2] == running[:2]
            if wanted:
                begun = view_with(client, target.options, target.env).submit(runner.begin)
                self._successors[state] = _Successor(client, begun)
        if not wanted:  # the cell has ended meanwhile, or all was given back
            client.close()


def _has_worker(client: Client) -> bool:
    try:
        return any(lease.state in ("idle", "busy") for lease in client.leases())
    except errors.PounceError:
        return False


def seconds_left(client: Client) -> float | None:
    """Seconds until the worker's time ends; None: it has no end, or that is not known."""
    ends = [lease.end_time for lease in client.leases() if lease.end_time]
    return min(ends) - time.time() if ends else None


def _wait_s(client: Client, options: Options) -> float:
    """The longest that one more request would wait, as far as is foreseeable. Blocks for one question to pounced."""
    if not options.resources.gpus:
        return 0.0
    gpus = [gpu for gpu in client.classes().gpus if options.resources.gpu_type in ("", gpu.type)]
    if any(gpu.free >= options.resources.gpus for gpu in gpus):
        return 0.0
    return max(0.0, min((gpu.eta.high - time.time() for gpu in gpus if gpu.eta is not None), default=0.0))
