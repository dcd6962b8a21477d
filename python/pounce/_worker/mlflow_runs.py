"""MLflow on a worker: cells and calls log into the notebook's runs, and nothing here ends a run of the notebook's.

The runs of a call are there while it runs; those of cells stay, as in a kernel, until the process ends. Thread: the
main one. Nothing is imported before user code has imported MLflow.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from .._common.mlflow_work import BEGUN, CallRuns, MlflowState, Origin
from .._common.settings import mlflow_options
from .._common.settings.setting import differing, packed
from .tracking import variables
from .tracking.process import WorkerProcess

_REGISTRY, _CONTEXT = "_tracking_store_registry", "_run_context_provider_registry"  # MLflow's, without a public name
_SERVICE = "mlflow.tracking._tracking_service.utils"
_LOGS, _WRITES_FILES = "MLflowAsyncLoggingLoop", "MLflowAsyncArtifactsLoggingLoop"  # its threads

_is_imported = False
_here: dict[str, str] = {}  # tags of this worker
_show: Callable[[str, dict[str, Any]], None] | None = None  # sends the kernel a message
_origin = Origin()  # of the running cell or call
_coming: list[bytes] = []  # the runs that were active where the running call was submitted
_theirs: set[str] = set()  # their ids
_of_cells: list[Any] = []  # the stack of the cells, while a call runs
_tagged: set[str] = set()  # runs that have the tags of this worker
_announced: set[tuple[str, str]] = set()  # runs that the kernel knows of, each with the record of a call
_logged: set[str] = set()  # runs of the notebook's that the running cell has logged into
_rank: int | None = None  # in the gang that runs
_is_silent = False  # this is a rank that does not log
_silent_folder: Any = None  # what it writes as files goes there; None: it has written nothing yet
_making_folder = threading.Lock()


def is_here() -> bool:
    """Whether MLflow is imported: not while another thread still imports it."""
    return _is_imported and mlflow_options.FLUENT in sys.modules


def run_now() -> str:
    """The id of the run that reports of the running cell or call go into; empty: none."""
    if _is_silent:
        return ""
    stack = mlflow_options.main_stack() if is_here() else None
    if stack is None:  # the main thread has not looked
        return _origin.run
    return str(stack[-1].info.run_id) if stack else ""


def imported(here: dict[str, str], process: WorkerProcess) -> None:
    """MLflow has just been imported here. `here`: tags of this worker."""
    global _here, _show, _is_imported
    _here, _show, _is_imported = here, process.show, True
    if not is_here():  # a part of MLflow that only traces
        return
    registry = getattr(sys.modules[_SERVICE], _REGISTRY)
    store = registry.get_store

    def get_store(*args: Any, **kwargs: Any) -> Any:
        """Called before anything is read or logged."""
        own = store(*args, **kwargs)
        if _is_silent:
            from .silent_store import SilentStore

            return SilentStore(own, _folder_of_silent())
        _tag(own)
        return own

    registry.get_store = get_store
    _tracking().install(process)
    _system_metrics().install(process, _run_of_the_lease, store, lambda: _rank)
    getattr(importlib.import_module("mlflow.tracking.context.registry"), _CONTEXT).register(_Context)
    if _coming:
        _adopt()
    _system_metrics().begin()


# ---- calls ----

def begin_call(work: CallRuns | None) -> None:
    """The call logs into these runs; None: its kernel has not imported MLflow."""
    global _coming, _of_cells, _origin
    if work is not None and work.variables:
        variables.set_for_call(work.variables)
    _origin = work.origin if work is not None else Origin()
    _coming = work.runs if work is not None else []
    if is_here():
        _of_cells = list(mlflow_options.stack())
        _adopt()
        _tracking().call_begins()
        _system_metrics().begin()


def _adopt() -> None:
    try:
        _theirs.update(run.info.run_id for run in mlflow_options.make_active(_coming))
    except Exception as error:  # of another MLflow
        mlflow_options.stack().clear()
        print(f"pounce: the notebook's MLflow run is not active here: {type(error).__name__}: {error}", file=sys.stderr)


def end_call(failed: bool) -> None:
    """Ends the runs that the call began and left open, as at the end of a process. The notebook's go on."""
    global _coming, _of_cells, _origin
    cells, _coming, _of_cells = _of_cells, [], []
    _origin = replace(_origin, run="")
    try:
        if is_here():
            _end_runs(failed, cells)
    finally:
        variables.put_back()


def _end_runs(failed: bool, cells: list[Any]) -> None:
    _system_metrics().end()
    try:
        while (stack := mlflow_options.stack()) and stack[-1].info.run_id not in _theirs:
            sys.modules[mlflow_options.FLUENT].end_run("FAILED" if failed else "FINISHED")
        _flush()
    except Exception as error:
        print(f"pounce: MLflow could not end this call's run: {type(error).__name__}: {error}", file=sys.stderr)
    finally:
        mlflow_options.stack()[:] = cells
        _theirs.clear()


# ---- cells ----

def begin_cell(origin: Origin | None) -> None:
    global _origin
    _origin = origin or Origin()
    _logged.clear()
    if is_here():
        _tracking().call_begins()
        _system_metrics().begin()


