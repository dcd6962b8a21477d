"""Times as people write them: a number of seconds, a timedelta, or a text, which src/base/durations.h reads."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from .. import _core


def in_words(seconds: float) -> str:
    """"40 s", "12 min", "3.5 h": how long something took."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def seconds_of(value: Any) -> float | None:
    """Takes a number, a timedelta or a text such as "20min", "1h30m" or "1-12:00:00"; None: it is none of these."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return _core.duration_s(value) if isinstance(value, str) else None


def limit_seconds_of(value: Any) -> float | None:
    """As `seconds_of`, for the time limit of a job: also takes what sbatch takes for --time: "30" is minutes,
    "UNLIMITED" infinite."""
    return _core.time_limit_s(value) if isinstance(value, str) else seconds_of(value)
