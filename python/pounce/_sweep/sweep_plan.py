"""The decisions of a sweep: many calls of one function, each with its own parameters. Pure: nothing waits or sends."""

from __future__ import annotations

import bisect
import collections
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..errors import BadRequest

Report: TypeAlias = dict[str, Any]
Stop: TypeAlias = "Callable[[list[Report]], Any] | str | None"
Metric: TypeAlias = "str | Callable[[Any], Any] | None"

_MEDIAN_OF = 3      # how many others must have as many reports before a member is compared with them
_LATELY = 64        # how many recent ends the estimate uses


@dataclass(eq=False)
class Member:
    """One call of a sweep."""

    number: int
    params: dict[str, Any]
    state: str = "waiting"  # "running", "done", "pruned", "failed" or "cancelled"
    value: Any = None
    error: BaseException | None = None
    seconds: float = 0.0    # on the worker, of the last attempt; if interrupted, since its first report
    attempts: int = 0
    result: Any = field(default=None, repr=False)
    reports: list[Report] = field(default_factory=list, repr=False)

    @property
    def over(self) -> bool:
        return self.state not in ("waiting", "running")


def members_of(grid: Any) -> Iterator[dict[str, Any]]:
    """The parameters of each member: from a dict of lists each combination, the last name's values varying fastest;
    else one dict for each item."""
    if isinstance(grid, Mapping):
        for name, values in grid.items():
            if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
                raise BadRequest(f"the grid has {values!r} for {name}, not a list of values",
                                 f"Write {name!r}: [{values!r}].")
        columns = {name: list(values) for name, values in grid.items()}
        return (dict(zip(columns, row, strict=True)) for row in itertools.product(*columns.values()))
    if isinstance(grid, (str, bytes)) or not isinstance(grid, Iterable):
        raise BadRequest("sweep takes a dict of lists, dicts of parameters, or a sampler with ask and tell, "
                         f"not {grid!r}")
    return map(_params, grid)


def _params(item: Any) -> dict[str, Any]:
    if not isinstance(item, Mapping) or not all(isinstance(name, str) for name in item):
        raise BadRequest(f"the parameters of a member are a dict by their names, not {item!r}")
    return dict(item)


def count_of(grid: Any) -> int | None:
    """The number of members; None: known only at the end."""
    if isinstance(grid, Mapping):
        count = 1
        for values in grid.values():
            if not hasattr(values, "__len__"):
                return None
            count *= len(values)
        return count
    return len(grid) if hasattr(grid, "__len__") else None


def value_of(metric: Metric, result: Any, reports: Sequence[Report]) -> Any:
    """The value by which a member that ended well is judged."""
    if metric is None:
        return result
    if callable(metric):
        return metric(result)
    if isinstance(result, Mapping) and metric in result:
        return result[metric]
    value = last_reported(metric, reports)
    if value is None:
        raise BadRequest(f"it has neither reported nor returned {metric}",
                         f"Call pounce.report({metric}=...), or return {{{metric!r}: ...}}.")
    return value


def last_reported(metric: Metric, reports: Sequence[Report]) -> Any:
    if not isinstance(metric, str):
        return None
    return next((each[metric] for each in reversed(reports) if each.get(metric) is not None), None)


class MedianRule:
    """Prunes a member whose best so far is worse than the median of all members' bests after as many reports."""

    def __init__(self, metric: str, sign: int):
        self._metric, self._sign = metric, sign  # 1 where less is better
        self._bests: list[list[float]] = []  # for each number of reports: the members' bests, sorted
        self._best: dict[int, float] = {}
        self._seen: dict[int, int] = {}

    def should_prune(self, number: int, reports: Sequence[Report]) -> bool:
        """Whether to prune the member, which has made these reports."""
        for place in range(self._seen.get(number, 0), len(reports)):
            self._hear(number, place, reports[place].get(self._metric))
        if number not in self._best:
            return False
        all_bests, best = self._bests[self._seen[number] - 1], self._best[number]
        return len(all_bests) > _MEDIAN_OF and best > all_bests[len(all_bests) // 2]

    def _hear(self, number: int, place: int, value: Any) -> None:
        if is_number(value):
            self._best[number] = min(self._best.get(number, math.inf), self._sign * value)
        self._seen[number] = place + 1
        while len(self._bests) <= place:
            self._bests.append([])
        if number in self._best:
            bisect.insort(self._bests[place], self._best[number])


def ranked(members: Iterable[Member], sign: int) -> list[Member]:
    """The members that ended well with a number, the best first."""
    judged = [member for member in members if member.state == "done" and is_number(member.value)]
    return sorted(judged, key=lambda member: sign * member.value)


def is_number(value: Any) -> bool:
    """Whether it is a number; NaN is not."""
    try:
        return value is not None and not isinstance(value, str) and bool(float(value) == float(value))
    except (TypeError, ValueError):
        return False


class Pace:
    """Estimates when the remaining members will be done from how quickly members ended lately."""

    def __init__(self, start: float):
        self._ends: collections.deque[float] = collections.deque([start], maxlen=_LATELY)

    def ended(self, now: float) -> None:
        self._ends.append(now)

    def seconds_left(self, members: int, now: float) -> float | None:
        """The time for so many remaining members; None: none has ended."""
        ends = len(self._ends) - 1
        return members * (now - self._ends[0]) / ends if ends else None


def rows_of(members: Sequence[Member]) -> list[dict[str, Any]]:
    """One row for each member, its parameters as columns. A parameter named like another column is `params_NAME`."""
    ours = ("number", "state", "value", "seconds", "attempts", "error")
    rows = []
    for member in members:
        row: dict[str, Any] = {"number": member.number}
        row |= {f"params_{name}" if name in ours else name: value for name, value in member.params.items()}
        error = None if member.error is None else f"{type(member.error).__name__}: {member.error}"
        row |= {"state": member.state, "value": member.value, "seconds": member.seconds, "attempts": member.attempts,
                "error": error}
        rows.append(row)
    return rows


def progress(members: Sequence[Member], count: int | None, best: Member | None, seconds_left: float | None) -> str:
    """One line: how many members ended how, the best value so far, and the time that is left."""
    states = collections.Counter(member.state for member in members)
    ended = sum(1 for member in members if member.over)
    words = [f"{ended} of {count if count is not None else 'as many as come'}"]
    words += [f"{states[state]} {state}" for state in ("running", "pruned", "failed", "cancelled") if states[state]]
    if best is not None:
        words.append(f"best {float(best.value):.4g}")
    if seconds_left is not None and count is not None and ended < count:
        words.append(f"{_time(seconds_left)} left")
    return " · ".join(words)


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"about {max(1, round(seconds))} s"
    return f"about {round(seconds / 60)} min" if seconds < 6000 else f"about {seconds / 3600:.1f} h"
