"""``Queue``: the user's own pounce jobs as Slurm shows them at that moment."""

from __future__ import annotations

import time

from .. import _core
from ..errors import public
from .text_table import Rows


class Row(_core.QueueRow):
    """One job. Times are seconds since 1970; 0 where Slurm gives none. While it waits, `reason` is Slurm's word and
    `why` says it plainly."""

    __slots__ = ()


@public
class Queue(Rows[Row]):
    """A list of ``Row``: has a length, an order and items; shows itself as a table."""

    _COLUMNS = ("job", "class", "state", "reason", "node", "devices", "since")

    def __init__(self, rows: list[Row], launcher: str):
        super().__init__(rows)
        self.launcher = launcher
        self._nothing = "no worker processes" if launcher == "local" else "no jobs in the queue"
        self._now = time.time()

    def _cells(self, row: Row) -> tuple[str, ...]:
        started = row.start_time if row.state.lower().startswith(("run", "active", "idle", "busy")) else 0
        since = started or row.submit_time
        reason = row.why or ("" if row.reason == "None" else row.reason)  # Slurm's word for nothing to wait for
        return (str(row.job), row.class_, row.state, reason, row.node, row.devices, self._ago(since))

    def _ago(self, since: int) -> str:
        seconds = int(max(0, self._now - since)) if since else 0
        if seconds < 120:
            return f"{seconds} s"
        return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h {seconds % 3600 // 60} min"
