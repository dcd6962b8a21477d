"""Runs whose jobs could not tell MLflow of their end: cancelled before they began, or lost with their node."""

from __future__ import annotations

import json
from collections.abc import Iterator

from mlflow.exceptions import MlflowException

from .._batch import run_folder, slurm
from .._batch.run import BatchRun
from ..errors import PounceError
from .submitted_run import OPEN, PounceSubmittedRun

_MOST = 20  # at a time: each is a question to Slurm


def settle(tracking_uri: str) -> None:
    """Gives those of this store the status that Slurm knows. Blocks for Slurm, if there are any that have not ended.

    A failure is no matter: the next one that submits comes by here, too.
    """
    try:
        waiting = list(_open(tracking_uri))
        live = slurm.live() if waiting else set()
        for run in [run for run in waiting if run.job not in live][:_MOST]:
            run.get_status()
    except (PounceError, MlflowException, OSError, ValueError):
        return


def _open(tracking_uri: str) -> Iterator[PounceSubmittedRun]:
    for name in run_folder.names():
        folder = run_folder.home() / name
        if (folder / OPEN).exists():
            project = json.loads((folder / "project.json").read_text())
            if project["variables"].get("MLFLOW_TRACKING_URI") == tracking_uri:
                yield PounceSubmittedRun(project["run"], BatchRun(run_folder.found(name)))
