"""``Leases``: calls on a pool of leases. Each lease is one Slurm job; Slurm chooses its node."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .. import Client
from ..calls import View, asks_of, session_of, view_with
from ..errors import BadRequest
from ..future import Future
from .call import Call


class Leases:
    """Any thread. Leases are requested when there is work for them, and released when there is none.

    Parameters
    ----------
    client : pounce.Client
    options : dict
        Keywords of ``Client.options`` for one lease; ``workers`` are the processes of each.
    number : int
        The maximum number of leases at a time.
    """

    def __init__(self, client: Client, options: dict[str, Any], number: int = 1):
        self.client, self.number = client, number
        self._one = self.view = client.options(**options)
        self.resize(number)

    @property
    def processes(self) -> int:
        """The number of processes of each lease."""
        return asks_of(self._one).resources.workers

    def resize(self, number: int) -> None:
        """Changes the maximum, also for waiting calls. Running calls go on where they are."""
        if number < 1:
            raise BadRequest(f"work needs at least one lease, not {number}")
        self.number = number
        before, self.view = self.view, view_with(self._one, asks_of(self._one).with_resources(leases_most=number), "")
        session = session_of(self.view)
        for task in list(session.awaiting):
            if task.asks == asks_of(before):
                session.move(task, asks_of(self.view))
        session.expect(asks_of(self.view), 0)

    def submit(self, name: str, make: Callable[[View], Future]) -> Call:
        """The call that `make` submits to a view. Returns at once. Raises what `make` raises."""
        return Call(name, make(self.view))

    def stop(self, calls: Iterable[Call]) -> None:
        """Ends the calls, also those that run. Does not block."""
        for call in calls:
            if not call.done():
                call.stop(self.client)
