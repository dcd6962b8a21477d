"""``Leases``: calls on a pool of leases, each one Slurm job on a node of its own choice, that may wait for each other's results."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from .. import Client
from ..calls import View, asks_of, session_of, view_with
from ..errors import BadRequest
from ..future import Future
from .call import Call


class Leases:
    """Any thread. The leases are asked for when there is work for them, and go back when there is none.

    Parameters
    ----------
    client : pounce.Client
    options : dict
        Keywords of ``Client.options`` for one lease; ``workers`` are the processes of each.
    number : int
        How many leases there may be at a time.
    """

    def __init__(self, client: Client, options: dict[str, Any], number: int = 1):
        self.client, self.number = client, number
        self._one = client.options(**options)
        self._held: set[Call] = set()  # that wait for others' results
        self._lock = threading.Lock()
        self.resize(number)

    @property
    def processes(self) -> int:
        """Of each lease."""
        return asks_of(self._one).workers

    def resize(self, number: int) -> None:
        """So many leases from now on, for what waits too; calls that others have go on there."""
        if number < 1:
            raise BadRequest(f"work needs at least one lease, not {number}")
        self.number = number
        self.view = view_with(self._one, replace(asks_of(self._one), leases_most=number), "")
        session_of(self.view).expect(asks_of(self.view), 0)

    def submit(self, name: str, make: Callable[[View], Future], after: Iterable[Call] = ()) -> Call:
        """A call that `make` submits to a view, once all of `after` have ended well; it fails as the first of these that fails.

        Returns at once. Raises what `make` raises if it is called now.
        """
        call = Call(name, self._drop)
        pending = [other for other in set(after) if not other.done() or other.cancelled() or other.exception() is not None]
        if pending:
            with self._lock:
                self._held.add(call)
            call.add_done_callback(self._held.discard)
            _Dependencies(call, pending, lambda: self._start(call, make))
            return call
        if not self._start(call, make) and (error := call.exception()) is not None:
            raise error
        return call

    def stop(self, calls: Iterable[Call]) -> None:
        """Ends them, also those that run. Does not block."""
        for call in calls:
            if not call.done():
                call.stop(self.client)

    def _start(self, call: Call, make: Callable[[View], Future]) -> bool:
        with self._lock:
            self._held.discard(call)
        return call.done() or call.start(lambda: make(self.view))

    def _drop(self, call: Call) -> bool:
        """It waits for others no more; False: it is on its way."""
        with self._lock:
            waits = call in self._held
            self._held.discard(call)
            return waits


class _Dependencies:
    """Calls that another one waits for."""

    def __init__(self, call: Call, calls: list[Call], ready: Callable[[], object]):
        self._call, self._ready, self._left = call, ready, len(calls)
        self._lock = threading.Lock()
        for other in calls:
            other.add_done_callback(self._ended)

    def _ended(self, other: Any) -> None:
        if other.cancelled():
            _one_after_the_other(self._call.end_cancelled)
            return
        error = other.exception()
        if error is not None:
            _one_after_the_other(lambda: self._call.end(None, error))
            return
        with self._lock:
            self._left -= 1
            if self._left:
                return
        self._ready()


_thread = threading.local()  # .ends: what this thread has still to end


def _one_after_the_other(end: Callable[[], None]) -> None:
    """A call's end may be the next one's: not within it, since a chain may be longer than Python's stack."""
    ends: deque[Callable[[], None]] | None = getattr(_thread, "ends", None)
    if ends is not None:
        ends.append(end)
        return
    ends = _thread.ends = deque((end,))
    try:
        while ends:
            ends.popleft()()
    finally:
        del _thread.ends
