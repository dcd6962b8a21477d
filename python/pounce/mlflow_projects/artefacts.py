"""Artefacts that parameters of the type `path` name: MLflow copies them to the machine that submits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlflow.exceptions import ExecutionException, MlflowException
from mlflow.tracking import MlflowClient

from ..errors import BadRequest

_MOST_GIB = 4
_RUNS = "runs:/"


def with_paths(entry: Any, parameters: Mapping[str, Any], folder: str | None) -> str:
    """The entry point's command. Artefacts are copied into `folder`, and the command has their paths.

    Raises
    ------
    BadRequest
        There is no such artefact.
    """
    try:
        return str(entry.compute_command(parameters, folder))
    except ExecutionException:  # of a parameter without a value
        raise
    except MlflowException as problem:
        raise _not_had(problem) from None


def check(entry: Any, parameters: Mapping[str, Any]) -> None:
    """Asks the store how large they are. Nothing is copied yet.

    Raises
    ------
    BadRequest
        One is too large for that, or its run is not there.
    """
    for name, declared in entry.parameters.items():
        uri = str(parameters.get(name, declared.default or ""))
        if declared.type == "path" and uri.startswith(_RUNS):
            run, _, path = uri.removeprefix(_RUNS).partition("/")
            try:
                gib = _bytes(MlflowClient(), run, path) / 2**30
            except MlflowException as problem:
                raise _not_had(problem) from None
            if gib > _MOST_GIB:
                raise BadRequest(f"the parameter {name} names an artefact of {gib:.1f} GiB, which MLflow would copy to "
                                 f"this machine: {uri}",
                                 f"Declare it as \"{name}: uri\" in the MLproject, and load it in the program.")


def _bytes(client: MlflowClient, run: str, path: str) -> int:
    """Of a file, or of what is in a folder; stops where it is too much."""
    folder, _, name = path.rpartition("/")
    entries = [each for each in client.list_artifacts(run, folder or None) if not name or each.path == path]
    total = 0
    while entries and total <= _MOST_GIB << 30:
        each = entries.pop()
        if each.is_dir:
            entries += client.list_artifacts(run, each.path)
        total += each.file_size or 0
    return total


def _not_had(problem: MlflowException) -> BadRequest:
    return BadRequest(f"MLflow did not give an artefact that a parameter names: {problem.message.strip().rstrip('.')}",
                      "Name one of a run of this store, as its page shows it: runs:/ID/PATH.")
