"""The warning that the time of a lease is nearly over: to a user, while something of theirs runs there."""

from __future__ import annotations

import time
from typing import Any

from .. import _core
from .shell import shell

_SOONEST_S = 300  # before the end; of a short lease its last fifth, but a minute at least
_LATEST_S = 60


class TimeLeft:
    """Says it once for each lease, and again in the next cell."""

    def __init__(self) -> None:
        self._said: tuple[Any, ...] = ()

    def warning(self, state: str | None, lease: _core.LeaseStatus | None, cell: int = 0) -> str:
        """For a task in this state, on this lease, of that cell; empty while there is nothing to say."""
        if state != "running" or lease is None or not lease.end_time:
            return ""
        start, end = lease.start_estimate, lease.end_time
        left = end - time.time()
        about = (lease.lease, end, cell)
        soon = _preempted(lease) or left <= _warned_before(end - start if start else 0)
        if about == self._said or not soon:
            return ""
        self._said = about
        return _words(lease, left)


def _preempted(lease: _core.LeaseStatus) -> bool:
    return lease.cause is not None and lease.cause.code == "preempted"


def _warned_before(whole: float) -> float:
    return min(_SOONEST_S, max(_LATEST_S, whole / 5)) if whole > 0 else _SOONEST_S


def _words(lease: _core.LeaseStatus, left: float) -> str:
    where = ", ".join(filter(None, (lease.node, lease.devices))) or "the worker"
    rest = f"{round(left / 60)} min" if left >= 90 else f"{max(0, int(left))} s"
    clock = time.strftime("%H:%M", time.localtime(lease.end_time))
    clock += " (a job that goes first takes its place)" if _preempted(lease) else ""
    return f"pounce: {where} is yours for {rest} more, until {clock}; then all that is there ends: save what you need"


def cell_number() -> int:
    """Of the notebook's cell that runs now; 0: there is no notebook."""
    here = shell()
    return here.execution_count if here is not None else 0
