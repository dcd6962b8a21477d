"""Durations as Dask's users write them: seconds, a timedelta, or a text: ``"10 ms"``, ``"2 minutes"``, ``"3"``."""

from __future__ import annotations

import re
from typing import Any

from ..._engine.durations import seconds_of
from ...errors import BadRequest

_SHORT_S = {"w": 604800.0, "d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_LONG_S = {"week": 604800.0, "day": 86400.0, "hour": 3600.0, "minute": 60.0, "second": 1.0, "millisecond": 1e-3,
           "microsecond": 1e-6, "nanosecond": 1e-9}
_UNITS_S = {"": 1.0, **_SHORT_S, **_LONG_S, **{f"{unit}s": seconds for unit, seconds in _LONG_S.items()}}
_TEXT = re.compile(r"\s*(\d*\.?\d*(?:e[+-]?\d+)?)\s*([a-z]*)\s*", re.IGNORECASE)


def seconds(value: Any, word: str = "timeout") -> float | None:
    """`value` in seconds; None stays None. Raises ``BadRequest``, a ValueError, with the keyword `word`."""
    if value is None:
        return None
    found = _of_text(value) if isinstance(value, str) else None
    if found is None:
        found = seconds_of(value)
    if found is None:
        raise BadRequest(f"{word}= takes seconds, a timedelta or a text such as '10 ms', not {value!r}")
    return found


def _of_text(text: str) -> float | None:
    """As Dask reads it: one number, then one unit. ``"ms"`` is one millisecond."""
    match = _TEXT.fullmatch(text)
    if match is None or not any(match.groups()) or match[2].lower() not in _UNITS_S:
        return None
    try:
        return float(match[1] or 1) * _UNITS_S[match[2].lower()]
    except ValueError:  # "." or "e5"
        return None
