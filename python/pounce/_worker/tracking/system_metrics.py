"""System metrics of the lease, in place of MLflow's monitor, which would measure the whole node.

While a cell or a call runs, a thread looks each second and logs to the run that is active there: also on ranks that log
nothing else. A sample's step is the run's age in seconds, so that one worker's series continues another's.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from ..._common.after_import import AfterImport
from .lease_meter import LeaseMeter
from .process import WorkerProcess

_MODULE = "mlflow.system_metrics.system_metrics_monitor"
_SWITCH, _INTERVAL = "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL"
_NODE = "MLFLOW_SYSTEM_METRICS_NODE_ID"
_SECONDS = 1.0
_SAMPLES = 5  # that are sent together
_ENDS_S = 10.0

_of_runs: set[str] = set()  # runs that were begun with `log_system_metrics=True`
_watch: _Watch | None = None
_active: Callable[[], Any]
_store: Callable[[], Any]
_rank: Callable[[], int | None]
_process: WorkerProcess


def install(process: WorkerProcess, active: Callable[[], Any], store: Callable[[], Any],
            rank: Callable[[], int | None]) -> None:
    """MLflow has just been imported. `active()`: the run to log to, or None; `store()`: MLflow's; `rank()`: this
    process's in a gang."""
    global _process, _active, _store, _rank
    _process, _active, _store, _rank = process, active, store, rank
    if _MODULE in sys.modules:
        _replace()
    else:
        AfterImport(_MODULE, _replace)


def _replace() -> None:
    sys.modules[_MODULE].SystemMetricsMonitor = _Monitor  # type: ignore[attr-defined]


def begin() -> None:
    """A cell or a call has begun, or has imported MLflow."""
    global _watch
    if _watch is None and (_of_runs or os.environ.get(_SWITCH, "").lower() in ("true", "1")):
        _watch = _Watch()


def end() -> None:
    global _watch
    if _watch is not None:
        _watch.stop()
        _watch = None


class _Monitor:
    """What start_run() makes and starts, and end_run() finishes."""

    def __init__(self, run_id: str, *_: Any, **__: Any):
        self._run = run_id

    def start(self) -> None:
        _of_runs.add(self._run)
        begin()

    def finish(self) -> None:
        _of_runs.discard(self._run)


class _Watch:
    def __init__(self) -> None:
        self._over = threading.Event()
        self._samples: dict[str, list[tuple[str, float, int, int]]] = {}  # by run: key, value, time and step
        self._thread = threading.Thread(target=self._run, name="pounce-system-metrics", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Sends what it has; a server that does not answer costs a few seconds at most."""
        self._over.set()
        self._thread.join(_ENDS_S)

    def _run(self) -> None:
        meter, looks = LeaseMeter(_process.visible_gpus), 0
        while not self._over.wait(_seconds()):
            run = _active()
            found = meter.look() if run is not None else {}
            if found and not self._over.is_set():  # on a busy node a look takes long
                self._take(run, found)
                looks += 1
            if looks >= _SAMPLES:
                self._send()
                looks = 0
        self._send()

    def _take(self, run: Any, found: dict[str, float]) -> None:
        now = int(time.time() * 1000)
        step = max(0, now - int(run.info.start_time or now)) // 1000
        samples = self._samples.setdefault(run.info.run_id, [])
        samples += [(_prefix() + name, value, now, step) for name, value in found.items()]

    def _send(self) -> None:
        samples, self._samples = self._samples, {}
        metric = sys.modules["mlflow.entities"].Metric
        for run, values in samples.items():
            with contextlib.suppress(Exception):  # a run that was deleted: its own metrics say so
                _store().log_batch(run, metrics=[metric(*value) for value in values], params=[], tags=[])


def _prefix() -> str:
    node, rank = os.environ.get(_NODE) or _process.node, _rank()
    return f"system/{node}/" if rank is None else f"system/{node}/rank{rank}/"


def _seconds() -> float:
    try:
        return max(0.1, float(os.environ[_INTERVAL]))
    except (KeyError, ValueError):
        return _SECONDS
