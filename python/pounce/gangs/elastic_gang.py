"""``ElasticGang``: the ranks of one program on as many leases as there are."""

from __future__ import annotations

import contextlib
import itertools
import time
from typing import Any

from .._common.rank import Offer
from .._common.ref import Ref
from .._engine.options import Options
from .._engine.status_line import output
from .._engine.submission import Submitter
from ..errors import BadRequest
from ..lease import Lease
from . import gang_plan
from .arrivals import Arrivals
from .elastic_rounds import Members
from .gang import Gang
from .gang_shape import Shape
from .rank_tasks import Call, Run


class ElasticGang(Gang):
    """A gang whose nodes come and go: each is a lease of its own. Made by ``pounce.gang(nodes="1:4")``.

    A run begins with the nodes that are there. When another one comes, or the lease of one ends, all ranks are stopped
    and the function is called again on the present nodes, with the new WORLD_SIZE, and TORCHELASTIC_RESTART_COUNT one
    higher: it goes on from what it saved last, as under torchrun. An exception of the function itself ends the run.
    """

    def __init__(self, submitter: Submitter, options: Options, shape: Shape, is_checked: bool = False):
        super().__init__(submitter, options, is_checked)
        self._shape = shape
        self._size = 0
        self._leases = [self._options]
        try:
            for _ in range(shape.most - 1):
                self._leases.append(self._session.gangs.take(options))
        except BadRequest:
            self.close()
            raise

    @property
    def size(self) -> int:
        """How many ranks the run has now, or the last one had; 0: none has begun. Does not block."""
        return self._size

    @property
    def leases(self) -> list[Lease]:
        """The leases that it has or waits for. Does not block."""
        core = self._session.core
        requests = [core.request(options.resources) for options in self._leases]
        return [Lease(self._session, status) for status in core.leases() if status.request in requests]

    @property
    def lease(self) -> Lease | None:
        """The first of ``leases``. Does not block."""
        return next(iter(self.leases), None)

    def scatter(self, value: Any, shard: int | None = None, *, broadcast: bool = False,
                device: str | None = None) -> Ref:
        """As ``Gang.scatter``; every rank has all of it, in its memory.

        Raises
        ------
        BadRequest
            ``shard=``, since the number of parts would change; ``broadcast=`` and ``device=``, since the ranks that
            have the value would change.
        """
        if broadcast or device is not None:
            raise BadRequest("the ranks of an elastic gang change, and a new one would not have what was broadcast",
                             "Leave broadcast= and device= out, and move the data to the device in the function.")
        if shard is not None:
            raise BadRequest("the ranks of an elastic gang change, and with them the parts",
                             "Take pounce.rank() 's part in the function.")
        return self._submitter.scatter(value)

    def close(self) -> None:
        """Ends the gang. Its leases are kept or given back like any unused lease. Does not block."""
        if not self._closed:
            for further in self._leases[1:]:
                self._session.gangs.give_back(further)
        super().close()

    def __repr__(self) -> str:
        return f"<pounce.ElasticGang of {self._size} ranks, {self._shape.least} to {self._shape.most} leases>"

    # ---- within ----

    def _all_of(self, name: str, call: Call) -> list[Any]:
        members, arrivals = Members(self._shape.least, self._shape.most), Arrivals(self._tasks, self._leases)
        for member in range(self._shape.most):
            arrivals.ask(member)
        with contextlib.closing(arrivals):
            for restart in itertools.count():
                offers = _assembled(members, arrivals)
                begun = members.begin()
                run = self._begin(name, call, {member: offers[member] for member in begun}, arrivals, restart)
                run.wait()
                arrivals.disturb(None)
                if run.is_complete or (run.failures and not gang_plan.has_left(gang_plan.cause(run.failures).error)):
                    return self._results(run)
                for member in begun:
                    arrivals.ask(member)
        raise AssertionError("it ends within")

    def _begin(self, name: str, call: Call, offers: dict[int, list[Offer]], arrivals: Arrivals, restart: int) -> Run:
        ranks = [rank for member in offers for rank in arrivals.ranks(member)]
        if restart:
            was, self._size = self._size, len(ranks)
            ranks_now = f"{self._size} rank{'s' if self._size > 1 else ''}"
            output().end(f"pounce: the gang begins again with {ranks_now}; it had {was}")
        self._size = len(ranks)
        places = gang_plan.places([offer for each in offers.values() for offer in each], self._kind(restart))
        run = Run(self._tasks, name, ranks, places, call)
        arrivals.disturb(run)
        return run


def _assembled(members: Members, arrivals: Arrivals) -> dict[int, list[Offer]]:
    """Blocks until a round may begin."""
    offers: dict[int, list[Offer]] = {}
    while (seconds := members.begins_in(time.monotonic())) != 0:
        news = arrivals.next(seconds)
        if news is None:
            continue
        member, outcome = news
        if isinstance(outcome, list):
            offers[member] = outcome
            members.come(member, time.monotonic())
            continue
        was_lost = gang_plan.was_lost(outcome)
        members.leave(member, for_good=not was_lost)
        if was_lost:
            arrivals.ask(member)
        elif members.are_too_few:
            raise outcome
    return offers
