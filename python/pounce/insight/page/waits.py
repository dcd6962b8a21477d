"""How long jobs waited: by class, and by the weekday and hour at which they could have started."""

from __future__ import annotations

import datetime
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..spans import Calendar

# A wait belongs to the first bucket that is no shorter.
BUCKETS = ((1, "up to 1 s"), (10, "up to 10 s"), (60, "up to 1 min"), (600, "up to 10 min"), (3600, "up to 1 h"),
           (6 * 3600, "up to 6 h"), (1 << 40, "longer"))
SERVED_S = 60  # who waits no longer is served at once, for seats per GPU


def bucket_of(waited_s: float) -> int:
    return next(place for place, (most_s, _) in enumerate(BUCKETS) if waited_s <= most_s)


def quantile(waits: Sequence[int], part: float) -> int:
    """The least wait that at least this part of them does not exceed; 0 where there is none."""
    ordered = sorted(waits)
    return ordered[max(-int(-part * len(ordered) // 1) - 1, 0)] if ordered else 0


def _numbers() -> array[int]:
    return array("q")


@dataclass
class Waits:
    by_class: dict[str, array[int]] = field(default_factory=dict)
    by_hour: dict[tuple[int, int], array[int]] = field(default_factory=dict)  # (0 is Monday, hour of the clock)

    def add(self, class_name: str, waited_s: int, calendar: Calendar, could_start_s: int) -> None:
        day = calendar.date_of(could_start_s)
        hour = int(calendar.label("hour", could_start_s))
        self.by_class.setdefault(class_name, _numbers()).append(waited_s)
        self.by_hour.setdefault((datetime.date.weekday(day), hour), _numbers()).append(waited_s)

    @property
    def all(self) -> array[int]:
        together = _numbers()
        for waits in self.by_class.values():
            together.extend(waits)
        return together

    def histogram(self, class_name: str) -> list[int]:
        counts = [0] * len(BUCKETS)
        for waited_s in self.by_class.get(class_name, ()):
            counts[bucket_of(waited_s)] += 1
        return counts
