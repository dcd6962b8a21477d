"""Runs as MLflow's store has them. Nothing of their artefacts is copied here, however large they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import mlflow
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from .._record.store import RERUN_OF, TAG
from ..errors import BadRequest

BATCH = "pounce.batch"
_ID = re.compile(r"(?:runs:/)?([\w-]{1,64})/?")
_OPEN = ("RUNNING", "SCHEDULED")
_MOST = 1000  # runs of one batch run


def ended(word: str) -> Any:
    """The run that `word` names (``runs:/ID``), which has ended and was recorded.

    Raises
    ------
    BadRequest
        There is none in this store, it was deleted, it goes on, or pounce has no record of it.
    """
    match = _ID.fullmatch(word)
    if match is None:
        raise BadRequest(f"{word!r} names no run",
                         "Write runs:/ and the run's id, as MLflow's page of the run shows it.")
    run = found(match[1])
    id = run.info.run_id
    if run.info.lifecycle_stage == "deleted":
        raise BadRequest(f"the run {id} was deleted", f"Restore it first: mlflow runs restore --run-id {id}.")
    if run.info.status in _OPEN:
        raise BadRequest(f"the run {id} is {run.info.status}", "Repeat it when it has ended; mlflow.end_run() ends one "
                         "that a notebook has begun.")
    if TAG not in run.data.tags:
        why = ("cells have logged into it, or many calls of one map" if "pounce.lease" in run.data.tags
               else "pounce has not run it, or its program had no MLflow when it was submitted")
        raise BadRequest(f"pounce has no record of the run {id}: {why}",
                         "Runs of projects, of batch runs and of submitted functions can be repeated.")
    return run


def found(id: str) -> Any:
    try:
        return MlflowClient().get_run(id)
    except MlflowException as problem:
        place = mlflow.get_tracking_uri().rpartition("@")[2]
        if problem.error_code == "RESOURCE_DOES_NOT_EXIST":
            raise BadRequest(f"there is no run {id} in {place}", "If it is of another store, set MLFLOW_TRACKING_URI "
                             "or mlflow.set_tracking_uri() to that one.") from None
        raise BadRequest(f"MLflow's store {place} did not give the run {id}: {problem.message}",
                         "See whether its server runs.") from None


def of_batch(name: str, experiment: str, rerun_of: str = "") -> list[str]:
    """The ids of the runs that a batch run has begun, the earliest first."""
    query = f"tags.`{BATCH}` = '{name}'" + (f" and tags.`{RERUN_OF}` = '{rerun_of}'" if rerun_of else "")
    runs = MlflowClient().search_runs([experiment], query, max_results=_MOST, order_by=["attributes.start_time ASC"])
    return [run.info.run_id for run in runs]


def begun(run: Any) -> Any:
    """A new run of the same name, in the same experiment."""
    return MlflowClient().create_run(run.info.experiment_id, run_name=run.info.run_name,
                                     tags={RERUN_OF: run.info.run_id})


def active(run: Any) -> Any:
    return mlflow.ActiveRun(run)


def end(id: str, status: str, values: Mapping[str, float]) -> None:
    """`values`: metrics to log before."""
    client = MlflowClient()
    for name, value in values.items():
        client.log_metric(id, name, value)
    client.set_terminated(id, status)


def differences(old: Any, new: Any) -> Iterator[tuple[str, str]]:
    """Of what two runs logged of their data and their GPUs, in words."""
    before, now = _datasets(old), _datasets(new)
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            yield "data", (f"the data set {name} has the digest {now.get(name, 'none')}, and had "
                           f"{before.get(name, 'none')}")
    gpus = [re.sub(r"\(.*?\)", "", run.data.tags.get("pounce.gpu", "")) for run in (old, new)]  # without their numbers
    if gpus[0] != gpus[1]:
        yield "environment", f"the GPUs {gpus[1] or 'none'} were {gpus[0] or 'none'}"


def _datasets(run: Any) -> dict[str, str]:
    """The digest of each data set that the run has logged."""
    inputs = run.inputs.dataset_inputs if run.inputs is not None else ()
    return {each.dataset.name: each.dataset.digest for each in inputs}