def end_cell() -> MlflowState | None:
    """What the cell left; None: MLflow is not imported here."""
    global _origin
    _origin = replace(_origin, run="")
    if not is_here():
        return None
    _system_metrics().end()
    try:
        _flush()
        _show_links()
    except Exception as error:
        print(f"pounce: MLflow has not sent everything: {type(error).__name__}: {error}", file=sys.stderr)
    options = differing(mlflow_options.read(sys.modules["mlflow"]), mlflow_options.USUAL)
    return MlflowState(packed(options, {}), mlflow_options.as_bytes(mlflow_options.stack()))


def let_go() -> None:
    """Takes the runs off without ending them: another notebook comes, or this process ends, when MLflow would end
    them."""
    if is_here():
        mlflow_options.stack().clear()


def process_ends() -> None:
    let_go()
    if is_here():
        _tracking().process_ends()


def _tracking() -> Any:
    """Needs modules that a call without MLflow does without."""
    from .tracking import hooks

    return hooks


def _system_metrics() -> Any:
    from .tracking import system_metrics

    return system_metrics


def _run_of_the_lease() -> Any:
    """The run that the system metrics of this process belong to: the innermost one that the server knows."""
    runs = mlflow_options.stack_of(threading.main_thread().ident or 0)
    return next((run for run in reversed(runs) if not _is_silent or run.info.run_id in _theirs), None)


def _flush() -> None:
    """Waits for what is logged asynchronously."""
    threads = {thread.name for thread in threading.enumerate()}
    if _LOGS in threads:  # a flush would start the thread anew, and stopping that takes a second of each later call
        getattr(sys.modules[_SERVICE], _REGISTRY).get_store().shut_down_async_logging()
    if _WRITES_FILES in threads and mlflow_options.stack():
        sys.modules[mlflow_options.FLUENT].flush_artifact_async_logging()
    _tracking().call_ends()


def _show_links() -> None:
    """Where the runs that the cell has logged into can be seen."""
    uri = sys.modules["mlflow"].get_tracking_uri()
    scheme, _, address = uri.partition("://")
    if scheme not in ("http", "https"):
        return
    for run in mlflow_options.stack():
        if run.info.run_id in _logged:
            place = f"{scheme}://{address.rpartition('@')[2].rstrip('/')}/#/experiments/{run.info.experiment_id}"
            print(f"pounce: logged into {run.info.run_name}: {place}/runs/{run.info.run_id}", flush=True)


# ---- what a run says about where it ran ----

class _Context:
    """A run that begins here is tagged by MLflow itself."""

    def in_context(self) -> bool:
        return True

    def tags(self) -> dict[str, str]:
        return _tags() | ({} if mlflow_options.stack() else _tags_of_named())


def _tag(store: Any) -> None:
    runs = mlflow_options.stack()
    if runs:
        logs_into(runs[-1].info.run_id, store)


def logs_into(run: str, store: Any = None) -> None:
    """Tags a run of the notebook's once, when something is about to be logged. Without the tags the run is as good: a
    store that cannot take them will say so itself."""
    _logged.add(run)
    if _show is not None and (run, _origin.record) not in _announced:
        _announced.add((run, _origin.record))
        _show(BEGUN, {"run": run, "begins": run not in _theirs})
    if run in _tagged:
        return
    _tagged.add(run)
    store = store or getattr(sys.modules[_SERVICE], _REGISTRY).get_store()
    tag = sys.modules["mlflow.entities"].RunTag
    with contextlib.suppress(Exception):
        store.log_batch(run, metrics=[], params=[], tags=[tag(name, value) for name, value in _tags().items()])


def _tags_of_named() -> dict[str, str]:
    """For a run that a task with a name begins, if its code says nothing else."""
    found = {"mlflow.runName": _origin.name, "mlflow.parentRunId": _origin.parent}
    return {name: value for name, value in found.items() if value}


def _tags() -> dict[str, str]:
    found = {
        **_here,
        **_origin.source_tags(),
        "slurm_job_id": os.environ.get("SLURM_JOB_ID", ""),
        "pounce.class": _origin.job_class,
        "pounce.record": _origin.record,
        "pounce.rerun_of": _origin.rerun_of,
    }
    return {name: value for name, value in found.items() if value}


# ---- ranks ----

@contextlib.contextmanager
def only_from_rank_0(rank: int) -> Iterator[None]:
    """The other ranks run the same code; what they log goes nowhere."""
    global _rank
    _rank = rank
    try:
        with contextlib.nullcontext() if rank == 0 else _silent():
            yield
    finally:
        _rank = None


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    global _is_silent, _silent_folder
    _is_silent = True
    _forget_places()
    try:
        yield
    finally:
        if is_here():
            stack = mlflow_options.stack()  # no store knows the runs that it has begun
            stack[:] = [run for run in stack if run.info.run_id in _theirs]
        _is_silent = False
        _forget_places()
        if _silent_folder is not None:
            _silent_folder.cleanup()
            _silent_folder = None


def _folder_of_silent() -> str:
    """Made when MLflow first looks for a place: most programs of ranks do not use it. Any thread."""
    global _silent_folder
    import tempfile

    with _making_folder:
        if _silent_folder is None:
            _silent_folder = tempfile.TemporaryDirectory(prefix="pounce-rank-")
        return str(_silent_folder.name)


def _forget_places() -> None:
    """Where MLflow writes the files of each run that it has seen here."""
    if is_here():
        getattr(sys.modules[_SERVICE], "_artifact_repos_cache", {}).clear()
