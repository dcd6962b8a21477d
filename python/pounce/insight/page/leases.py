"""The pauses between leases, in which pounce had given their GPUs back, and how many people the GPUs in use served."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..spans import Calendar
from .waits import SERVED_S

PAUSE_S = 2 * 3600  # a reservation would have been kept through a shorter one
OFFLOAD = "offload"


@dataclass
class Seats:
    """Over the days on which a mode held GPUs: people who were served, people, and the most GPUs in use at once, each
    added up over the days. A person of a day is served for the part of the starts that came within SERVED_S."""

    days: int = 0
    served: float = 0
    people: int = 0
    gpus: int = 0

    @property
    def per_gpu(self) -> float:
        return self.served / self.gpus if self.gpus else 0.0


@dataclass
class Leases:
    held: dict[str, list[tuple[str, int, int, int]]] = field(default_factory=dict)  # by mode: user, GPUs, from, until
    starts: dict[tuple[str, int, str], list[int]] = field(default_factory=dict)  # by mode, day, user: all, late
    given_back_s: dict[str, int] = field(default_factory=dict)  # GPU seconds, by the label of a period
    seats: dict[str, Seats] = field(default_factory=dict)  # by mode

    def add(self, user: str, mode: str, gpus: int, start_s: int, until_s: int) -> None:
        self.held.setdefault(mode, []).append((user, gpus, start_s, until_s))

    def add_start(self, user: str, mode: str, day_s: int, waited_s: int) -> None:
        counts = self.starts.setdefault((mode, day_s, user), [0, 0])
        counts[0] += 1
        counts[1] += waited_s > SERVED_S

    def finish(self, calendar: Calendar, unit: str, from_s: int, to_s: int) -> None:
        """After the last `add`."""
        for gpus, begin, end in pauses(self.held.get(OFFLOAD, ())):
            for label, first, last in _cut(calendar, unit, max(begin, from_s), min(end, to_s)):
                self.given_back_s[label] = self.given_back_s.get(label, 0) + gpus * (last - first)
        days = [max(day, from_s) for day in calendar.days(from_s, to_s)]
        for mode, held in self.held.items():
            self.seats[mode] = self._seats_of(mode, peaks(held, [*days, to_s]))

    def _seats_of(self, mode: str, most: dict[int, int]) -> Seats:
        seats = Seats(sum(gpus > 0 for gpus in most.values()), gpus=sum(most.values()))
        for (its_mode, _, _), (count, late) in self.starts.items():
            if its_mode == mode:
                seats.people += 1
                seats.served += (count - late) / count
        return seats


def pauses(held: Iterable[tuple[str, int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """(GPUs, from, until) of the times between a person's leases in which none of them ran, up to PAUSE_S long; the
    GPUs are those of the lease that ended last. `held` is (user, GPUs, from, until)."""
    last: dict[str, tuple[int, int]] = {}  # of each person: the latest end, and the GPUs of that lease
    for user, gpus, start_s, until_s in sorted(held, key=lambda lease: lease[2]):
        ended_s, before = last.get(user, (0, 0))
        if ended_s and 0 < start_s - ended_s <= PAUSE_S:
            yield before, ended_s, start_s
        if until_s >= ended_s:
            last[user] = until_s, gpus


def peaks(held: Iterable[tuple[str, int, int, int]], days: list[int]) -> dict[int, int]:
    """The most GPUs in use at one moment of each day; `days` are their beginnings and the end of the last one."""
    changes = sorted(change for _, gpus, start_s, until_s in held for change in ((start_s, gpus), (until_s, -gpus)))
    most: dict[int, int] = {}
    level = place = 0
    for begin, end in itertools.pairwise(days):
        while place < len(changes) and changes[place][0] <= begin:
            level += changes[place][1]
            place += 1
        most[begin] = level
        while place < len(changes) and changes[place][0] < end:
            level += changes[place][1]
            place += 1
            most[begin] = max(most[begin], level)
    return most


def _cut(calendar: Calendar, unit: str, begin: int, end: int) -> Iterator[tuple[str, int, int]]:
    """(label of the period, first, last) of the parts of [begin, end)."""
    starts = calendar.starts(unit, begin, end)
    for start, following in zip(starts, [*starts[1:], end], strict=True):
        yield calendar.label(unit, start), max(start, begin), min(following, end)
