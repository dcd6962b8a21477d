"""MLflow in the notebook's process: the runs that a call logs into, and where they come from.

Nothing here imports MLflow, and nothing is done before the person has imported it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from .._common import here
from .._common.after_import import AfterImport
from .._common.mlflow_work import CallRuns, MlflowState, Origin
from .._common.secrets import is_secret
from .._common.settings import mlflow_options
from .._common.settings.setting import unpacked
from .._common.settings.table import RUNS, SETTINGS
from .._record import calls
from .._record.store import Record, kept, note_call
from ..errors import PounceError
from . import mlflow_stores
from .status_line import output
from .task import Task

_PAGE = "__vsc_ipynb_file__"  # VS Code names the notebook in this variable of it
_SIGNS_IN = ("MLFLOW_", "AWS_", "AZURE_", "GOOGLE_")  # so variables begin that may do it
_keeping: set[threading.Thread] = set()  # they write records
_rerun_of = ContextVar("rerun_of", default="")
_cell_left: MlflowState | None = None  # before the notebook has imported MLflow


def of_cell(job_class: str, launcher: Callable[[], str]) -> Origin:
    """Where a cell comes from. Its runs follow as a setting."""
    runs = mlflow_options.stack() if mlflow_options.FLUENT in sys.modules else []
    if runs:
        mlflow_stores.look(launcher(), 1)
    return replace(origin(job_class), run=_innermost(runs))


def of_call(task: Task, launcher: str, prefix: str = "", is_recorded: bool = False) -> CallRuns | None:
    """What a call that this thread submits logs into. A thread without a run has those of the main thread, as it has
    that one's settings. None: MLflow is not imported here.

    `is_recorded`: the call can be run again when its run has ended.
    """
    if mlflow_options.FLUENT not in sys.modules:
        return None
    runs = active_runs()
    resources = task.asks.resources if task.asks is not None else None
    if runs:
        task.mlflow_run = runs[-1].info.run_id
        workers = max(resources.workers, resources.leases_most) if resources is not None else 1
        mlflow_stores.look(launcher, workers)
    comes_from = replace(origin(resources.class_ if resources is not None else ""), run=_innermost(runs))
    if is_recorded and task.function is not None:
        comes_from = _recorded(task, comes_from, prefix)
    return CallRuns(mlflow_options.as_bytes(runs), comes_from)


def active_runs() -> list[Any]:
    """Of this thread, or else of the main one."""
    runs = mlflow_options.stack()
    if not runs and not _rerun_of.get():
        runs = mlflow_options.stack_of(threading.main_thread().ident or 0)
    return runs


def _innermost(runs: Sequence[Any]) -> str:
    return str(runs[-1].info.run_id) if runs else ""


def logs_into(task: Task, run: str, begins: bool) -> None:
    """The call has begun this run, or has begun to log into it. Returns at once."""
    task.mlflow_run = run
    record = task.record
    if record is not None:
        # Not a daemon: the program may end, and the run then has its record all the same.
        thread = threading.Thread(target=_keep, args=(record, run, begins), name="pounce-record")
        _keeping.add(thread)
        thread.start()


def records_are_kept() -> None:
    """Waits until the records of all calls that have ended are written."""
    for thread in list(_keeping):
        if thread.ident is not None:  # it was started
            thread.join()


def _keep(record: Record, run: str, begins: bool) -> None:
    try:
        note_call(run, kept(record), begins)
    except (OSError, PounceError) as error:
        output().end(f"pounce: this call cannot be run again from its MLflow run: {error}")
    finally:
        _keeping.discard(threading.current_thread())


def _recorded(task: Task, comes_from: Origin, prefix: str) -> Origin:
    assert task.function is not None
    task.record = calls.recorded(task.function, task.args, task.kwargs, task.asks, prefix, comes_from.commit)
    return with_record(comes_from, task.record and task.record.name)


def with_record(comes_from: Origin, record: str | None) -> Origin:
    return replace(comes_from, record=record or "", rerun_of=_rerun_of.get())


@contextlib.contextmanager
def repeating(run: str) -> Iterator[None]:
    """Calls that are submitted meanwhile repeat this run: the runs that they begin say so."""
    before = _rerun_of.set(run)
    try:
        yield
    finally:
        _rerun_of.reset(before)


def origin(job_class: str) -> Origin:
    """Of what is submitted now."""
    library = sys.modules.get("IPython")
    shell = library.get_ipython() if library is not None else None
    if shell is None:
        script = str(getattr(sys.modules["__main__"], "__file__", None) or "")
        path = here.absolute(script) if script else ""
        return Origin(path, 0, _commit(path) if path and mlflow_options.FLUENT in sys.modules else "", job_class)
    name = os.environ.get("JPY_SESSION_NAME", "") or shell.user_ns.get(_PAGE, "")
    return Origin(here.absolute(name) if name else "", shell.displayhook.prompt_count, "", job_class)


@functools.cache
def _commit(path: str) -> str:
    """As MLflow finds it for a run that begins here."""
    try:
        return importlib.import_module("mlflow.utils.git_utils").get_git_commit(path) or ""
    except Exception:  # there is no git, or no repository
        return ""


def secrets() -> dict[str, str]:
    """What this process has at present to sign in to MLflow's server and its stores: for a worker that was refused."""
    return {name: value for name, value in os.environ.items() if name.startswith(_SIGNS_IN) and is_secret(name, value)}


# ---- what a cell left on its worker ----

def cell_left(state: MlflowState | None) -> None:
    """The notebook goes on with the runs, the stores and the autologging that the cell left: at once, or as soon as it
    imports MLflow. In the main thread."""
    global _cell_left
    if state is None or threading.current_thread() is not threading.main_thread():
        return
    if mlflow_options.FLUENT in sys.modules:
        _go_on(state)
    else:
        if _cell_left is None:
            AfterImport("mlflow", _imported)
        _cell_left = state


def _imported() -> None:
    if _cell_left is not None:
        _go_on(_cell_left)


def _go_on(state: MlflowState) -> None:
    mlflow = sys.modules["mlflow"]
    options: dict[str, Any] = {name: pickle.loads(data) for name, data in unpacked(state.options).items()}
    SETTINGS["mlflow"].write(mlflow, options)
    SETTINGS[RUNS].write(mlflow, state.runs)
