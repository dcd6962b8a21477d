"""A project's run once more: from the same commit, or from the files that were kept with its record."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import mlflow

from .._batch.run_folder import home
from .._common import mlflow_uri
from .._engine.resource_words import did_you_mean
from .._record import sources, store
from ..errors import BadRequest
from .launch import Launch
from .source import Source, fetched
from .submitted_run import PounceSubmittedRun

_SHOWN = 5


def submitted(run: Any, facts: Mapping[str, Any], data: bytes,
              parameters: Mapping[str, Any]) -> tuple[PounceSubmittedRun, list[tuple[str, str]]]:
    """Submits it again with these parameters changed; and what of its code is not what it was, in words. Blocks for
    git and for Slurm."""
    known = {**facts["parameters"], **{name: path for name, (path, _) in facts["inputs"].items()}}
    differences: list[tuple[str, str]] = []
    with _source(facts, data, differences) as source:
        launch = Launch(source, facts["entry_point"], {**known, **parameters}, facts["commit"] or None, facts["config"],
                        facts["manager"])
        if unknown := [name for name in parameters if name not in {*known, *launch.parameters}]:
            names = sorted({*known, *launch.parameters})
            raise BadRequest(f"there was no parameter {unknown[0]}{did_you_mean(unknown[0], names)}",
                             f"The parameters are {', '.join(names) or 'none'}.")
        uri = mlflow_uri.absolute(mlflow.get_tracking_uri())
        return launch.submitted(uri, run.info.experiment_id, {store.RERUN_OF: run.info.run_id}), differences


@contextlib.contextmanager
def _source(facts: Mapping[str, Any], data: bytes, differences: list[tuple[str, str]]) -> Iterator[Source]:
    if not facts["folder"]:
        with _at_its_commit(facts) as source:
            yield source
        return
    folder = Path(facts["folder"])
    found = sources.changes(facts["sources"], folder)
    differences += [("data", f"{name} in {folder} {_state(folder / name)}") for name in found.lost[:_SHOWN]]
    if not found.kept:
        yield Source(facts["uri"], folder, None)
        return
    names = ", ".join(found.kept[:_SHOWN]) + (f" and {more} more" if (more := len(found.kept) - _SHOWN) > 0 else "")
    differences.append(("code", f"{names} in {folder} changed since; the rerun has the files as they were"))
    home().mkdir(mode=0o700, exist_ok=True)
    clone = Path(tempfile.mkdtemp(prefix=".clone-", dir=home()))
    try:
        sources.restore(data, facts["sources"], folder, clone)
        yield Source(facts["uri"], clone, clone)
    finally:
        shutil.rmtree(clone, ignore_errors=True)


@contextlib.contextmanager
def _at_its_commit(facts: Mapping[str, Any]) -> Iterator[Source]:
    with contextlib.ExitStack() as stack:
        try:
            source = stack.enter_context(fetched(facts["uri"], facts["commit"]))
        except BadRequest as problem:
            raise BadRequest(f"the commit {facts['commit']} of the run cannot be had: {problem.text}",
                             "A rerun needs that very commit in its repository; mlflow run takes another."
                             ) from None
        yield source


def _state(path: Path) -> str:
    return "has changed since" if path.exists() else "is gone"
