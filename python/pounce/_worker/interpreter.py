"""``python -m pounce._worker``: the interpreter that runs users' functions, one at a time, in its main thread.

``pounce-worker`` (the supervisor) starts it, and hands over descriptors and three facts in POUNCE_* variables; user
code sees none of them. Socket work, heartbeats, cancel and live output are C++ (``_core.Worker``) and never need the
GIL. Nothing heavy is imported before the first task: until then the user's GPU is idle.
"""

from __future__ import annotations

import builtins
import faulthandler
import functools
import importlib
import os
import sys
import time
import types
from collections.abc import Callable
from typing import Any

from .. import _core
from .._common import here, notebook_process, task_end
from .._common.after_import import AfterImport
from .._common.notebook_process import NotebookProcess
from .._common.serialize import NO_ARGUMENTS, dumps, loads
from .._common.submitted_functions import Fresh, SubmittedFunctions
from . import extension_lock, nested_joblib, standard_library
from .call_limit import CallLimit
from .import_clock import ImportClock
from .kernel_calls import CELLS, is_of, is_run_again, run_call
from .modules_ahead import ModulesAhead
from .peak_memory import PeakMemory
from .reports.told import Reports

core: Any = None  # _core.Worker, in a worker's process; cells send their displays through it
# Called when a task has run and none waits; returns seconds until it is to be called again.
between_tasks: Callable[[], float | None] | None = None
at_the_end: Callable[[], None] | None = None  # called when no more tasks come
node = devices = ports = lease = ""
workers = 1  # of the lease
state_folder = ""  # pounced's, as its machine names it: visible here only if the two share it; empty: they do not
visible_devices: str | None = None  # CUDA_VISIBLE_DEVICES, before user code could change it
cells: Any = None  # the CellStreams of this worker; None: no cell has run here
running: Any = None  # the _core.Job whose function runs
reports: Any = None  # the Reports of this worker
runner: Runner | None = None
process = 0  # this worker's; a process that it forks has another
report_pipe: int | None = None  # its end of the pipe that POUNCE_REPORT names

# A header is small (message_limits.h); the whole traceback is in the pickled exception.
_TRACEBACK_CHARS = 16_000
# What the first call imports, and the first run of a gang.
_FOR_CALLS, _FOR_GANGS = "pounce._worker.call_settings", "pounce._worker.rank_run"
_MLFLOW = "mlflow"
_SHORTEST_PROGRAM_S = 0.0002  # no program begins and reports something within that


_made: Any = tuple.__new__  # a record of all its values: sooner than by its class, which names them


