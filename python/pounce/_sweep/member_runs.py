"""``MemberRuns``: a run of MLflow for a sweep, and a child of it for each member.

They are made in the notebook's process, so the workers need MLflow only if the function uses it. A server that does not
answer costs the rest of the record, and no member.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from .._common.settings import mlflow_options
from .._engine import mlflow_runs
from .._engine.status_line import output
from .sweep_plan import Member, Metric, is_number

_MOST_CHARS = 6000  # of a parameter: MLflow's own limit
_STATUS = {"done": "FINISHED", "pruned": "KILLED", "cancelled": "KILLED"}  # of MLflow; else FAILED
_CHOSEN = "_get_experiment_id"  # MLflow has no public name for it
_PARENT, _NAME = "mlflow.parentRunId", "mlflow.runName"


class MemberRuns:
    """Thread: the sweep's, after its first member."""

    def __init__(self, name: str, metric: Metric, gpus: int):
        self._name, self._metric, self._gpus = name, metric, gpus
        mlflow = sys.modules["mlflow"]
        self._client = mlflow.MlflowClient()
        self._runs: dict[int, Any] = {}  # of the latest attempts
        self._is_given_up = False
        self._source = mlflow_runs.origin("").source_tags()
        above = mlflow.active_run()
        self._experiment = above.info.experiment_id if above is not None else _experiment()
        tags = {_NAME: f"sweep of {name}", **({_PARENT: above.info.run_id} if above is not None else {})}
        self._sweep = self._begun(tags)

    @staticmethod
    def of_sweep(name: str, metric: Metric, gpus: int) -> MemberRuns | None:
        """None: the person does not track here. MLflow is not imported, or has neither a run nor an experiment."""
        if mlflow_options.FLUENT not in sys.modules or not (mlflow_options.stack() or _experiment()):
            return None
        try:
            return MemberRuns(name, metric, gpus)
        except Exception as error:
            output().end(f"pounce: MLflow does not record this sweep: {type(error).__name__}: {error}")
            return None

    @contextlib.contextmanager
    def active(self, member: Member) -> Iterator[None]:
        """The member's call is submitted meanwhile: its run is this thread's active one."""
        stack = mlflow_options.stack()
        before = list(stack)
        run = self._recorded(lambda: self._of_member(member))
        if run is not None:
            self._runs[member.number] = run
            stack[:] = [sys.modules[mlflow_options.FLUENT].ActiveRun(each) for each in (self._sweep, run)]
        try:
            yield
        finally:
            stack[:] = before

    def ended(self, member: Member) -> None:
        """One attempt of the member has ended."""
        run = self._runs.pop(member.number, None)
        if run is not None:
            self._recorded(lambda: self._end(run.info.run_id, member))

    def sweep_ended(self, status: str) -> None:
        ends = {run.info.run_id: "KILLED" for run in self._runs.values()} | {self._sweep.info.run_id: status}
        for run, its_status in ends.items():
            self._recorded(functools.partial(self._client.set_terminated, run, its_status))

    # ---- within ----

    def _of_member(self, member: Member) -> Any:
        again = f", attempt {member.attempts}" if member.attempts > 1 else ""
        run = self._begun({_NAME: f"{self._name} {member.number}{again}", _PARENT: self._sweep.info.run_id})
        kind = sys.modules["mlflow.entities"].Param
        params = [kind(name, str(value)[:_MOST_CHARS]) for name, value in member.params.items()]
        self._client.log_batch(run.info.run_id, params=params)
        return run

    def _begun(self, tags: dict[str, str]) -> Any:
        resolve = sys.modules["mlflow.tracking.context.registry"].resolve_tags
        return self._client.create_run(self._experiment, tags={**resolve(tags), **self._source}, run_name=tags[_NAME])

    def _end(self, run: str, member: Member) -> None:
        entities, now = sys.modules["mlflow.entities"], int(time.time() * 1000)
        figures = {"gpu_seconds": member.seconds * self._gpus, "seconds": member.seconds}
        name = self._metric if isinstance(self._metric, str) else "value"
        if is_number(member.value):
            figures[name] = float(member.value)
        tags = {"pounce.state": member.state}
        if member.error is not None:
            tags["pounce.error"] = f"{type(member.error).__name__}: {member.error}"[:_MOST_CHARS // 2]
        self._client.log_batch(run, metrics=[entities.Metric(key, value, now, 0) for key, value in figures.items()],
                               tags=[entities.RunTag(key, value) for key, value in tags.items()])
        self._client.set_terminated(run, _STATUS.get(member.state, "FAILED"))

    def _recorded(self, write: Callable[[], Any]) -> Any:
        try:
            return None if self._is_given_up else write()
        except Exception as error:
            self._is_given_up = True
            output().end(f"pounce: MLflow lacks the rest of this sweep: {type(error).__name__}: {error}")
            return None


def _experiment() -> str:
    """The one that the person has set; empty: none."""
    fluent = sys.modules[mlflow_options.FLUENT]
    named = any(os.environ.get(f"MLFLOW_EXPERIMENT_{what}") for what in ("ID", "NAME"))
    chosen: str = getattr(fluent, _CHOSEN)() if named or mlflow_options.experiment() else ""
    return chosen
