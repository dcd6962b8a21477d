"""What a running task reported last, for the person who waits for it."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._common.report import STATUS, in_words
from .shell import has_page
from .status_line import LiveOutput, is_terminal, live_output, output
from .task import Task


class ReportsShown:
    """On a page one line below the cell, which changes in place. On a terminal, where the task prints too, a line for
    each status that is new. Elsewhere nothing: standard error is for the task's own lines."""

    def __init__(self, task: Task):
        self._task = task
        self._seen: dict[str, Any] = {}
        self._status = ""
        self._line: LiveOutput | None = None

    def update(self) -> None:
        latest = self._task.latest
        if not latest or latest is self._seen:
            return
        self._seen = latest
        if has_page():
            self._line = self._line or live_output()
            self._line.show(_core.printable(f"pounce: {in_words(latest)}"))
        elif is_terminal() and latest.get(STATUS) and latest[STATUS] != self._status:
            self._status = latest[STATUS]
            output().end(_core.printable(f"pounce: {self._status}"))
