"""``python -m pounce.worker``: the interpreter that runs people's functions, one at a time, in its main thread.

Started by ``pounce-worker`` (the supervisor), which hands over descriptors and three facts in POUNCE_* variables; user code
sees none of them. Socket work, heartbeats, cancel and live output are C++ (``_core.Worker``) and never need the GIL.
Nothing heavy is imported before the first task: the time until then is time on somebody's GPU.
"""

from __future__ import annotations

import builtins
import faulthandler
import os
import signal
import sys
import time
import types
from collections.abc import Callable
from typing import Any

from . import _core
from .modules import Fresh
from .serialize import dumps, loads

core: Any = None  # _core.Worker, in a worker's process; what cells send their displays through
node = devices = ""

# (ok, pickle, buffers, error, run_start_ns, run_end_ns): what _core.Worker sends as the outcome of a job.
Outcome = tuple[bool, Any, Any, Any, int, int]

_TRACEBACK_CHARS = 16_000  # a header is small (limits.h); the whole traceback travels inside the pickled exception
_SUMMARY_CHARS = 2_000
_COMMAND_ENDS_S = 3.0


class _ResultNotPicklable(Exception):
    """Carries what went wrong while the result was pickled past the handlers for the function's own errors."""


class Runner:
    """Turns jobs into outcomes. Functions are unpickled once and kept by digest, with their globals."""

    def __init__(self, where: dict[str, str]) -> None:
        self._where = where  # node and devices, for what a later kernel reads
        self._functions: dict[bytes, Callable[..., Any]] = {}

    def execute(self, job: Any) -> Outcome:
        return _kept(job, self._execute(job), self._where) if job.kept_in else self._execute(job)

    def _execute(self, job: Any) -> Outcome:
        start = end = 0
        stage = "its function was unpickled"
        try:
            if job.command:
                stage = "the command was started"
                return self._command(job)
            if job.kept_in:
                function, args, kwargs = _kept_call(job)
            else:
                function = self._function(job)
                stage = "its arguments were unpickled"
                args, kwargs = loads(job.pickle, job.buffers, _Resolver(job))
            _take_back_interrupt()
            stage = ""
            start = time.monotonic_ns()
            try:
                value = function(*args, **kwargs)
            finally:
                end = time.monotonic_ns()
            del args, kwargs
            try:
                pickle, buffers, _ = dumps(value)
            except Exception as error:
                raise _ResultNotPicklable(_type_name(type(value))) from error
            return True, pickle, buffers, None, start, end
        except _ResultNotPicklable as problem:
            return False, b"", (), _not_picklable(problem), start, end
        except BaseException as error:  # SystemExit too: it ends the task, not the worker
            return (*_failure(job, error, stage), start, end)
        finally:
            flush()

    def describe(self, job: Any, error: BaseException) -> Outcome:
        """The outcome of a job whose interrupt struck between execute's lines."""
        now = time.monotonic_ns()
        outcome: Outcome = (*_failure(job, error, ""), now, now)
        return _kept(job, outcome, self._where) if job.kept_in else outcome

    def _command(self, job: Any) -> Outcome:
        """A command line runs as a child of ours, its output is ours: it comes live. The outcome is JSON, not a pickle."""
        import json
        import subprocess

        start = time.monotonic_ns()
        with subprocess.Popen(json.loads(job.function_pickle), stdin=subprocess.DEVNULL) as child:
            try:
                code = child.wait()
            except BaseException:  # cancelled
                child.terminate()
                try:
                    child.wait(_COMMAND_ENDS_S)
                except subprocess.TimeoutExpired:
                    child.kill()
                raise
        return True, json.dumps({"exit_code": code}).encode(), (), None, start, time.monotonic_ns()

    def _function(self, job: Any) -> Callable[..., Any]:
        function = self._functions.get(job.function)
        if function is None:
            function = self._functions[job.function] = loads(job.function_pickle)
        return function.function() if type(function) is Fresh else function


class _Resolver:
    """Values of the refs in a job's arguments: each is unpickled once per task."""

    def __init__(self, job: Any):
        self._job = job
        self._values: dict[int, Any] = {}

    def __call__(self, index: int) -> Any:
        if index not in self._values:
            self._values[index] = loads(*self._job.object(index))
        return self._values[index]


def _kept_call(job: Any) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    from . import kept

    _, (data, *buffers) = kept.read(os.path.join(job.kept_in, f"{job.task}.call"))
    return loads(data, buffers)


