"""Keeps what the programs of a batch run report: the newest in reports.json in the run's folder, a status also in its
log, and all of it in the run of MLflow that the job has begun, if there is one. The job's script starts this before
the program.

Needs no pounce. MLflow is imported when the job's program has begun a run (pounce_batch_tags.py notes it).
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
import sys
import time
from typing import Any

FOLDER = sys.argv[1] if len(sys.argv) > 1 else ""
sys.path.append(os.path.join(FOLDER, "without_pounce"))
form: Any = importlib.import_module("pounce_report_line")

END = b"end of reports"  # the line that the script writes behind its program
KEPT_NUMBERS = 12        # in the file: those that were reported last
_SENDS_EACH_S = 1.0
_READS = 64 * 1024
_MOST_WAITING = 10_000   # reports for MLflow
_SOON_S = 5              # an answer of MLflow's server: the job's end may wait for it


class Kept:
    def __init__(self, folder: str):
        self._folder = folder
        self._numbers: dict[str, float] = {}
        self._status, self._count = "", 0
        self._waiting: list[tuple[int, int, dict[str, Any]]] = []  # the time, the step and the report
        self._left_out, self._has_failed, self._run = 0, False, ""

    def hear(self, line: bytes) -> None:
        try:
            content = form.read(line)
        except form.WrongLine as error:
            return print(f"pounce: a line of a report is left out: {error}", file=sys.stderr, flush=True)
        if not content:
            return
        status = content.get(form.STATUS, "")
        if status and status != self._status:
            content[form.STATUS] = self._status = "".join(each if each.isprintable() else " " for each in status)[:200]
            print(f"pounce: {self._status}", file=sys.stderr, flush=True)
        for name, value in content.items():
            if name not in (form.STATUS, form.FILE):
                self._numbers.pop(name, None)
                self._numbers[name] = value
        for name in list(self._numbers)[:-KEPT_NUMBERS]:
            del self._numbers[name]
        step = content.pop("step", self._count)
        self._count += 1
        self._waiting.append((int(time.time() * 1000), int(step) if abs(step) < 2**63 else self._count, content))
        if len(self._waiting) > _MOST_WAITING:
            self._left_out += 1
            del self._waiting[0]

    def write(self) -> None:
        """For pounce, wherever it looks; whole or as it was before."""
        facts = {"status": self._status, "numbers": self._numbers, "count": self._count, "mlflow_run": self._run}
        path = os.path.join(self._folder, "reports.json")
        with contextlib.suppress(OSError):
            with open(os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                json.dump(facts, file)
            os.replace(f"{path}.new", path)

    def log(self) -> None:
        """Into the MLflow run that the job has begun. What comes before it has begun one waits."""
        place = os.path.join(self._folder, "mlflow.json")
        if not self._waiting or self._has_failed or not os.path.exists(place):
            return
        try:
            with open(place, encoding="utf-8") as file:
                self._send(json.load(file))
        except Exception as error:  # of whatever MLflow is here
            self._has_failed = True
            said = f"pounce: the MLflow run lacks what is reported: {type(error).__name__}: {error}"
            print(said, file=sys.stderr, flush=True)

    def _send(self, where: dict[str, str]) -> None:
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", str(_SOON_S))
        from mlflow import MlflowClient
        from mlflow.entities import Metric, RunTag

        client = MlflowClient(where["tracking_uri"])
        self._run = _run_of(client, where)
        if not self._run:
            return
        entries, self._waiting = self._waiting, []
        metrics = [Metric(name, float(value), at, step) for at, step, content in entries
                   for name, value in content.items() if name not in (form.STATUS, form.FILE)]
        tags = [RunTag("pounce.status", self._status)] if self._status else []
        for begin in range(0, max(len(metrics), 1), 900):
            client.log_batch(self._run, metrics=metrics[begin:begin + 900], tags=tags)
        for _, _, content in entries:
            if form.FILE in content:
                client.log_artifact(self._run, content[form.FILE])


def _run_of(client: Any, where: dict[str, str]) -> str:
    """The one that the job began last and has not ended, else the last one."""
    job = os.environ.get("SLURM_JOB_ID", "")
    mine = f"tags.`pounce.batch` = '{where['batch']}'" + (f" and tags.slurm_job_id = '{job}'" if job else "")
    found = client.search_runs([where["experiment_id"]], mine, order_by=["attributes.start_time DESC"], max_results=20)
    running = [run for run in found if run.info.status == "RUNNING"]
    return str((running or found)[0].info.run_id) if found else ""


def main(pipe: str) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the program ends first, and reports that
    script = os.getppid()
    descriptor = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)  # writing, too: it has no end while this lives
    open(f"{pipe}.open", "w").close()
    kept, rest, is_over, sends = Kept(FOLDER), b"", False, 0.0
    waits = select.poll()
    waits.register(descriptor, select.POLLIN)
    while not is_over:
        is_heard = bool(waits.poll(1000 * _SENDS_EACH_S))
        if is_heard:
            *lines, rest = (rest + os.read(descriptor, _READS)).split(b"\n")
            rest = rest if len(rest) < form.LINE_BYTES else b""
            for line in lines:
                is_over = is_over or line == END
                if not is_over:
                    kept.hear(line)
        if os.getppid() != script:  # it was killed, and with it the program
            is_over = True
        if is_over or time.monotonic() >= sends:
            kept.write()
            kept.log()
            sends = time.monotonic() + _SENDS_EACH_S
    kept.write()


if __name__ == "__main__":
    main(sys.argv[2])
