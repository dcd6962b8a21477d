"""The record of a project's run, by which it can be repeated: where its code came from, and what its files were."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .._common import here
from .._record import software, sources, store
from .source import Source

KIND = "project"


def of(source: Source, entry_point: str, parameters: Mapping[str, Any], inputs: Mapping[str, str],
       keys: Mapping[str, Any], manager: str | None, prefix: str) -> store.Record:
    """Of a run that is about to be submitted. `inputs`: parameters that name files, and these. `keys`: the backend's
    configuration. `prefix`: of the environment, empty for this process's own."""
    marks, archive = ({}, b"") if source.clone else sources.taken(source.folder)
    return store.of({
        "kind": KIND,
        "uri": source.uri,
        "commit": source.commit,
        "folder": "" if source.clone else os.path.abspath(source.folder),
        "sources": marks,
        "entry_point": entry_point,
        "parameters": {name: str(value) for name, value in parameters.items()},
        "inputs": {name: [path, mark] for name, path in inputs.items() if (mark := sources.mark_of(path))},
        "config": _plain(keys),
        "manager": manager,
        "software": software.of(prefix),
    }, archive)


def inputs_of(entry: Any, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Files of this machine that parameters of the types `path` and `uri` name. MLflow takes a relative path from the
    current folder."""
    found = {}
    for name, declared in entry.parameters.items():
        value = str(parameters.get(name, declared.default or ""))
        if declared.type in ("path", "uri") and value:
            path = value.removeprefix("file://")
            if "://" not in path and not path.startswith("runs:"):
                found[name] = here.absolute(path)
    return found


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)
