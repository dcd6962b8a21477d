"""The record of a batch run, by which a run of MLflow that it begins can be repeated: what its files are."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from typing import Any

from .._record import software, store
from .run_folder import RunFolder

KIND = "batch"


def is_tracked(files: Mapping[str, bytes]) -> bool:
    """Whether its program may log into MLflow: it is imported here, or named there."""
    return "mlflow" in sys.modules or any(b"mlflow" in data for data in files.values())


def tags_of(folder: RunFolder, files: Mapping[str, bytes], prefix: str, script: str) -> dict[str, str]:
    """Of the runs that it begins. Writes its record."""
    whole = {**files, folder.script.name: script.encode()}
    facts = {
        "kind": KIND,
        "name": folder.name,
        "folder": str(folder.path),
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in whole.items()},
        "env": prefix,
        "software": software.of(prefix),
    }
    return {"pounce.batch": folder.name, store.TAG: store.kept(store.of(facts))}


def changed(facts: Mapping[str, Any], folder: RunFolder) -> list[str]:
    """Names of its files that are not what they were, or gone."""
    found = []
    for name, digest in facts["files"].items():
        try:
            now = hashlib.sha256((folder.path / name).read_bytes()).hexdigest()
        except OSError:
            now = ""
        if now != digest:
            found.append(name)
    return found
