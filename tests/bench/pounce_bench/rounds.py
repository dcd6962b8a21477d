"""Measures by turns: every contender once in each round, so that a busy minute of the machine affects all of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field


def interleaved(turns: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """The figure of each contender in each round. Each round begins with another contender."""
    names = list(turns)
    figures: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            figures[name].append(turns[name]())
    return figures


@dataclass(frozen=True)
class Goal:
    """Our figure divided by another contender's (median of the rounds' ratios), or our figure alone."""

    text: str
    ours: str
    bound: float
    at_most: bool
    other: str | None = None
    inverse: bool = False  # the other's divided by ours: how many times faster, if less is better

    def reached(self, figures: dict[str, list[float]]) -> float | None:
        """None: ours or the other's was not measured."""
        if self.ours not in figures or (self.other is not None and self.other not in figures):
            return None
        ours = figures[self.ours]
        if self.other is None:
            return statistics.median(ours)
        pairs = list(zip(ours, figures[self.other], strict=True))
        return statistics.median(other / our if self.inverse else our / other for our, other in pairs)

    def met(self, value: float) -> bool:
        return value <= self.bound if self.at_most else value >= self.bound


@dataclass
class Table:
    """One quantity of several contenders."""

    title: str
    unit: str
    figures: dict[str, list[float]]
    goals: list[Goal] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)  # by contender: "1,000 calls"

    def as_json(self) -> dict[str, object]:
        rows = [{"name": name, "median": _rounded(statistics.median(values)), "least": _rounded(min(values)),
                 "most": _rounded(max(values)), "rounds": [_rounded(value) for value in values],
                 **({"note": self.notes[name]} if name in self.notes else {})} for name, values in self.figures.items()]
        goals = []
        for goal in self.goals:
            value = goal.reached(self.figures)
            goals.append({"goal": goal.text, "value": None if value is None else _rounded(value),
                          "met": None if value is None else goal.met(value)})
        return {"title": self.title, "unit": self.unit, "rows": rows, "goals": goals}


def _rounded(value: float) -> float:
    return float(f"{value:.4g}") if abs(value) < 10_000 else round(value)
