"""The part of pounce that a program uses in a batch job. Where pounce is not installed this file is the module pounce,
so it imports nothing of pounce.

A checkpoint is the run's: one file in its folder, which the next job of the same run begins with.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import stat
import time
from collections.abc import Iterable
from typing import Any

FOLDER = "POUNCE_BATCH"     # the run's folder; set only in the job
ENDS = "POUNCE_BATCH_ENDS"  # when the job's time ends, in seconds since 1970, if Slurm said it


def checkpoint(obj: Any) -> None:
    """Keeps `obj` for the next job of this run: whole, or the one before stays."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return
    path = os.path.join(folder, "checkpoint")
    temporary = f"{path}.{os.getpid()}.new"
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
            _pickler().dump(obj, file, protocol=5)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def restored(default: Any = None) -> Any:
    """What an earlier job of this run gave to checkpoint() last."""
    path = os.path.join(os.environ.get(FOLDER, ""), "checkpoint")
    if FOLDER not in os.environ or not os.path.lexists(path):
        return default
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
            raise PermissionError(f"{path} could have been written by others: nothing of it was read. "
                                  "Remove it, and begin anew.")
        return pickle.load(file)


def time_left() -> float | None:
    """Seconds until Slurm ends the job; None: not known."""
    ends = os.environ.get(ENDS, "")
    return max(0.0, float(ends) - time.time()) if ends.isdigit() else None


def steps(iterable: Iterable[Any], total: int | None = None) -> Iterable[Any]:
    """A plain loop: a batch job is never told to leave it."""
    return iterable


def report(**values: Any) -> None:
    """Numbers, a status and a file, for the run's reports.json and its MLflow run (docs/reports.md)."""
    form = importlib.import_module("pounce_report_line")  # beside this file in the run's folder
    if os.environ.get(form.VARIABLE):
        plain = {name: value.item() if hasattr(value, "item") else value for name, value in values.items()}
        if plain.get(form.FILE):
            plain[form.FILE] = os.path.abspath(os.fspath(plain[form.FILE]))
        form.write(form.written(plain))


def load_ipython_extension(shell: Any) -> None:
    """So that %load_ext pounce does no harm."""


def _pickler() -> Any:
    try:
        import cloudpickle
    except ImportError:
        return pickle
    return cloudpickle


def __getattr__(name: str) -> Any:
    raise AttributeError("pounce is not installed here: "
                         f"a batch job has its checkpoint, restored, report, steps and time_left, and no {name}")
