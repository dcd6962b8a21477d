"""``Wait``: why something waits: the reason, the limit with its numbers, the place in line. ``Eta``: until when."""

from __future__ import annotations

import time
from typing import NamedTuple

from .. import _core
from ..errors import public

NO_JOB_RUNS_YET = ("requested", "submitting", "queued")  # states of a lease (docs/states.md)


@public
class Limit(_core.LimitUse):
    """A limit that a job waits for. Sizes of memory are in MiB, times in minutes.

    Attributes
    ----------
    what : str
        ``"job"``, ``"time"``, or Slurm's name: ``"gres/gpu:a100"``, ``"cpu"``, ``"mem"``, ``"node"``.
    most, used, asked : int
        The limit, how much of it is in use now by all that it counts, and what this job requests.
    """

    __slots__ = ()


@public
class Eta(NamedTuple):
    """When something that waits is expected to start, as of the last look at the queue. Times are seconds since 1970.

    Attributes
    ----------
    start : float
        The median estimate: as likely earlier as later.
    low, high : float
        In four of five cases it starts between the two.
    basis : str
        What the estimate is based on, in plain words.
    """

    start: float
    low: float
    high: float
    basis: str

    def __str__(self) -> str:
        now = time.time()
        words = about(self.start - now)
        return words if self.high - now < 60 else f"{words} ({between(self.low - now, self.high - now)})"


@public
class Wait(NamedTuple):
    """Why something waits, as pounced last heard it. Shows itself as a sentence.

    Attributes
    ----------
    state : str
        The lease's: ``"requested"``, ``"submitting"``, ``"queued"``, ``"starting"``; ``"asking"`` before pounced has
        answered.
    reason : str
        In plain words.
    slurm_reason : str
        In Slurm's own words: ``"QOSMaxJobsPerUserLimit"``; empty while no job waits in Slurm.
    class_ : str
        The job's class; empty while there is none.
    job : int
        Slurm's number of the job, 0 while there is none.
    ahead : int or None
        Queued jobs that go first; None where that cannot be known.
    start : float or None
        When Slurm expects it to start, seconds since 1970; None: it expects nothing yet.
    limit : Limit or None
        The limit that it waits for, where its numbers are known.
    eta : Eta or None
        When pounce expects it to start, from how long jobs really run; None where nothing can be said.
    """

    state: str
    reason: str
    slurm_reason: str = ""
    class_: str = ""
    job: int = 0
    ahead: int | None = None
    start: float | None = None
    limit: Limit | None = None
    eta: Eta | None = None

    def __str__(self) -> str:
        words = self.state + (f" ({self.reason})" if self.reason else "") + (f" · job {self.job}" if self.job else "")
        if self.eta is not None:
            return f"{words} · starts {self.eta}"
        return words + (f" · Slurm expects it to start {about(self.start - time.time())}" if self.start else "")


def wait_of(status: _core.LeaseStatus | _core.DetachedRow | None) -> Wait:
    if status is None:
        return Wait("asking", "for a lease")
    limit = Limit._make(status.limit) if status.limit else None
    wait = Wait(status.state, status.reason, status.slurm_reason, status.class_, status.job, limit=limit)
    if status.state not in ("queued", "waiting"):
        return wait
    ahead = status.ahead if status.ahead >= 0 else None
    return wait._replace(ahead=ahead, start=float(status.start_estimate) or None, eta=eta_of(status.eta))


def eta_of(eta: _core.Eta | None) -> Eta | None:
    return Eta(eta.start, eta.low, eta.high, eta.basis) if eta is not None else None


def about(seconds: float) -> str:
    """An estimate, rounded to its precision: "in about 10 min". pouncectl has the same words."""
    return "any moment" if seconds < 60 else "in about " + _coarse(seconds)


def between(low: float, high: float) -> str:
    """The two ends of an estimate: "5 min to 1 h 30 min"."""
    return f"{_coarse(low) if low >= 60 else 'now'} to {_coarse(high)}"


def _coarse(seconds: float) -> str:
    minutes = max(1, int(seconds / 60 + 0.5))
    step = 1 if minutes < 10 else 5 if minutes < 60 else 30 if minutes < 600 else 60
    hours, minutes = divmod((minutes + step // 2) // step * step, 60)
    days, hours = divmod(hours, 24)
    parts = [f"{count} {unit}" for count, unit in ((days, "d"), (hours, "h"), (minutes, "min")) if count]
    return " ".join(parts[:2])
