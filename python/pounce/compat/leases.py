"""``Leases``: calls on a pool of leases, each one Slurm job on a node of its own choice."""

from __future__ import annotations

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
        self._one = self.view = client.options(**options)
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
        before, self.view = self.view, view_with(self._one, replace(asks_of(self._one), leases_most=number), "")
        session = session_of(self.view)
        for task in list(session.awaiting):
            if task.asks == asks_of(before):
                session.move(task, asks_of(self.view))
        session.expect(asks_of(self.view), 0)

    def submit(self, name: str, make: Callable[[View], Future]) -> Call:
        """A call that `make` submits to a view. Returns at once. Raises what `make` raises."""
        return Call(name, make(self.view))

    def stop(self, calls: Iterable[Call]) -> None:
        """Ends them, also those that run. Does not block."""
        for call in calls:
            if not call.done():
                call.stop(self.client)