class Runner:
    """Turns jobs into outcomes."""

    def __init__(self, where: dict[str, str], ahead: ModulesAhead, limit: CallLimit) -> None:
        self._limit = limit
        self._where = where  # node and devices, for the outcomes that a later kernel reads
        self._functions = SubmittedFunctions()
        self._peak_memory = PeakMemory()
        self._imports = ImportClock()
        self._imports.start()
        self._ahead = ahead
        self._start = 0.0  # of the running job's function, on the monotonic clock
        self._before = 0.0  # the imports' seconds when the running job began, less the time that it had waited

    def execute(self, job: Any) -> _core.JobOutcome:
        global running
        running = job
        try:
            parts = job.parts
            outcome = self._execute(job, parts)
            return _kept(job, outcome, self._where) if parts.kept_in else outcome
        finally:
            running = None
            self._ahead.task_ended()

    def _execute(self, job: Any, parts: _core.JobParts) -> _core.JobOutcome:
        start = end = 0.0
        stage = "its function was unpickled"
        self._peak_memory.begin(time.monotonic())
        self._before = self._imports.seconds - self._ahead.waited(parts.received)
        try:
            here.follow()
            if parts.settings:
                stage = "the notebook's settings were written"
                _follow_settings(parts.settings, job)
            if parts.command:
                stage = "the command was started"
                return self._command(job)
            if parts.kept_in:
                function, args, kwargs, *more = _kept_call(job)
            else:
                function = self._function(job, parts.function)
                stage = "its arguments were unpickled"
                if parts.pickle == NO_ARGUMENTS:
                    args, kwargs, more = (), {}, []
                else:
                    args, kwargs, *more = loads(parts.pickle, parts.buffers, _resolver(job))
            streams, runs, runs_again = (*more, None, None, None)[:3]
            if function is run_call:  # with a name too
                runs_again = is_run_again(args[0])
            if streams or (cells is not None and cells.are_here):
                _begin_streams(function, streams)
            is_tracked = _begin_runs(function, runs)
            self._limit.job_begins()
            stage = ""
            self._limit.function_begins(function, bool(parts.kept_in), bool(runs_again))
            start = self._start = time.monotonic()
            try:
                value = function(*args, **kwargs)
            finally:
                self._limit.function_ends()
                end = time.monotonic()
                if end - start >= _SHORTEST_PROGRAM_S:
                    hear_reports()
                if is_tracked or _MLFLOW in sys.modules:
                    _end_runs(function)
                _write_back_files()
            del args, kwargs
            try:
                pickle, buffers, _ = dumps(value, to_host=True)
            except Exception as error:
                return _core.JobOutcome(error=_not_picklable(value, error), figures=self._figures(start, end))
            return _made(_core.JobOutcome, (True, pickle, buffers, None, self._figures(start, end)))
        except BaseException as error:  # SystemExit too: it ends the task, not the worker
            at_limit = not stage and self._limit.is_met_by(error)
            return _failure(job, error, stage, at_limit)._replace(figures=self._figures(start, end))
        finally:
            flush()

    def _figures(self, start: float, end: float) -> _core.RunFigures:
        peak = self._peak_memory.bytes(time.monotonic())
        return _made(_core.RunFigures, (start, end, peak, self._imports.seconds - self._before))

    def so_far(self) -> tuple[float, float]:
        """Seconds that the running job's function has run, and that the job has waited for imports."""
        return time.monotonic() - self._start, self._imports.seconds - self._before

    def describe(self, job: Any, error: BaseException) -> _core.JobOutcome:
        """The outcome of a job whose interrupt struck between execute's lines."""
        now = time.monotonic()
        outcome = _failure(job, error, "")._replace(figures=_core.RunFigures(now, now))
        return _kept(job, outcome, self._where) if job.kept_in else outcome

    def _command(self, job: Any) -> _core.JobOutcome:
        """Runs a command line as a child, whose output is ours: it is shown live. The outcome is JSON, not a pickle."""
        import json

        from . import child

        start = time.monotonic()
        code = child.run(json.loads(job.function_pickle))
        hear_reports()
        figures = self._figures(start, time.monotonic())
        return _core.JobOutcome(True, json.dumps({"exit_code": code}).encode(), figures=figures)

    def _function(self, job: Any, id: bytes) -> Callable[..., Any]:
        function = self._functions.function(id, lambda: job.function_pickle)
        return function.function() if type(function) is Fresh else function


def _resolver(job: Any) -> Callable[[int], Any]:
    """Gives the values of the refs in a job's arguments: each is unpickled once per task."""

    @functools.cache
    def value(index: int) -> Any:
        kept: _core.PickledObject = job.object(index)
        if kept.buffers and type(kept.buffers[0]) is _core.DeviceMemory:
            from .._common import device_pickle

            return device_pickle.loads(kept.pickle, kept.buffers)
        return loads(kept.pickle, kept.buffers)

    return value


def _kept_call(job: Any) -> tuple[Any, ...]:
    from .._common import result_store
    from . import kernel_calls

    _, (data, *buffers) = result_store.read(os.path.join(job.kept_in, f"{job.task}.call"))
    return kernel_calls.kept_call(loads(data, buffers))


def _begin_streams(function: Callable[..., Any], streams: dict[str, bytes] | None) -> None:
    from .._common import random_streams

    if cells is not None:
        cells.before_call(function, streams or {})
    elif streams:
        random_streams.begin(streams)


def _begin_runs(function: Callable[..., Any], runs: Any) -> bool:
    """Whether MLflow is in use, here or in the notebook. Cells see to their runs themselves."""
    if (runs is None and _MLFLOW not in sys.modules) or is_of(function, CELLS):
        return False
    from . import mlflow_runs

    mlflow_runs.begin_call(runs)
    log_into(mlflow_runs.run_now())
    return True


def _end_runs(function: Callable[..., Any]) -> None:
    if not is_of(function, CELLS):
        from . import mlflow_runs

        is_failure = sys.exc_info()[0] is not None
        try:
            send_reports()
        finally:
            mlflow_runs.end_call(failed=is_failure)
            log_into("")


