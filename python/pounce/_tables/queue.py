"""``Queue``: the user's own pounce jobs as Slurm shows them at that moment."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from .. import _core
from ..errors import public
from .text_table import as_html, as_text


class Row(_core.QueueRow):
    """One job. Times are seconds since 1970; 0 where Slurm gives none. While it waits, `reason` is Slurm's word and
    `why` says it plainly."""

    __slots__ = ()


@public
class Queue:
    """A list of ``Row``: has a length, an order and items; shows itself as a table."""

    _COLUMNS = ("job", "class", "state", "reason", "node", "devices", "since")

    def __init__(self, rows: list[Row], launcher: str):
        self.rows = rows
        self.launcher = launcher
        self._now = time.time()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __repr__(self) -> str:
        if not self.rows:
            return self._nothing()
        return as_text(self._table())

    def _repr_html_(self) -> str:
        if not self.rows:
            return f"<i>{self._nothing()}</i>"
        return as_html(self._table())

    def _table(self) -> list[tuple[str, ...]]:
        return [self._COLUMNS, *map(self._cells, self.rows)]

    def _nothing(self) -> str:
        return "no worker processes" if self.launcher == "local" else "no jobs in the queue"

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
