"""The next worker of a notebook, asked for before the time of the one that its cell runs on is over, so that nobody waits between."""

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
from .place import Place

LEAD_S = 30.0  # before the end, where a worker would start at once
MOVE_S = 20.0  # of a worker's time: too little to begin a cell, where the next one is ready
_MOST_LEAD_S = 3600.0
_LOOK_S = 2.0


@dataclass
class _Successor:
    client: Client
    ready: Any  # a future


class Successors:
    """
    Parameters
    ----------
    new_client : callable
        A client that has nothing yet.

    Thread: the notebook's, and one of its own, which sleeps while no cell runs.
    """

    def __init__(self, new_client: Callable[[], Client]):
        self._new_client = new_client
        self._asked: dict[NotebookState, _Successor | None] = {}  # None: it could not be asked for
        self._changed = threading.Condition()
        self._running: tuple[NotebookState, Client, Place] | None = None
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def watching(self, state: NotebookState, client: Client, place: Place) -> Iterator[None]:
        """A cell runs there, which somebody waits for."""
        self._watch((state, client, place))
        try:
            yield
        finally:
            self._watch(None)

    def is_ready(self, state: NotebookState) -> bool:
        asked = self._asked.get(state)
        return asked is not None and bool(asked.ready.done())

    def taken(self, state: NotebookState) -> Client | None:
        """The client of the next worker, which is the state's from now on; None: none was asked for."""
        with self._changed:
            asked = self._asked.pop(state, None)
        return asked.client if asked is not None else None

    def close(self) -> None:
        """Gives back what was asked for."""
        for state in list(self._asked):
            client = self.taken(state)
            if client is not None:
                client.close()

    def _watch(self, running: tuple[NotebookState, Client, Place] | None) -> None:
        with self._changed:
            self._running = running
            self._changed.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="pounce-successor", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._running is None:
                    self._changed.wait()
                running = self._running
            pause = self._looked(*running)
            with self._changed:
                if self._running is running:
                    self._changed.wait(pause)

    def _looked(self, state: NotebookState, client: Client, place: Place) -> float:
        """Seconds until it has to be looked at again."""
        try:
            left = seconds_left(client)
            if left is None or state in self._asked:
                return _LOOK_S
            if left > _MOST_LEAD_S:
                return left - _MOST_LEAD_S
            if left <= LEAD_S + _wait_s(client, place.options):
                self._ask(state, place)
        except errors.PounceError:  # it was closed, or pounced is away: nothing is lost by that
            self._asked.setdefault(state, None)
        return _LOOK_S

    def _ask(self, state: NotebookState, place: Place) -> None:
        client = self._new_client()
        ready = view_with(client, place.options, place.env).submit(runner.begin)
        with self._changed:
            self._asked[state] = _Successor(client, ready)


def seconds_left(client: Client) -> float | None:
    """Of the time of its worker; None: without an end, or not known."""
    ends = [lease.end_time for lease in client.leases() if lease.end_time]
    return min(ends) - time.time() if ends else None


def _wait_s(client: Client, options: Options) -> float:
    """How long one more request would wait, at worst, as far as can be foreseen. Blocks for one question to pounced."""
    if not options.gpus:
        return 0.0
    gpus = [gpu for gpu in client.classes().gpus if options.gpu_type in ("", gpu.type)]
    if any(gpu.free >= options.gpus for gpu in gpus):
        return 0.0
    return max(0.0, min((gpu.eta.high - time.time() for gpu in gpus if gpu.eta is not None), default=0.0))
