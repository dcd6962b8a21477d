"""What a rerun has started: a job of a project, a job of a batch run, or a call."""

from __future__ import annotations

import contextlib
import numbers
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from .._batch import copies
from .._batch.run import BatchRun
from .._common.settings import mlflow_options
from .._engine import mlflow_runs
from .._record import calls, sources, store
from ..calls import view_with
from ..client import Client
from ..errors import BadRequest, PounceError, ResultGone, Timeout
from . import tracked


class Started(Protocol):
    differences: list[tuple[str, str]]  # (code, environment or data; in words): known when it starts
    title: str                          # what it is

    def run_id(self) -> str:
        """Of the new run; empty: it has not begun one yet."""

    def wait(self, timeout: float | None) -> None:
        """Until it has ended, well or not."""


class OfProject:
    def __init__(self, run: Any, facts: Mapping[str, Any], data: bytes, parameters: Mapping[str, Any]):
        from ..mlflow_projects import again  # with MLflow

        self._submitted, self.differences = again.submitted(run, facts, data, parameters)
        self.title = f"job {self._submitted.job}"

    def run_id(self) -> str:
        return str(self._submitted.run_id)

    def wait(self, timeout: float | None) -> None:
        _wait(self._submitted.batch, timeout)
        self._submitted.get_status()


class OfBatch:
    def __init__(self, run: Any, facts: Mapping[str, Any], parameters: Mapping[str, Any]):
        self.differences = [("code", text) for text in copies.differences(facts)]
        experiment, old = run.info.experiment_id, run.info.run_id
        which = tracked.of_batch(facts["name"], experiment)
        self._place = which.index(old) if old in which else 0  # it may begin several
        folder = copies.again(facts, parameters, {store.RERUN_OF: old})
        self._batch = BatchRun(folder).submit()
        self._find = lambda: tracked.of_batch(self._batch.name, experiment, old)
        self.title = f"job {self._batch.job}, batch run {self._batch.name}"

    def run_id(self) -> str:
        runs = self._find()
        return runs[self._place] if self._place < len(runs) else ""

    def wait(self, timeout: float | None) -> None:
        problem = _wait(self._batch, timeout)
        if problem is not None and not self.run_id():
            raise problem


def _wait(batch: BatchRun, timeout: float | None) -> PounceError | None:
    """Its failure, if it failed: the run says so, too."""
    try:
        batch.result(timeout)
    except Timeout:
        raise
    except PounceError as problem:
        return problem
    return None


class OfCall:
    """The call is this process's: it ends with it."""

    def __init__(self, run: Any, facts: Mapping[str, Any], data: bytes, parameters: Mapping[str, Any]):
        begins = _only_call(run)
        _check_python(facts)
        function, args, kwargs, options = self._restored(facts, data)
        args, kwargs = copies.with_arguments(function, args, kwargs, parameters)
        self.differences = _code(facts)
        self.title = facts["function"]
        self._old = run
        self._own = None if begins else tracked.begun(run)
        self._ended = threading.Event()
        self._client = Client(env=facts["env"] or None)
        try:
            view = view_with(self._client, replace(options, name=""), "")
            with mlflow_runs.repeating(run.info.run_id), _active(self._own):
                self.future = view.submit(function, *args, **kwargs)
        except BaseException:
            self._finish("FAILED", None)
            raise
        self.future.add_done_callback(lambda _: threading.Thread(target=self._end, name="pounce-rerun").start())

    def run_id(self) -> str:
        return str(self._own.info.run_id) if self._own is not None else self.future.mlflow_run or ""

    def wait(self, timeout: float | None) -> None:
        try:
            problem = self.future.exception(timeout)
        except Timeout:
            raise
        except PounceError as cancelled:
            problem = cancelled
        self._ended.wait()
        if problem is not None and not self.run_id():
            raise problem

    @staticmethod
    def _restored(facts: Mapping[str, Any], data: bytes) -> Any:
        """Modules beside the notebook were in its folder."""
        if facts["folder"] not in sys.path:
            sys.path.append(facts["folder"])
        try:
            return calls.restored(data)
        except Exception as problem:
            raise BadRequest(f"{facts['function']} cannot be read here: {type(problem).__name__}: {problem}",
                             "Its modules have to be importable, as they were then.") from problem

    def _end(self) -> None:
        failed = self.future.cancelled() or self.future.exception() is not None
        self._finish("FAILED" if failed else "FINISHED", None if failed else self.future.result())

    def _finish(self, status: str, value: Any) -> None:
        try:
            if self._own is not None:
                tracked.end(self._own.info.run_id, status, self._metrics(value))
        finally:
            self._ended.set()
            self._client.close()

    def _metrics(self, value: Any) -> dict[str, float]:
        """Of a sweep's member the old run has what the function returned."""
        known = self._old.data.metrics
        values = value if isinstance(value, dict) else {"value": value}
        return {name: float(each) for name, each in values.items()
                if name in known and isinstance(each, numbers.Real) and "pounce.state" in self._old.data.tags}


def _only_call(run: Any) -> bool:
    """Whether the call that logs into this run has begun it.

    Raises
    ------
    BadRequest
        Several calls log into it.
    ResultGone
        The run names another record than the one of its call.
    """
    noted = store.calls_of(run.info.run_id)
    if len(noted) > 1:
        raise BadRequest(f"{len(noted)} different calls have logged into the run {run.info.run_id}",
                         "Repeat a run of one call: a call has one of its own with mlflow.start_run(nested=True).")
    if noted and noted[0][0] != run.data.tags[store.TAG]:
        raise ResultGone(f"the run {run.info.run_id} names another call than the one that has logged into it",
                         "Nothing was run; look who else can write to MLflow's store.")
    return not noted or noted[0][1]


def _check_python(facts: Mapping[str, Any]) -> None:
    then = facts["software"]["python"].split(".")[:2]
    now = [str(part) for part in sys.version_info[:2]]
    if then != now:
        raise BadRequest(f"{facts['function']} was recorded with Python {'.'.join(then)}, and this is {'.'.join(now)}",
                         "Repeat it from an environment with that Python: code is kept as one version has it.")


def _code(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    if facts["module"] and calls.module_mark(facts["module"][0]) != facts["module"][1]:
        name = Path(facts["module"][0]).name
        return [("code", f"{name}, from which {facts['function']} is imported, has changed since")]
    return []


@contextlib.contextmanager
def _active(run: Any) -> Iterator[None]:
    """The call logs into this run; None: into none of this process's."""
    stack = mlflow_options.stack()
    before = list(stack)
    stack[:] = [tracked.active(run)] if run is not None else []
    try:
        yield
    finally:
        stack[:] = before


def inputs_that_differ(facts: Mapping[str, Any], parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Files that parameters name, unless they are others on purpose."""
    for name, (path, mark) in facts.get("inputs", {}).items():
        if name not in parameters and (now := sources.mark_of(path)) != mark:
            yield "data", f"{path} ({name}) {'has changed since' if now else 'is gone'}"
