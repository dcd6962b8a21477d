"""``wait_policy=`` and ``--or``: what a task that waits shall do instead, decided beforehand."""

from __future__ import annotations

import itertools
import re
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import errors
from .errors import BadRequest
from .options import Options, seconds_of

if TYPE_CHECKING:
    from .future import Future

GRAMMAR = ("a step is cpu, a GPU (a100_3g.20gb, a100:2, 1), class=NAME or cancel, and may end in @ and how long to wait before it: "
           "cpu@5min")
_LOOK_S = 0.5
_SETTLED_S = 2.0  # Slurm has looked at it by then: what still waits has no room
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_GPU = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(:\d+)?")  # a type may begin with a digit: 3g.20gb
_HAS_NO_JOB_THAT_RUNS = ("wanted", "submitting", "queued")


@dataclass(frozen=True)
class Step:
    """One ``--or``. `after_s` None: as soon as it has to wait."""

    what: str
    after_s: float | None = None
    said: str = ""

    @property
    def cancels(self) -> bool:
        return self.what == "cancel"

    def changed(self, asks: Options) -> Options:
        """What is asked for from this step on."""
        if self.what == "cpu":
            return asks.changed(gpus=0)
        if self.what.startswith("class="):
            return asks.changed(class_=self.what.removeprefix("class="))
        return asks.changed(gpus=int(self.what) if self.what.isdigit() else self.what)

    def __str__(self) -> str:
        return self.said or self.what


def parsed(policy: Any) -> tuple[Step, ...]:
    """Of ``"cpu@5min"``, ``"a100_3g.20gb, cancel@1h"``, or a list of such words."""
    words = policy.split(",") if isinstance(policy, str) else list(policy) if isinstance(policy, Iterable) else [policy]
    steps = tuple(_step(word) for word in words)
    if not steps:
        raise BadRequest("a wait policy has at least one step", _sentence())
    for step, later in itertools.pairwise(steps):
        if step.cancels:
            raise BadRequest(f"nothing comes after cancel, but {later} does", "Put cancel last.")
        if later.after_s is not None and later.after_s < (step.after_s or 0):
            raise BadRequest(f"{later} comes after {step} but waits less", "Times count from the submission; put them in order.")
    return steps


def _step(word: Any) -> Step:
    if not isinstance(word, str):
        raise BadRequest(f"a step of a wait policy is a text, not {word!r}", _sentence())
    what, at, after = word.strip().partition("@")
    seconds = seconds_of(after) if at else None
    if at and (seconds is None or seconds < 0):
        raise BadRequest(f"{word.strip()!r} does not say how long to wait: {after!r} is no time", "Write cpu@5min, cpu@90s or cpu@2h.")
    known = what in ("cpu", "cancel") or (what.startswith("class=") and _NAME.fullmatch(what.removeprefix("class=")))
    if not known and (not _GPU.fullmatch(what) or what == "0"):
        raise BadRequest(f"{word.strip()!r} is no step of a wait policy", _sentence())
    return Step(what, seconds, word.strip())


def _sentence() -> str:
    return GRAMMAR[0].upper() + GRAMMAR[1:] + "."


class Plan:
    """Of one task that waits: which steps are still to come."""

    def __init__(self, steps: tuple[Step, ...]):
        self._steps = list(steps)
        self._since = self._submitted = time.monotonic()

    def due(self, lease: tuple[Any, ...] | None) -> Step | None:
        """The step to take now, as its lease stands; taken off the plan."""
        state, slurm_reason = (lease[1], lease[9]) if lease is not None else ("asking", "")
        if not self._steps or (lease is not None and state not in _HAS_NO_JOB_THAT_RUNS):
            return None
        step, now = self._steps[0], time.monotonic()
        if step.after_s is not None:
            is_time = now - self._submitted >= step.after_s
        else:
            is_time = state == "queued" and slurm_reason not in ("", "None") and now - self._since >= _SETTLED_S
        return self._take() if is_time else None

    def _take(self) -> Step:
        self._since = time.monotonic()
        return self._steps.pop(0)

    def look_in(self) -> float | None:
        """After how many seconds to look again even without news; None: no step is to come."""
        if not self._steps:
            return None
        step = self._steps[0]
        left = 0.0 if step.after_s is None else self._submitted + step.after_s - time.monotonic()
        return left if left > 0 else _LOOK_S  # it is time, but the step cannot be taken yet


class Planner:
    """Takes the steps of a session's tasks when they are due. Its thread lives as long as there are plans."""

    def __init__(self) -> None:
        self._plans: list[tuple[Future, Plan]] = []
        self._changed = threading.Condition()
        self._alive = False

    def add(self, future: Future, steps: tuple[Step, ...]) -> None:
        with self._changed:
            self._plans.append((future, Plan(steps)))
            self._changed.notify_all()
            if not self._alive:
                self._alive = True
                threading.Thread(target=self._run, name="pounce-wait-policy", daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._plans = [(future, plan) for future, plan in self._plans if _goes_on(future, plan)]
                if not self._plans:
                    self._alive = False
                    return
                self._changed.wait(min(plan.look_in() or 0.0 for _, plan in self._plans))
                plans = list(self._plans)
            for future, plan in plans:
                try:
                    _look(future, plan)
                except Exception:  # where it was to be told is closed, or a callback of the person's failed
                    sys.excepthook(*sys.exc_info())


def _goes_on(future: Future, plan: Plan) -> bool:
    try:
        return plan.look_in() is not None and not future.done() and future._session.state(future) == "waiting"
    except errors.PounceError:
        return False


def _look(future: Future, plan: Plan) -> None:
    try:
        lease = future._session.core.lease_status(future._task)
        step = plan.due(lease)
        if step is None or future.done() or future._session.state(future) != "waiting":
            return
        why = f" ({lease[2]})" if lease is not None and lease[2] else ""
        if step.cancels:
            future._give_up(f"it was cancelled because it still waited{why}, as its wait policy said: {step}")
            return
        if not future._move(step.changed(future._asks or Options())):
            return  # it has a worker by now
        future._tell(f"{future._called()} still waited{why}: it asks for {step.what} now, as its wait policy said")
    except errors.PounceError:  # the client is closed, or the step asks for what cannot be: it waits on
        return
