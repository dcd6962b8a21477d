"""MLflow of tasks with a name: they may run when the notebook has ended, and their call waits in a file.

So they bring no run of the notebook's to log into, but where it logs to. A run that such a task begins has its name,
and is below the run that was active where it was submitted. Secrets are not written down: the person is told once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .._common import mlflow_uri
from .._common.mlflow_work import CallRuns, Origin
from .._common.secrets import is_secret
from .._common.settings import mlflow_options
from .._record import calls
from .._record.store import kept
from . import mlflow_runs, mlflow_stores
from .options import Options
from .status_line import output

OURS = "MLFLOW_"
_STORES = ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI")
_MAY_BE_NEEDED = (OURS, "AWS_")
_told: set[str] = set()  # secrets that the person knows of


def of_task(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: Options,
            session: Any) -> CallRuns:
    """Writes the task's record too, since this process may end before it begins a run."""
    _tell_of_secrets(options.name)
    if mlflow_options.FLUENT not in sys.modules:
        return CallRuns([], Origin(name=options.name), _variables(""))
    mlflow_stores.look(session.launcher, 1)
    active = mlflow_runs.active_runs()
    comes_from = replace(mlflow_runs.origin(options.resources.class_), name=options.name,
                         parent=str(active[-1].info.run_id) if active else "")
    record = calls.recorded(function, args, kwargs, options, session.prefix, comes_from.commit, options.name)
    comes_from = mlflow_runs.with_record(comes_from, record and kept(record))
    return CallRuns([], comes_from, _variables(sys.modules["mlflow"].get_tracking_uri()))


def _variables(store: str) -> dict[str, str]:
    """MLflow's, without secrets, and with addresses that hold in other folders."""
    found = {name: value for name, value in os.environ.items() if name.startswith(OURS)}
    if store:
        found["MLFLOW_TRACKING_URI"] = store
    for name in _STORES:
        if found.get(name):
            found[name] = mlflow_uri.without_password(mlflow_uri.absolute(found[name]))
    return {name: value for name, value in found.items() if not is_secret(name, value)}


def _tell_of_secrets(task: str) -> None:
    names = {name for name, value in os.environ.items() if name.startswith(_MAY_BE_NEEDED) and is_secret(name, value)}
    if mlflow_options.FLUENT in sys.modules and is_secret("", sys.modules["mlflow"].get_tracking_uri()):
        names.add("the password in the tracking URI")
    new = sorted(names - _told)
    if new:
        _told.update(new)
        output().end(f"pounce: {task} does not get {', '.join(new)}: the call of a task with a name waits in a file, "
                     "and secrets are not written down. If MLflow's server requires them, put user name and password "
                     "into ~/.mlflow/credentials, or let the task read its token from a file of yours")