def hear_reports() -> None:
    """At the end of a task: those that its programs wrote."""
    if reports is not None:
        reports.drain()


def send_reports() -> None:
    """Waits until they are in the MLflow run."""
    if reports is not None:
        reports.flush()


def log_into(run: str) -> None:
    """What runs here logs into this run of MLflow; empty: into none."""
    if reports is not None:
        reports.logs_into(run)


def _kept(job: _core.Job, outcome: _core.JobOutcome, where: dict[str, str]) -> _core.JobOutcome:
    """Writes a detached task's outcome to its file; the file's digest replaces the pickle."""
    from .._common import result_store

    error = outcome.error
    if error is not None and error.code == "cancelled":
        return outcome  # pounced knows why it ended
    facts: dict[str, Any] = {"ok": outcome.ok, "figures": (outcome.figures or _core.RunFigures())._asdict()}
    if error is not None:
        facts["error"] = error._replace(context={**error.context, **where})._asdict()
    try:
        digest = result_store.write_outcome(job.kept_in, job.task, facts, [outcome.pickle, *outcome.buffers])
    except OSError as problem:
        gone = _core.Error("result_gone", f"the outcome could not be kept in {job.kept_in}: {problem.strerror}")
        return outcome._replace(ok=False, pickle=b"", buffers=(), error=gone)
    return outcome._replace(pickle=digest.encode(), buffers=())


def _is_interrupt(error: BaseException) -> bool:
    """Python 3.11 makes a RuntimeError of an interrupt that strikes while a class is made, which many imports do."""
    return isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt)


def _failure(job: Any, error: BaseException, stage: str, at_limit: bool = False) -> _core.JobOutcome:
    """`at_limit`: it was raised since the time of this worker ends, so that the call may run again on another one."""
    if _is_interrupt(error):
        from . import half_imports

        half_imports.forget()
    from .._common import traceback_lines

    error = error.with_traceback(traceback_lines.below(error.__traceback__, "pounce") or error.__traceback__)
    summary = _summary(error)
    if _is_interrupt(error) and job.cancel_asked():
        return _core.JobOutcome(error=_core.Error("cancelled", "the task was cancelled while it ran"))
    if stage and getattr(error, "code", "") == "file_not_here":
        from ..errors import record_of

        return _core.JobOutcome(error=record_of(error))  # type: ignore[arg-type]
    if stage:
        summary = f"{summary} (while {stage})"
    context = {"type": _type_name(type(error)), "traceback": _traceback(error)}
    code = "walltime_reached" if at_limit else "task_raised"
    return _core.JobOutcome(pickle=_pickled(error), error=_core.Error(code, summary, context=context))


def _pickled(error: BaseException) -> bytes:
    """The exception with its traceback; empty if it cannot be pickled (the error's text has its words)."""
    try:
        from .._common import exceptions

        return exceptions.dumps(error)
    except Exception:
        return b""


def _not_picklable(value: Any, error: Exception) -> _core.Error:
    name = _type_name(type(value))
    text = f"the function returned a {name}, which cannot be pickled: {_summary(error)}"
    return _core.Error("result_not_picklable", text, context={"type": name})


def _summary(error: BaseException) -> str:
    from .._common import exceptions

    return exceptions.words_of(error)


def _traceback(error: BaseException) -> str:
    import traceback

    try:
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    except Exception as other:
        return f"no traceback: {_summary(other)}"
    half = _TRACEBACK_CHARS // 2
    if len(text) <= 2 * half:
        return text
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"


def _type_name(kind: type) -> str:
    name = kind.__qualname__
    return name if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{name}"


def _follow_settings(id: str, job: Any) -> None:
    from . import call_settings

    call_settings.follow(id, job)


def _mlflow_imported() -> None:
    from . import mlflow_runs
    from .tracking.process import WorkerProcess

    process = WorkerProcess(node, visible_devices or "", state_folder, lambda: running is not None, _show, core.answer)
    mlflow_runs.imported({"pounce.lease": lease, "pounce.node": node, "pounce.gpu": devices}, process)


