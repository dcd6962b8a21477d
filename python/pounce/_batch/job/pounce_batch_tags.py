"""Tags of the runs of MLflow that begin in a batch run. MLflow finds this by an entry point beside it."""

from __future__ import annotations

import contextlib
import json
import os

_EXPERIMENT = "_get_experiment_id"


class Context:
    def in_context(self) -> bool:
        return "POUNCE_BATCH" in os.environ

    def tags(self) -> dict[str, str]:
        with open(os.path.join(os.environ["POUNCE_BATCH"], "tags.json"), encoding="utf-8") as file:
            tags: dict[str, str] = json.load(file)
        if "SLURM_JOB_ID" in os.environ:
            tags["slurm_job_id"] = os.environ["SLURM_JOB_ID"]
        if "SLURMD_NODENAME" in os.environ:
            tags["pounce.node"] = os.environ["SLURMD_NODENAME"]
        _note_store(tags)
        return tags


def _note_store(tags: dict[str, str]) -> None:
    """Where the run begins, for what is reported in this job (keep_reports.py)."""
    import mlflow

    with contextlib.suppress(Exception):  # of another MLflow, whose experiment in use has no public name
        where = {"tracking_uri": mlflow.get_tracking_uri(), "batch": tags["pounce.batch"],
                 "experiment_id": str(getattr(mlflow.tracking.fluent, _EXPERIMENT)())}
        path = os.path.join(os.environ["POUNCE_BATCH"], "mlflow.json")
        with open(os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(where, file)
        os.replace(f"{path}.new", path)
