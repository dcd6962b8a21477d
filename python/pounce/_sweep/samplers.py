"""Where the members of a sweep come from: a grid, or a sampler, such as an Optuna study, that is told how they end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias

from ..errors import BadRequest
from .sweep_plan import Member, count_of, is_number, members_of

Space: TypeAlias = "Callable[[Any], Mapping[str, Any]] | Mapping[str, Any] | None"

_OPTUNAS = {"done": "COMPLETE", "pruned": "PRUNED"}  # Optuna's words for how a trial ended; else FAIL


class Source(Protocol):
    count: int | None  # of members; None: not known yet
    late: bool         # ask it as late as possible: its answer depends on how others have ended
    direction: str     # "minimize", "maximize", or empty: it does not say

    def ask(self, number: int) -> dict[str, Any] | None:
        """The parameters of one more; None: there are no more."""

    def should_prune(self, member: Member, metric: str) -> bool: ...

    def tell(self, member: Member) -> None:
        """The member has ended, and will not run again."""


class Grid:
    """The given members, in their order."""

    late, direction = False, ""

    def __init__(self, grid: Any):
        self.count = count_of(grid)
        self._members: Iterator[dict[str, Any]] = members_of(grid)

    def ask(self, number: int) -> dict[str, Any] | None:
        return next(self._members, None)

    @staticmethod
    def _params_of(trial: Any) -> Any:
        return trial if isinstance(trial, Mapping) else getattr(trial, "params", None)

    def should_prune(self, member: Member, metric: str) -> bool:
        return False

    def tell(self, member: Member) -> None:
        pass


class Sampler:
    """Gives one member at a time, and is told how each ended."""

    late = True

    def __init__(self, sampler: Any, space: Space, count: int):
        if len(getattr(sampler, "directions", ())) > 1:
            raise BadRequest("a sweep has one value, and this study has several", "Give it one direction.")
        self._sampler, self._space, self._count = sampler, space, count
        self.count: int | None = count
        self.direction = str(getattr(getattr(sampler, "direction", None), "name", "")).lower()
        self._trials: dict[int, Any] = {}
        self._told: dict[int, set[int]] = {}  # steps: each further attempt repeats them

    def ask(self, number: int) -> dict[str, Any] | None:
        if number >= self._count:
            return None
        trial = self._sampler.ask(self._space) if isinstance(self._space, Mapping) else self._sampler.ask()
        self._trials[number] = trial
        params = self._space(trial) if callable(self._space) else self._params_of(trial)
        if not isinstance(params, Mapping):
            raise BadRequest(f"the sampler gave no parameters by their names, but {params!r}",
                             "Say with space= what they are of a trial.")
        return dict(params)

    @staticmethod
    def _params_of(trial: Any) -> Any:
        return trial if isinstance(trial, Mapping) else getattr(trial, "params", None)

    def should_prune(self, member: Member, metric: str) -> bool:
        """Leaves the decision to the trial, where it can decide."""
        trial = self._trials[member.number]
        if not (hasattr(trial, "report") and hasattr(trial, "should_prune")):
            return False
        told = self._told.setdefault(member.number, set())
        for place, each in enumerate(member.reports):
            step = each.get("step", place)
            if step not in told and each.get(metric) is not None:
                trial.report(each[metric], step)
                told.add(step)
        return bool(told) and bool(trial.should_prune())

    def tell(self, member: Member) -> None:
        trial = self._trials.pop(member.number)
        self._told.pop(member.number, None)
        judged = member.state == "done" and is_number(member.value)
        state = member.state if judged or member.state != "done" else "failed"
        self._sampler.tell(trial, member.value if judged else None, _state(trial, state))


def _state(trial: Any, state: str) -> Any:
    """Optuna's word for one of its own trials; else ours."""
    if type(trial).__module__.partition(".")[0] != "optuna":
        return state
    return getattr(sys.modules["optuna"].trial.TrialState, _OPTUNAS.get(state, "FAIL"))


def source_of(grid: Any, space: Space, n_trials: int | None) -> Source:
    if not (callable(getattr(grid, "ask", None)) and callable(getattr(grid, "tell", None))):
        if space is not None or n_trials is not None:
            raise BadRequest("space= and n_trials= are for a sampler, which has ask and tell", "Leave them out.")
        return Grid(grid)
    if isinstance(n_trials, bool) or not isinstance(n_trials, int) or n_trials < 1:
        raise BadRequest(f"a sampler has no end: n_trials= says how many members it is asked for, not {n_trials!r}")
    return Sampler(grid, space, n_trials)
