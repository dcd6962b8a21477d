"""``PounceSubmittedRun``: what MLflow and the caller hold of a project whose job is with Slurm."""

from __future__ import annotations

import contextlib
import sys

from mlflow.projects.submitted_run import SubmittedRun
from mlflow.tracking import MlflowClient

from .._batch.run import BatchRun
from ..errors import PounceError

_CANCEL_TAKES_S = 120
_STOPPED = 128 + 15  # the exit code of a program that Slurm has ended
_OF_SLURM = ("CANCELLED", "TIMEOUT", "DEADLINE", "PREEMPTED", "REVOKED")
_OPEN = ("RUNNING", "SCHEDULED")
OPEN = "open"  # a file of a run's folder, until MLflow knows its end


class PounceSubmittedRun(SubmittedRun):
    """The job goes on without it, and tells MLflow itself how it ends."""

    def __init__(self, run_id: str, batch: BatchRun):
        super().__init__()
        self._run_id, self.batch = run_id, batch

    @property
    def run_id(self) -> str:
        return self._run_id

    @property
    def job(self) -> int:
        """Slurm's number."""
        return self.batch.job

    def get_status(self) -> str:
        """SCHEDULED, RUNNING, FINISHED, FAILED or KILLED, as Slurm and the job's script say. Blocks for Slurm."""
        status = self._status()
        if status not in _OPEN:
            self._settle(status)
        return status

    def wait(self) -> bool:
        """Shows what the job prints until it has ended; True: it went well. Ctrl-C asks what becomes of the job."""
        try:
            self.batch.follow()
        except KeyboardInterrupt:
            if self._user_cancels():
                raise  # MLflow calls cancel()
            print(f"pounce: job {self.job} goes on; scancel {self.job} ends it", file=sys.stderr, flush=True)
            raise SystemExit(130) from None
        return self.get_status() == "FINISHED"

    def cancel(self) -> None:
        """Ends the job, waiting or running, and waits for its end."""
        self.batch.cancel()
        with contextlib.suppress(PounceError):  # its state says how it ended
            self.batch.result(_CANCEL_TAKES_S)
        self.get_status()

    def _user_cancels(self) -> bool:
        try:
            return input(f"\nEnd job {self.job}, too? Otherwise it goes on. [y/N] ").strip().lower() in ("y", "yes")
        except (EOFError, KeyboardInterrupt, RuntimeError):  # nobody is there to answer, or wants to
            return False

    def _status(self) -> str:
        now = self.batch.standing()
        if now.state in ("written", "waiting"):
            return "SCHEDULED"
        if now.state in ("running", "done"):
            return "RUNNING" if now.state == "running" else "FINISHED"
        is_stopped = now.exit_code == _STOPPED or now.word.rstrip("+") in _OF_SLURM
        return "KILLED" if is_stopped else "FAILED"

    def _settle(self, status: str) -> None:
        """Of a job that could not tell MLflow of its end: it never began, or its node is gone."""
        client = MlflowClient()
        if client.get_run(self._run_id).info.status in _OPEN:
            client.set_terminated(self._run_id, status)
        for name in ("secrets.json", OPEN):
            (self.batch.folder / name).unlink(missing_ok=True)
