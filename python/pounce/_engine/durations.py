"""Times as people write them: a number of seconds, a timedelta, "20min", or Slurm's "1-12:00:00"."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

_TIME = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?)\s*", re.IGNORECASE)
_SECONDS_OF = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def in_words(seconds: float) -> str:
    """"40 s", "12 min", "3.5 h": how long something took."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def seconds_of(value: Any) -> float | None:
    """Of a number, a timedelta or a text such as "20min"; None: it is none of these."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        return None
    if found := _TIME.fullmatch(value):
        return float(found[1]) * _SECONDS_OF[found[2][0].lower()]
    days, dash, clock = value.rpartition("-")
    parts = clock.split(":")
    if not all(part.isdigit() for part in parts) or len(parts) != 3 or (dash and not days.isdigit()):
        return None
    hours, minutes, seconds = map(int, parts)
    return int(days or 0) * 86400 + hours * 3600 + minutes * 60 + seconds
