"""Artefacts that parameters of the type `path` name: MLflow copies them to the machine that submits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlflow.tracking import MlflowClient

from ..errors import BadRequest

_MOST_GIB = 4
_RUNS = "runs:/"


def check(entry: Any, parameters: Mapping[str, Any]) -> None:
    """Asks the store how large they are. Nothing is copied yet.

    Raises
    ------
    BadRequest
        One is too large for that.
    """
    for name, declared in entry.parameters.items():
        uri = str(parameters.get(name, declared.default or ""))
        if declared.type == "path" and uri.startswith(_RUNS):
            run, _, path = uri.removeprefix(_RUNS).partition("/")
            gib = _bytes(MlflowClient(), run, path) / 2**30
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
