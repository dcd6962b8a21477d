"""Runs a program of the user's on a worker, for ``pouncectl run``: its output is shown live, and signals reach it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping

from . import interpreter

_HEARS_S = 0.05   # how late a signal may arrive, and the end be noticed
_ENDS_S = 3.0     # how long a program may take to end when it was told to


def run(words: list[str], environment: Mapping[str, str] | None = None) -> int:
    """The program's exit code; negative: the signal that ended it. A message {"signal": n} to the task goes to the
    program's whole process group. `environment`: variables that the program has beside the worker's."""
    whole = {**os.environ, **(environment or {})}
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True, env=whole) as child:
        try:
            while child.poll() is None:
                message = interpreter.core.answer(_HEARS_S)
                if message is not None and child.poll() is None:
                    _tell(child, json.loads(message)["signal"])
        except BaseException:  # cancelled
            _tell(child, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_ENDS_S)
            raise
        finally:
            _tell(child, signal.SIGKILL)  # also for processes that it started and left behind
    return child.returncode


def run_and_say_where(words: list[str], environment: Mapping[str, str]) -> tuple[int, dict[str, str]]:
    """As ``run``, and where it ran: tags of its MLflow run."""
    where = {"pounce.lease": interpreter.lease, "pounce.node": interpreter.node, "pounce.gpu": interpreter.devices,
             "slurm_job_id": os.environ.get("SLURM_JOB_ID", "")}
    return run(words, environment), {name: value for name, value in where.items() if value}


def _tell(child: subprocess.Popen[bytes], number: int) -> None:
    """Signals the program's whole group; the program itself may be gone."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, number)
