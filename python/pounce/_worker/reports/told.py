"""``Reports``: what is reported on this worker, to the notebook, to ``pouncectl status`` and into the MLflow run."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from ..._common.report import FILE, STATUS, STEP, message, number_text, one_line
from .pipe import ReportPipe

_RUNS = "pounce._worker.mlflow_runs"
_MOST_NUMBERS, _MOST_NAME = 12, 64  # of those that pouncectl shows: pounced takes 2 KiB


class Reports:
    """Threads: any. `running`: the job that runs, or None."""

    def __init__(self, core: Any, running: Callable[[], Any], descriptor: int | None):
        self._core, self._running = core, running
        self._order = threading.RLock()  # of all below
        self._task = ""  # that reported last
        self._status, self._numbers, self._run = "", dict[str, str](), ""
        self._count = 0  # of its reports
        self._pictures: set[str] = set()  # that the notebook shows of it
        self._log: Any = None  # the RunLog; None: nothing was logged yet
        self._pipe = ReportPipe(descriptor, self.report) if descriptor is not None else None

    def report(self, content: dict[str, Any]) -> None:
        if isinstance(content.get(STATUS), str):
            content[STATUS] = one_line(content[STATUS])
        with self._order:
            job = self._running()
            if job is not None:
                self._is_of(job.task)
                self._core.show(message(content), [])
                self._show_picture(content.get(FILE))
            self._keep(content)
            self._log_into(run_now(), content)
            self._count += 1

    def logs_into(self, run: str) -> None:
        """What runs here logs into this run of MLflow; empty: into none."""
        with self._order:
            if run != self._run:
                self._run = run
                self._tell()

    def drain(self) -> None:
        """At the end of a task: hears what its programs wrote."""
        if self._pipe is not None:
            self._pipe.drain()

    def flush(self) -> None:
        """Waits until what was reported is in its MLflow run."""
        self.drain()
        if self._log is not None:
            self._log.flush()

    # ---- within ----

    def _is_of(self, task: str) -> None:
        if task != self._task:
            self._task, self._count, self._status = task, 0, ""
            self._numbers.clear()
            self._pictures.clear()

    def _show_picture(self, path: str | None) -> None:
        if path:
            from . import pictures

            if shown := pictures.shown(path, again=path in self._pictures):
                self._pictures.add(path)
                self._core.show(shown, [])

    def _keep(self, content: dict[str, Any]) -> None:
        if content.get(STATUS):
            self._status = content[STATUS]
        for name, value in content.items():
            text = number_text(value)
            if text and len(name) <= _MOST_NAME and name.isascii():
                self._numbers.pop(name, None)
                self._numbers[name] = text
        for name in list(self._numbers)[:-_MOST_NUMBERS]:
            del self._numbers[name]
        self._tell()

    def _tell(self) -> None:
        self._core.tell_reported(self._status, self._numbers, self._run)

    def _log_into(self, run: str, content: dict[str, Any]) -> None:
        numbers = {name: float(value) for name, value in content.items()
                   if name != STEP and isinstance(value, (bool, int, float))}
        if not run or not (numbers or content.get(STATUS) or content.get(FILE)):
            return
        if self._log is None:
            from .run_log import RunLog

            self._log = RunLog()
        step = content.get(STEP)
        at = int(step) if isinstance(step, (int, float)) and abs(step) < 2**63 else self._count
        self._log.add(run, at, numbers, content.get(STATUS) or "", content.get(FILE) or "")


def run_now() -> str:
    """The id of the MLflow run that what runs here logs into; empty: none. MLflow is not imported for it."""
    runs = sys.modules.get(_RUNS)
    return runs.run_now() if runs is not None else ""
