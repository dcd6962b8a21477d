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
from .gang import Gang
from .gang_shape import Shape
from .rank_tasks import Call, Run

SETTLE_S = 2.0  # the wait after a member has come, for others that come with it: a restart would cost more


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
                if run.is_complete or (run.failures and not isinstance(run.cause.error, gang_plan.LEASE_ENDED)):
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
        arrival = arrivals.next(seconds)
        if arrival is None:
            continue
        member, outcome = arrival
        if isinstance(outcome, list):
            offers[member] = outcome
            members.come(member, time.monotonic())
            continue
        was_lost = isinstance(outcome, gang_plan.LOST)
        members.leave(member, for_good=not was_lost)
        if was_lost:
            arrivals.ask(member)
        elif members.are_too_few:
            raise outcome
    return offers


class Members:
    """The members, and which of them are ready for the next round of the program. Pure: the caller passes the time, in
    seconds."""

    def __init__(self, least: int, most: int):
        self.least, self.most = least, most
        self.here: set[int] = set()      # ready
        self._expected: set[int] = set()  # members of the last round, which were there a moment ago
        self._refused: set[int] = set()   # will never come
        self._last_came = 0.0

    @property
    def are_too_few(self) -> bool:
        """Whether there can never be enough of them."""
        return self.most - len(self._refused) < self.least

    def come(self, member: int, now: float) -> None:
        self.here.add(member)
        self._last_came = now

    def leave(self, member: int, for_good: bool = False) -> None:
        """The member's lease ended; `for_good`: it gets no other."""
        self.here.discard(member)
        self._expected.discard(member)
        if for_good:
            self._refused.add(member)

    def begin(self) -> list[int]:
        """Begins a round. Returns its members in the order of their ranks; each must come again for the next round."""
        begun = sorted(self.here)
        self._expected, self.here = self.here, set()
        return begun

    def begins_in(self, now: float) -> float | None:
        """The seconds until the round begins; None: another member must come first."""
        if len(self.here) < self.least or self._expected - self.here:
            return None
        return 0.0 if len(self.here) + len(self._refused) == self.most else max(0.0, self._last_came + SETTLE_S - now)