def _show(kind: str, content: dict[str, Any]) -> None:
    """Sends the client that waits for the running task a message."""
    import json

    from .._common.mlflow_work import BEGUN

    if running is not None:
        core.show(json.dumps({"type": kind, "content": content}).encode(), [])
    if kind == BEGUN:
        log_into(content["run"])


def _write_back_files() -> None:
    """Writes changes that the task made to files through arrays, before its outcome is sent."""
    mapped = sys.modules.get("pounce._common.file_buffers")
    if mapped is not None:
        mapped.write_back()


def time_left() -> float | None:
    """Seconds until the lease's time ends; None if no limit is known, and outside a worker."""
    end = core.end_time if core is not None else 0
    return max(0.0, end - time.time()) if end else None


def flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # a stream object of the user's, or a closed one: its error is not the task's outcome
            continue


def _make_streams_live() -> None:
    """Text reaches the caller as it is written. The supervisor started us unbuffered, so the streams that Python made
    have no lock. A child forked while another thread prints (a DataLoader's worker) would find a lock taken for ever.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(  # type: ignore[union-attr]
            encoding="utf-8", errors="backslashreplace", write_through=True)


def _become_script(notebook: NotebookProcess) -> None:
    """Makes what user code expects: a fresh ``__main__``, and the notebook's folders where its path has them."""
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    sys.argv = [""]
    standard_library.stays(notebook.standard)
    notebook_process.place(notebook.path)


def _start() -> Any:
    global node, devices, ports, lease, workers, state_folder, visible_devices, report_pipe
    take = os.environ.pop
    supervisor, output, errors, log, page, *more = map(int, take("POUNCE_SUPERVISOR_FD").split(","))
    report_pipe = more[0] if more else None
    facing, node, devices = take("POUNCE_FACING"), take("POUNCE_NODE"), take("POUNCE_DEVICES")
    interface, ports = take("POUNCE_INTERFACE", ""), take("POUNCE_PORTS", "")
    state_folder, lease, workers = take("POUNCE_STATE", ""), take("POUNCE_LEASE", ""), int(take("POUNCE_WORKERS", "1"))
    visible_devices = os.environ.get("CUDA_VISIBLE_DEVICES")
    # This variable was only for us. PYTHONUNBUFFERED stays: children's output shows at once, as in a notebook's kernel.
    take("PYTHONSAFEPATH", None)
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return _core.Worker(
        supervisor=supervisor, output=output, errors=errors, log=log, page=page,
        facing=facing, node=node, devices=devices, python=python, interface=interface, ports=ports,
        package_folders=[folder for folder in sys.path if folder.endswith(("site-packages", "dist-packages"))],
    )


def _is_to_end() -> bool:
    return core.ending() or (running is not None and running.cancel_asked())


def _idle(ahead: ModulesAhead) -> float | None:
    """Seconds until one of the two is to be called again."""
    if between_tasks is None:
        return ahead.step()
    pauses = (between_tasks(), ahead.step())
    return min((pause for pause in pauses if pause is not None), default=None)


def _import_for_first_call() -> None:
    """While the daemon introduces the first client, and until a task is here."""
    for module in (_FOR_CALLS, *([_FOR_GANGS] if workers > 1 else [])):
        if not core.wanted():
            importlib.import_module(module)


def main() -> None:
    global core, reports, runner, process
    core, process = _start(), os.getpid()
    reports = Reports(core, lambda: running, report_pipe)
    _make_streams_live()
    faulthandler.enable()
    _become_script(notebook_process.taken())
    nested_joblib.install()
    extension_lock.install()
    AfterImport(_MLFLOW, _mlflow_imported)
    import atexit

    atexit.register(core.close)  # registered first, so it runs last: the output of other handlers is still forwarded
    import cloudpickle

    core.set_cloudpickle(cloudpickle.__version__)
    _import_for_first_call()
    task_end.is_to_end = _is_to_end
    ahead = ModulesAhead(core)
    limit = CallLimit(core, node, time_left, lambda: running is None or running.cancel_asked())
    limit.job_begins()
    runner = Runner({"node": node, "devices": devices}, ahead, limit)
    core.serve(runner.execute, runner.describe, lambda: _idle(ahead))
    if at_the_end is not None:
        at_the_end()
    if _MLFLOW in sys.modules:
        from . import mlflow_runs

        mlflow_runs.process_ends()
