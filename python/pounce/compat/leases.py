"""``Leases``: calls spread over several leases of the same options, each one Slurm job on a node of its own choice.

A client has one lease for one set of options. Here each further one steps back in Slurm's queue by one more than the last, so that
the first ones start first. A call goes to the lease that has the least to do, and is given to no lease while all are full;
one that waits for a lease whose job has not started moves to the first that has nothing to do.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from .. import Client
from .._engine.options import TELLS_APART
from ..calls import View
from ..errors import BadRequest
from ..future import Future
from .call import Call


class _Place:
    """One lease, there or not, and the calls that were given to it."""

    def __init__(self, view: View, number: int):
        self.view, self.number = view, number
        self.calls: set[Call] = set()


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
        self.client, self._options = client, options
        self._lock = threading.RLock()
        self._line: deque[tuple[Call, Callable[[View], Future]]] = deque()  # calls that no lease has yet
        self._held: set[Call] = set()  # that wait for others' results
        self._places: list[_Place] = []
        self._this_thread = threading.local()  # .sends: it is in _send already
        self.resize(number)

    @property
    def number(self) -> int:
        return len(self._places)

    @property
    def processes(self) -> int:
        """Of each lease."""
        return int(self._options.get("workers", 1))

    @property
    def view(self) -> View:
        """Calls on the first lease."""
        return self._places[0].view

    def resize(self, number: int) -> None:
        """So many leases from now on; calls that others have go on there."""
        if number < 1:
            raise BadRequest(f"work needs at least one lease, not {number}")
        first = int(self._options.get(TELLS_APART, 0))
        with self._lock:
            made = self._places[:number]
            for extra in range(len(made), number):
                options = {**self._options, TELLS_APART: first + extra} if extra else self._options
                made.append(_Place(self.client.options(**options), first + extra))
            self._places = made
        self._send()

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
            _Dependencies(call, pending, lambda: self._queue(call, make))
            return call
        self._queue(call, make)
        if call.done() and call.place is None and not call.cancelled():
            error = call.exception()
            if error is not None:
                raise error
        return call

    def stop(self, calls: Iterable[Call]) -> None:
        """Ends them, also those that run. Does not block."""
        for call in calls:
            if not call.done():
                call.stop(self.client)

    def _queue(self, call: Call, make: Callable[[View], Future]) -> None:
        with self._lock:
            self._held.discard(call)
            if call.done():
                return
            self._line.append((call, make))
        self._send()

    def _drop(self, call: Call) -> bool:
        """Takes it out of the line; False: it is on its way."""
        with self._lock:
            if call in self._held:
                self._held.discard(call)
                return True
            for entry in self._line:
                if entry[0] is call:
                    self._line.remove(entry)
                    return True
        return False

    def _send(self) -> None:
        """To leases, as far as there is room on them.

        A call may end within its submission, and its end asks for the next: the loop that submitted it goes on, however long the line is.
        """
        if getattr(self._this_thread, "sends", False):
            return
        self._this_thread.sends = True
        try:
            self._send_all()
        finally:
            self._this_thread.sends = False

    def _send_all(self) -> None:
        while True:
            with self._lock:
                place = self._free()
                if place is None or not self._line:
                    return
                call, make = self._line.popleft()
                place.calls.add(call)
                call.place = place
            self._start(call, make, place)

    def _start(self, call: Call, make: Callable[[View], Future], place: _Place) -> None:
        if not call.start(lambda: make(place.view)):
            self._leave(call)
            call.place = None
            return
        call.add_done_callback(lambda _: self._has_ended(call))

    def _free(self) -> _Place | None:
        room = math.inf if len(self._places) == 1 else self.processes
        place = min(self._places, key=lambda place: len(place.calls))  # of equals the first, which may be warm
        return place if len(place.calls) < room else None

    def _leave(self, call: Call) -> _Place | None:
        with self._lock:
            place: _Place | None = call.place
            if place is not None:
                place.calls.discard(call)
            return place

    def _has_ended(self, call: Call) -> None:
        place = self._leave(call)
        self._send()
        if place is not None and place in self._places:
            self._take_over(place)

    def _take_over(self, place: _Place) -> None:
        """A worker there has nothing to do: it gets a call that waits for another lease's job."""
        with self._lock:
            if self._line or len(place.calls) >= self.processes:
                return
            waiting = [call for other in self._places if other is not place for call in other.calls]
            for call in waiting:
                if call.move(**{TELLS_APART: place.number}):
                    call.place.calls.discard(call)
                    call.place = place
                    place.calls.add(call)
                    return


class _Dependencies:
    """Calls that another one waits for."""

    def __init__(self, call: Call, calls: list[Call], ready: Callable[[], None]):
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
