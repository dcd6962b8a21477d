"""The warning that the time of a lease is nearly over, while something of the user runs there, or that Slurm gives it
something else than was requested."""

from __future__ import annotations

import time
from typing import Any

from .. import _core
from .shell import shell

_SOONEST_S = 300  # before the end; on a short lease in its last fifth, but at least a minute before
_LATEST_S = 60


class TimeLeft:
    """Warns once for each lease and cell. Of what Slurm gives and was not requested once for each lease."""

    def __init__(self) -> None:
        self._warned_of: tuple[Any, ...] = ()
        self._given: set[tuple[str, str]] = set()

    def warning(self, state: str | None, lease: _core.LeaseStatus | None, cell: int = 0) -> str:
        """The warning for a task in this state, on this lease, of that cell; empty: there is none."""
        if state != "running" or lease is None or not lease.end_time:
            return ""
        start, end = lease.start_estimate, lease.end_time
        seconds = end - time.time()
        if lease.given and (lease.lease, lease.given) not in self._given:
            self._given.add((lease.lease, lease.given))
            return f"{_until(lease, seconds)}: {lease.given}"
        about = (lease.lease, end, cell)
        soon = _preempted(lease) or seconds <= _warned_before(end - start if start else 0)
        if about == self._warned_of or not soon:
            return ""
        self._warned_of = about
        return _words(lease, seconds)


def _preempted(lease: _core.LeaseStatus) -> bool:
    return lease.cause is not None and lease.cause.code == "preempted"


def _warned_before(whole: float) -> float:
    return min(_SOONEST_S, max(_LATEST_S, whole / 5)) if whole > 0 else _SOONEST_S


def _words(lease: _core.LeaseStatus, seconds: float) -> str:
    why = " (a job that goes first takes its place)" if _preempted(lease) else ""
    return f"{_until(lease, seconds)}{why}; then all that is there ends: save what you need"


def _until(lease: _core.LeaseStatus, seconds: float) -> str:
    where = ", ".join(filter(None, (lease.node, lease.devices))) or "the worker"
    time_left = f"{round(seconds / 60)} min" if seconds >= 90 else f"{max(0, int(seconds))} s"
    return (f"pounce: {where} is yours for {time_left} more, "
            f"until {time.strftime('%H:%M', time.localtime(lease.end_time))}")


def cell_number() -> int:
    """The number of the cell that runs now; 0: there is no notebook."""
    here = shell()
    return here.execution_count if here is not None else 0
