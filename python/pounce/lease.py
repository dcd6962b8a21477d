"""``Lease``: the right to the workers of one Slurm job; its state, why it waits and until when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _core
from ._engine.options import Options
from ._engine.wait import NO_JOB_RUNS_YET, Eta, Wait, wait_of
from ._tables.utilisation import Report, reports_of
from .errors import BadRequest, public

if TYPE_CHECKING:
    from ._engine.session import Session

_REPORT_TIMEOUT_S = 10.0
_WAITS = (*NO_JOB_RUNS_YET, "starting")


@public
class Lease:
    """One lease of a client. Made by ``Client.leases`` and ``Future.lease``; always shows how it stands now.

    Only ``report()`` blocks; the rest is what pounced last reported. A lease that has ended keeps what was last known
    of it.

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
        self._status = status

    @property
    def id(self) -> str:
        """16 hex digits, as ``pouncectl`` shows them."""
        return self._status.lease

    @property
    def state(self) -> str:
        """A word of docs/states.md: ``"requested"``, ``"queued"``, ``"starting"``, ``"idle"`` …, ``"ended"``.

        pounced does not report each change between idle and busy; ``Future.running`` is exact.
        """
        return self._now().state

    @property
    def class_(self) -> str:
        """The class that Slurm has for it; empty while there is no job."""
        return self._now().class_

    @property
    def job(self) -> int:
        """Slurm's number of the job; 0 while there is none, and without Slurm."""
        return self._now().job

    @property
    def node(self) -> str:
        """The node's name; empty while it waits."""
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
        """When it is expected to start; None: it does not wait, or nothing can be said (``why()`` has the reason)."""
        wait = self.why()
        return wait.eta if wait is not None else None

    def report(self) -> Report | None:
        """What it requested and used, with what to request next time; after its end too. Blocks for pounced's answer.

        None: its workers have not reported yet, or it ended more than 32 leases ago.

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
    """The options that it was requested with. For the modules of this package, not for users. Blocks for pounced."""
    rows = lease._session.status(_REPORT_TIMEOUT_S)["leases"]
    row = next((row for row in rows if row["lease"] == lease.id), None)
    if row is None:
        raise BadRequest(f"pounced does not know lease {lease.id[:8]} any more", "Export one that has not ended.")
    options = {name: row[name.rstrip("_")] for name in _core.Resources._fields if name.rstrip("_") in row}
    return Options(_core.Resources(**options))


def environment_of_lease(lease: Lease) -> str:
    """The prefix of its workers' environment; empty: this process's own. Also for this package only."""
    return lease._session.prefix


def lease_with(session: Session, asks: Options) -> Lease | None:
    """The last lease that was requested with these options; None: it has ended. Also for this package only."""
    request = session.core.request(asks.resources)
    found = [status for status in session.core.leases() if status.request == request]
    return Lease(session, found[-1]) if found else None


def status_of_lease(lease: Lease) -> _core.LeaseStatus:
    """What pounced last reported of it. Also for this package only."""
    return lease._now()


def of_session(session: Session) -> list[Lease]:
    return [Lease(session, status) for status in session.core.leases()]
