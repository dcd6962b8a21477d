"""The values that the keywords of ``Client.sweep`` may have."""

from __future__ import annotations

from ..errors import BadRequest
from .samplers import Source
from .sweep_plan import Metric, Stop


def sign_of(direction: str | None, source: Source) -> int:
    """1 where less is better."""
    word = direction or source.direction or "minimize"
    if word not in ("minimize", "maximize"):
        raise BadRequest(f"direction= is 'minimize' or 'maximize', not {direction!r}")
    return 1 if word == "minimize" else -1


def check(metric: Metric, stop: Stop, retries: int) -> None:
    """Raises ``BadRequest`` for values that cannot be used."""
    if metric is not None and not isinstance(metric, str) and not callable(metric):
        raise BadRequest(f"metric= is the name of what is reported, or a function of the result, not {metric!r}")
    if stop is not None and stop != "median" and not callable(stop):
        raise BadRequest(f"stop= is 'median' or a function of a list of reports, not {stop!r}")
    if stop == "median" and not isinstance(metric, str):
        raise BadRequest("stop='median' compares what members report, and metric= does not name it",
                         "Say metric='loss', for example.")
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise BadRequest(f"retries= is how often a failed member runs again, not {retries!r}")
