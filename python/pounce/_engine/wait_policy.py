"""``wait_policy=`` and ``--or``: what a waiting task does instead, decided beforehand."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .. import _core
from ..errors import BadRequest
from .durations import seconds_of
from .wait import NO_JOB_RUNS_YET

GRAMMAR = ("a step is cpu, a GPU (a100_3g.20gb, a100:2, 1), class=NAME or cancel, and may end in @ and how long to "
           "wait before it: cpu@5min")
_SENTENCE = GRAMMAR[0].upper() + GRAMMAR[1:] + "."
_LOOK_S = 0.5
_SETTLED_S = 2.0  # by then Slurm has looked at the job: one that still waits does not fit
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_GPU = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(:\d+)?")  # a type may begin with a digit: 3g.20gb


@dataclass(frozen=True)
class Step:
    """One ``--or``. `after_s` is None for a step as soon as the task has to wait."""

    what: str
    after_s: float | None = None
    said: str = ""

    @property
    def cancels(self) -> bool:
        return self.what == "cancel"

    def changes(self) -> dict[str, Any]:
        """What is requested from this step on, as keywords of ``Options.changed``."""
        if self.what == "cpu":
            return {"gpus": 0}
        if self.what.startswith("class="):
            return {"class_": self.what.removeprefix("class=")}
        return {"gpus": int(self.what) if self.what.isdigit() else self.what}

    def __str__(self) -> str:
        return self.said or self.what


def parsed(policy: Any) -> tuple[Step, ...]:
    """The steps of ``"cpu@5min"``, ``"a100_3g.20gb, cancel@1h"``, or of a list of such words."""
    words = policy.split(",") if isinstance(policy, str) else list(policy) if isinstance(policy, Iterable) else [policy]
    steps = tuple(_step(word) for word in words)
    if not steps:
        raise BadRequest("a wait policy has at least one step", _SENTENCE)
    for step, later in itertools.pairwise(steps):
        if step.cancels:
            raise BadRequest(f"nothing comes after cancel, but {later} does", "Put cancel last.")
        if later.after_s is not None and later.after_s < (step.after_s or 0):
            raise BadRequest(f"{later} comes after {step} but waits less",
                             "Times count from the submission; put them in order.")
    return steps


def _step(word: Any) -> Step:
    if not isinstance(word, str):
        raise BadRequest(f"a step of a wait policy is a text, not {word!r}", _SENTENCE)
    what, at, after = word.strip().partition("@")
    seconds = seconds_of(after) if at else None
    if at and (seconds is None or seconds < 0):
        raise BadRequest(f"{word.strip()!r} does not say how long to wait: {after!r} is no time",
                         "Write cpu@5min, cpu@90s or cpu@2h.")
    known = what in ("cpu", "cancel") or (what.startswith("class=") and _NAME.fullmatch(what.removeprefix("class=")))
    if not known and (not _GPU.fullmatch(what) or what == "0"):
        raise BadRequest(f"{word.strip()!r} is no step of a wait policy", _SENTENCE)
    return Step(what, seconds, word.strip())


class Plan:
    """The steps that are still to come for one waiting task."""

    def __init__(self, steps: tuple[Step, ...]):
        self._steps = list(steps)
        self._since = self._submitted = time.monotonic()

    def due(self, lease: _core.LeaseStatus | None) -> Step | None:
        """The step to take now, given the state of its lease; removes it from the plan."""
        state, slurm_reason = (lease.state, lease.slurm_reason) if lease is not None else ("asking", "")
        if not self._steps or (lease is not None and state not in NO_JOB_RUNS_YET):
            return None
        step, now = self._steps[0], time.monotonic()
        if step.after_s is not None:
            is_time = now - self._submitted >= step.after_s
        else:
            is_time = state == "queued" and slurm_reason not in ("", "None") and now - self._since >= _SETTLED_S
        if not is_time:
            return None
        self._since = now
        return self._steps.pop(0)

    def look_in(self) -> float | None:
        """The seconds until the next look, even without news; None: no step is left."""
        if not self._steps:
            return None
        step = self._steps[0]
        seconds = 0.0 if step.after_s is None else self._submitted + step.after_s - time.monotonic()
        return seconds if seconds > 0 else _LOOK_S  # the step is due but cannot be taken yet
