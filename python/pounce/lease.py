"""``Lease``: the right to one Slurm job's workers, as an object: what it is, why it waits and until when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _core
from ._engine.options import Options
from ._engine.utilisation import Report, reports_of
from ._engine.wait import Eta, Wait, wait_of
from .errors import BadRequest

if TYPE_CHECKING:
    from ._engine.session import Session

_REPORT_TIMEOUT_S = 10.0
_WAITS = ("wanted", "submitting", "queued", "starting")


class Lease:
    """One lease of a client. Made by ``Client.leases`` and ``Future.lease``; always shows how it stands now.

    Nothing here blocks but ``report()``: it is what pounced last told. A lease that has ended keeps what was last known of it.

    Examples
    --------
    >>> future = client.submit(pow, 2, 10)
    >>> future.result()
    1024
    >>> [lease.why() for lease in client.leases()]  # it does not wait any more
    [None]
    """

    def __init__(self, session: Session, status: _core.LeaseStatus):
        self._session = session
        self._status = status  # as _core tells it

    @property
    def id(self) -> str:
        """16 hex digits, as ``pouncectl`` shows them."""
        return self._status.lease

    @property
    def state(self) -> str:
        """A word of docs/states.md: ``"wanted"``, ``"queued"``, ``"starting"``, ``"idle"``, ``"busy"`` …, ``"ended"``.

        pounced does not tell of each change between idle and busy: ``Future.running`` is exact.
        """
        return self._now().state

    @property
    def class_(self) -> str:
        """As Slurm has it; empty while there is no job."""
        return self._now().class_

    @property
    def job(self) -> int:
        """Slurm's number of the job; 0 while there is none, and without Slurm."""
        return self._now().job

    @property
    def node(self) -> str:
        """Empty while it waits."""
        return self._now().node

    @property
    def devices(self) -> str:
        """``"GPU 0"``; empty while it waits."""
        return self._now().devices

    @property
    def end_time(self) -> float | None:
        """When its time is over, seconds since 1970; None: not known."""
        now = self._now()
        return float(now.end_time) if now.end_time and now.state not in _WAITS else None

    def why(self) -> Wait | None:
        """Why it waits, as ``Future.why``; None: it does not."""
        now = self._now()
        return wait_of(now) if now.state in _WAITS else None

    def eta(self) -> Eta | None:
        """When it is expected to start; None where it does not wait, or where nothing can be said: ``why()`` has the reason."""
        wait = self.why()
        return wait.eta if wait is not None else None

    def report(self) -> Report | None:
        """What it has used of what it asked for, with what to ask for next time; after its end too. Blocks for one question to pounced.

        None: its workers have not told yet, or it ended more than 32 leases ago.

        Raises
        ------
        DaemonUnavailable
            pounced does not answer within 10 s.
        ClientClosed
            The lease's client was closed.

        Examples
        --------
        >>> print(lease.report())  # doctest: +SKIP
        lease 3f2a91bc: busy 7 s, idle 25 min, 3 s of CPU time, 321 MiB of memory; what was asked for fits what was used
        """
        return reports_of(self._session.status(_REPORT_TIMEOUT_S)).of(self.id)

    def __repr__(self) -> str:
        why = self.why()
        if why is not None:
            return f"<pounce.Lease {self.id[:8]} {why}>"
        where = ", ".join(filter(None, (self.node, self.devices)))
        return f"<pounce.Lease {self.id[:8]} {self.state}{f' on {where}' if where else ''}>"

    def _now(self) -> _core.LeaseStatus:
        if self._status.state != "ended":
            status = self._session.status_of(self.id)
            self._status = status if status is not None else self._status._replace(state="ended")
        return self._status


def asks_of_lease(lease: Lease) -> Options:
    """What it was asked for with: for the modules of this package, not for people. Blocks for pounced."""
    rows = lease._session.status(_REPORT_TIMEOUT_S)["leases"]
    row = next((row for row in rows if row["lease"] == lease.id), None)
    if row is None:
        raise BadRequest(f"pounced does not know lease {lease.id[:8]} any more", "Export one that has not ended.")
    asked = {name: row[name.rstrip("_")] for name in _core.Resources._fields if name.rstrip("_") in row}
    return Options(**{**asked, "slurm": tuple(sorted(row.get("slurm", {}).items()))})


def environment_of_lease(lease: Lease) -> str:
    """The prefix of its workers' environment; empty: this process's own. For the modules of this package likewise."""
    return lease._session.prefix


def lease_with(session: Session, asks: Options) -> Lease | None:
    """The one that was asked for with these, last; None: it has ended. For the modules of this package likewise."""
    request = session.core.request(asks.resources)
    found = [status for status in session.core.leases() if status.request == request]
    return Lease(session, found[-1]) if found else None


def status_of_lease(lease: Lease) -> _core.LeaseStatus:
    """As pounced last told it, likewise."""
    return lease._now()


def of_session(session: Session) -> list[Lease]:
    return [Lease(session, status) for status in session.core.leases()]
