"""``Planner``: has tasks that wait take the steps of their wait policy when these are due."""

from __future__ import annotations

import sys
import threading
from typing import Protocol

from .. import _core, errors
from .options import Options
from .task import Task
from .wait_policy import Plan, Step


class Tasks(Protocol):
    """What it needs from a session."""

    def state(self, task: Task) -> str | None: ...

    def lease_status(self, task: Task) -> _core.LeaseStatus | None: ...

    def cancel(self, task: Task) -> None: ...

    def move(self, task: Task, asks: Options) -> bool: ...

    def tell(self, task: Task, text: str) -> None: ...


class Planner:
    """Runs a thread as long as there are plans."""

    def __init__(self) -> None:
        self._plans: list[tuple[Tasks, Task, Plan]] = []
        self._changed = threading.Condition()
        self._alive = False

    def add(self, tasks: Tasks, task: Task, steps: tuple[Step, ...]) -> None:
        with self._changed:
            self._plans.append((tasks, task, Plan(steps)))
            self._changed.notify_all()
            if not self._alive:
                self._alive = True
                threading.Thread(target=self._run, name="pounce-wait-policy", daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._plans = [each for each in self._plans if _goes_on(*each)]
                if not self._plans:
                    self._alive = False
                    return
                self._changed.wait(min(plan.look_in() or 0.0 for *_, plan in self._plans))
                plans = list(self._plans)
            for each in plans:
                try:
                    _look(*each)
                except Exception:  # the output is closed, or a callback of the user's failed
                    sys.excepthook(*sys.exc_info())


def _goes_on(tasks: Tasks, task: Task, plan: Plan) -> bool:
    try:
        return plan.look_in() is not None and not task.over and tasks.state(task) == "waiting"
    except errors.PounceError:
        return False


def _look(tasks: Tasks, task: Task, plan: Plan) -> None:
    try:
        lease = tasks.lease_status(task)
        step = plan.due(lease)
        if step is None or task.over or tasks.state(task) != "waiting":
            return
        why = f" ({lease.reason})" if lease is not None and lease.reason else ""
        if step.cancels:
            task.why_given_up = f"it was cancelled because it still waited{why}, as its wait policy said: {step}"
            tasks.cancel(task)
            return
        if not tasks.move(task, (task.asks or Options()).changed(**step.changes())):
            return  # it has a worker by now
        tasks.tell(task, f"{task.called()} still waited{why}: it asks for {step.what} now, as its wait policy said")
    except errors.PounceError:  # the client is closed, or the step cannot be satisfied: the task waits on
        return
