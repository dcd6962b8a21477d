"""Sums of what jobs held, by keys such as user and day. All sums are whole numbers, and of a job that lies in several
parts (days, nodes, two questions to the database) the parts add up to the whole exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

from .jobs import Job, node_names
from .spans import UNITS, Calendar, finest

KEYS = ("class", "user", "account", "project", "mode", "partition", "node", "gpu", *UNITS)


@dataclass(slots=True)
class Share:
    """What the jobs of one group held. `known_s` is the part of `gpu_s` whose use is known, and `said_s` the part of it
    that is known from the jobs' own comments alone; `busy_ms` is what of it computed. `waited_s` is that of the jobs
    that started in the span, of which there are `started`."""

    jobs: int = 0
    started: int = 0
    gpu_s: int = 0
    cpu_s: int = 0
    known_s: int = 0
    said_s: int = 0
    busy_ms: int = 0
    waited_s: int = 0
    energy_j: int = 0

    def add(self, other: Share | Sequence[int]) -> None:
        for name, value in zip(SUMS, other if isinstance(other, Sequence) else other.values(), strict=True):
            setattr(self, name, getattr(self, name) + value)

    def values(self) -> tuple[int, ...]:
        return tuple(getattr(self, name) for name in SUMS)


SUMS = tuple(field.name for field in fields(Share))


def amounts(start: int, until: int, begin: int, end: int, gpus: int, cpus: int, ppm: int, said: bool,
            energy_j: int) -> tuple[int, int, int, int, int, int]:
    """(gpu_s, cpu_s, known_s, said_s, busy_ms, energy_j) of the part [begin, end) of what was held from start to until.
    Each is a difference of sums from the start on, rounded alike, so the parts of a job add up to it."""
    gpu_s = gpus * (end - begin)
    known_s = gpu_s if ppm >= 0 else 0
    busy_ms = gpus * (end - start) * ppm // 1000 - gpus * (begin - start) * ppm // 1000 if known_s else 0
    whole = until - start
    energy = energy_j * (end - start) // whole - energy_j * (begin - start) // whole if energy_j > 0 else 0
    return gpu_s, cpus * (end - begin), known_s, known_s if said else 0, busy_ms, energy


def part_on_node(total: int, number: int, count: int) -> int:
    """What node `number` of `count` has of a job's total: accounting does not say it, so nodes have equal parts."""
    return total * (number + 1) // count - total * number // count


Project = Callable[[str, str, str], str]  # of (account, wckey, user)


class Tally:
    """Sums of jobs by `keys` over the span [from_s, to_s), fed in parts of it: the store's, and what Slurm has since.

    A job counts once in each period of the finest time among the keys (once in all without one), at the first moment
    of that period in which it held something.
    """

    def __init__(self, keys: Sequence[str], from_s: int, to_s: int, calendar: Calendar, project: Project):
        self.keys = tuple(keys)
        self.from_s, self.to_s = from_s, to_s
        self.groups: dict[tuple[str, ...], Share] = {}
        self.unit = finest(list(keys))
        self.project, self.zone = project, calendar.zone
        self._calendar = calendar

    def share_of(self, key: tuple[str, ...]) -> Share:
        share = self.groups.get(key)
        if share is None:
            share = self.groups[key] = Share()
        return share

    def periods(self, from_s: int, to_s: int) -> Iterator[tuple[int, int, int]]:
        """(its start, begin, end) of the periods that have a second of [from_s, to_s), cut to it."""
        if not self.unit:
            yield self.from_s, from_s, to_s
            return
        starts = self._calendar.starts(self.unit, from_s, to_s)
        for start, following in zip(starts, [*starts[1:], to_s], strict=True):
            yield start, max(start, from_s), min(following, to_s)

    def period_of(self, moment: int) -> int:
        """The beginning of the period that has `moment`; a day's or an hour's own beginning is one."""
        return self._calendar.start_of_unit(self.unit, moment)

    def label(self, key: str, period: int) -> str:
        return self._calendar.label(key, period)

    def add(self, job: Job, from_s: int, to_s: int, users: frozenset[str] = frozenset()) -> None:
        """The part of `job` that lies in [from_s, to_s), a part of this tally's span."""
        begin, end = max(job.start_s, from_s), min(job.until_s, to_s)
        if not job.start_s or end <= begin or (users and job.user not in users):
            return
        names = node_names(job.nodes) or ("",) if "node" in self.keys else ("",)
        for start, first, last in self.periods(begin, end):
            # The moment at which the job begins to count in this period of the whole span.
            is_counted = max(job.start_s, start, self.from_s) >= from_s
            is_started = job.start_s >= first
            for number, name in enumerate(names):
                self._add_part(job, name, number, len(names), (start, first, last), is_counted, is_started)

    def _add_part(self, job: Job, node: str, number: int, count: int, part: tuple[int, int, int], is_counted: bool,
                  is_started: bool) -> None:
        start, first, last = part
        split = (lambda total: part_on_node(total, number, count)) if count > 1 else (lambda total: total)
        held = amounts(job.start_s, job.until_s, first, last, split(job.gpus), split(job.cpus), job.use_ppm,
                       job.use_is_said, split(job.energy_j) if job.energy_j > 0 else 0)
        gpu_s, cpu_s, known_s, said_s, busy_ms, energy_j = held
        key = tuple(self._value(name, job, node, start) for name in self.keys)
        self.share_of(key).add((int(is_counted), int(is_started), gpu_s, cpu_s, known_s, said_s, busy_ms,
                                job.waited_s if is_started else 0, energy_j))

    def _value(self, key: str, job: Job, node: str, period: int) -> str:
        if key in UNITS:
            return self.label(key, period)
        if key == "project":
            return self.project(job.account, job.wckey, job.user)
        if key == "node":
            return node
        return getattr(job, _ATTRIBUTES.get(key, key))

    def total(self) -> Share:
        return summed(self.groups.values())


_ATTRIBUTES = {"class": "class_name"}


def summed(shares: Iterable[Share]) -> Share:
    total = Share()
    for share in shares:
        total.add(share)
    return total
