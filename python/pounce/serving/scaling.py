"""How many workers an endpoint has: a decision from the requests that wait and the workers that there are. Pure."""

from __future__ import annotations

from dataclasses import dataclass

PRESSURE_S = 1.0  # requests have waited so long without a break: one more worker is requested
CALM_S = 10.0  # no request has waited for so long: workers that are still to come are not needed


@dataclass(frozen=True)
class Load:
    """Times are seconds."""

    least: int
    most: int
    ready: int  # workers with the model
    starting: int  # requested ones, and those that load it
    waiting: int  # requests without a worker
    pressed_s: float  # for how long requests have waited without a break; 0: none waits
    calm_s: float  # for how long none has waited
    keeps_least: bool  # no start has failed since the last request


def to_start(load: Load) -> int:
    """How many workers to request now. The first comes with the first request; under load they come one by one, so
    that a burst that is over soon takes no second GPU."""
    there = load.ready + load.starting
    missing = load.least - there if load.keeps_least else 0
    if load.waiting and not there:
        return max(1, missing)
    if missing > 0:
        return missing
    more = load.ready and not load.starting and there < load.most and load.pressed_s >= PRESSURE_S
    return 1 if more else 0


def to_withdraw(load: Load) -> int:
    """How many workers that are still to come nobody needs any more."""
    if load.waiting or load.calm_s < CALM_S:
        return 0
    return min(load.starting, max(0, load.ready + load.starting - load.least))


def to_end(load: Load, unused_s: list[float], idle_s: float) -> int:
    """How many of the unused workers go back, the longest unused first; `unused_s`: for how long each is."""
    idle = sum(unused >= idle_s for unused in unused_s)
    return min(idle, max(0, load.ready + load.starting - load.least))
