"""``RunLog``: puts what is reported into MLflow runs, on a thread of its own, so that no program waits for a server."""

from __future__ import annotations

import collections
import importlib
import os
import signal
import stat
import sys
import threading
import time
from typing import Any, NamedTuple

from .. import mlflow_runs

STATUS_TAG = "pounce.status"
_MOST_WAITING = 10_000   # reports; of more the oldest are left out
_MOST_AT_ONCE = 1000     # metrics: MLflow's own limit
_MOST_FILE_BYTES = 1 << 30


class _Entry(NamedTuple):
    run: str
    at_ms: int
    step: int
    numbers: dict[str, float]
    status: str
    file: str


class RunLog:
    """Threads: any. MLflow is imported here with the first report, if user code has not imported it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: collections.deque[_Entry] = collections.deque()
        self._sends = False
        self._left_out = 0
        self._told: set[str] = set()  # runs of which a failure was told
        threading.Thread(target=self._follow, name="pounce-reports", daemon=True).start()

    def add(self, run: str, step: int, numbers: dict[str, float], status: str, file: str) -> None:
        with self._changed:
            if len(self._waiting) == _MOST_WAITING:
                self._waiting.popleft()
                self._left_out += 1
            self._waiting.append(_Entry(run, int(time.time() * 1000), step, numbers, status, file))
            self._changed.notify_all()

    def flush(self) -> None:
        """Waits until all has been sent. The main thread can be interrupted meanwhile."""
        with self._changed:
            while self._waiting or self._sends:
                self._changed.wait()
            left_out, self._left_out = self._left_out, 0
        if left_out:
            print(f"pounce: the MLflow run lacks {left_out} reports, which came faster than its server took them",
                  file=sys.stderr)

    def _follow(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are the main thread's
        while True:
            with self._changed:
                while not self._waiting:
                    self._changed.wait()
                entries, self._sends = self._next(), True
            try:
                _send(entries)
            except Exception as error:
                self._tell(entries[0].run, error)
            finally:
                with self._changed:
                    self._sends = False
                    self._changed.notify_all()

    def _next(self) -> list[_Entry]:
        """The first ones, of one run; a file ends them."""
        entries = [self._waiting.popleft()]
        count = len(entries[0].numbers)
        while self._waiting and not entries[-1].file and self._waiting[0].run == entries[0].run:
            count += len(self._waiting[0].numbers)
            if count > _MOST_AT_ONCE:
                break
            entries.append(self._waiting.popleft())
        return entries

    def _tell(self, run: str, error: Exception) -> None:
        if run not in self._told:
            self._told.add(run)
            print(f"pounce: the MLflow run {run} lacks what was reported: {type(error).__name__}: {error}",
                  file=sys.stderr)


def _send(entries: list[_Entry]) -> None:
    mlflow, entities = importlib.import_module("mlflow"), importlib.import_module("mlflow.entities")
    run, client = entries[0].run, mlflow.MlflowClient()
    mlflow_runs.logs_into(run)
    metrics = [entities.Metric(name, value, entry.at_ms, entry.step)
               for entry in entries for name, value in entry.numbers.items()]
    status = next((entry.status for entry in reversed(entries) if entry.status), "")
    tags = [entities.RunTag(STATUS_TAG, status)] if status else []
    refused = None
    try:
        if metrics or tags:
            client.log_batch(run, metrics=metrics, tags=tags)
    except mlflow.MlflowException as error:
        if error.error_code != "INVALID_PARAMETER_VALUE" or len(metrics) + len(tags) == 1:
            raise
        refused = _one_by_one(client, run, metrics, tags)
    if entries[-1].file:
        client.log_artifact(run, _checked(entries[-1].file))
    if refused is not None:
        raise refused


def _one_by_one(client: Any, run: str, metrics: list[Any], tags: list[Any]) -> Exception | None:
    """Where MLflow takes one of them not, the others. Returns its last refusal."""
    refused = None
    for one in [dict(metrics=[metric]) for metric in metrics] + ([dict(tags=tags)] if tags else []):
        try:
            client.log_batch(run, **one)
        except Exception as error:
            refused = error
    return refused


def _checked(path: str) -> str:
    facts = os.stat(path)
    if not stat.S_ISREG(facts.st_mode):
        raise OSError(f"{path} is no file")
    if facts.st_size > _MOST_FILE_BYTES:
        raise OSError(f"{path} has {facts.st_size >> 20} MiB, and a reported file is kept up to "
                      f"{_MOST_FILE_BYTES >> 20} MiB: log it with mlflow.log_artifact()")
    return path