def _kept(job: Any, outcome: Outcome, where: dict[str, str]) -> Outcome:
    """Of a named task: the outcome goes to its file, and the file's digest takes the pickle's place."""
    from . import kept

    ok, pickle, buffers, error, start, end = outcome
    if error is not None and error[0] == "cancelled":
        return outcome  # pounced knows why it ended
    facts: dict[str, Any] = {"ok": ok, "run_ns": end - start}
    if error is not None:
        code, text, context = error
        facts["error"] = (code, text, "", {**context, **where})
    try:
        digest = kept.write_outcome(job.kept_in, job.task, facts, [pickle, *buffers])
    except OSError as problem:
        return False, b"", (), ("result_gone", f"the outcome could not be kept in {job.kept_in}: {problem.strerror}", {}), start, end
    return ok, digest.encode(), (), error, start, end


def _failure(job: Any, error: BaseException, stage: str) -> tuple[bool, bytes, tuple[()], tuple[str, str, dict[str, str]]]:
    trace = error.__traceback__.tb_next if error.__traceback__ is not None else None  # without our own frame
    error = error.with_traceback(trace)
    summary = _summary(error)
    if isinstance(error, KeyboardInterrupt) and job.cancel_asked():
        return False, b"", (), ("cancelled", "the task was cancelled while it ran", {})
    if stage:
        summary = f"{summary} (while {stage})"
    context = {"type": _type_name(type(error)), "traceback": _traceback(error)}
    return False, _pickled(error), (), ("task_raised", summary, context)


def _pickled(error: BaseException) -> bytes:
    """The exception with its traceback; empty if it cannot travel (its words do, in the error's text)."""
    try:
        import cloudpickle
        from tblib import pickling_support

        pickling_support.install(error)
        data = cloudpickle.dumps(error, protocol=5)
        loads(data)  # one whose __init__ wants more than its args would fail only at the caller
        return data
    except Exception:
        return b""


def _not_picklable(problem: _ResultNotPicklable) -> tuple[str, str, dict[str, str]]:
    name, cause = problem.args[0], problem.__cause__
    text = f"the function returned a {name}, which cannot be pickled: {_summary(cause)}"
    return "result_not_picklable", text, {"type": name}


def _summary(error: BaseException | None) -> str:
    try:
        text = str(error)
    except Exception:
        text = "its message cannot be shown"
    name = type(error).__name__
    return (f"{name}: {text}" if text else name)[:_SUMMARY_CHARS]


def _traceback(error: BaseException) -> str:
    import traceback

    try:
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    except Exception as other:
        return f"no traceback: {_summary(other)}"
    half = _TRACEBACK_CHARS // 2
    return text if len(text) <= 2 * half else f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"


def _type_name(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"


def flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # the user's own stream object, or a closed one: its trouble is not the task's outcome
            continue


def _take_back_interrupt() -> None:
    """Cancel is SIGINT: an earlier task must not have switched it off for this one."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _make_streams_live() -> None:
    """Text reaches the caller as it is written. The supervisor started us unbuffered: the streams of Python's own start
    have no lock then, which a child forked while another thread prints (a DataLoader's worker) would find taken for ever.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(  # type: ignore[union-attr]
            encoding="utf-8", errors="backslashreplace", write_through=True)


def _become_script() -> None:
    """The world that user code expects: a fresh ``__main__``, the notebook's directory first on the path."""
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    sys.argv = [""]
    here = os.getcwd()
    sys.path[:] = [here, *(entry for entry in sys.path if entry not in ("", here))]


def _start() -> Any:
    global node, devices
    take = os.environ.pop
    supervisor, output, errors, log, page = map(int, take("POUNCE_SUPERVISOR_FD").split(","))
    facing, node, devices = take("POUNCE_FACING"), take("POUNCE_NODE"), take("POUNCE_DEVICES")
    interface, ports = take("POUNCE_INTERFACE", ""), take("POUNCE_PORTS", "")
    for ours in ("PYTHONSAFEPATH", "PYTHONUNBUFFERED"):  # set by the supervisor for us, not for the programs of user code
        take(ours, None)
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return _core.Worker(
        supervisor=supervisor, output=output, errors=errors, log=log, page=page,
        facing=facing, node=node, devices=devices, python=python, interface=interface, ports=ports,
    )


def main() -> None:
    global core
    core = _start()
    _make_streams_live()
    faulthandler.enable()
    _become_script()
    import atexit

    atexit.register(core.close)  # registered first, so it runs last: what other handlers print is still forwarded
    import cloudpickle  # while the daemon introduces the first client

    core.set_cloudpickle(cloudpickle.__version__)
    runner = Runner({"node": node, "devices": devices})
    core.serve(runner.execute, runner.describe)


if __name__ == "__main__":
    _ours = sys.modules["__main__"]  # kept alive: its names are used until the process ends
    from pounce.worker import main as run

    run()
