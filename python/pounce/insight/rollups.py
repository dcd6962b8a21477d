"""The sums of a store by day, month, node and hour: what a job adds to them, and takes back when it is read again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .jobs import Job, node_names
from .spans import HOUR_S, Calendar
from .store import ROLLUPS, Store
from .tally import amounts, part_on_node

_Sums = dict[tuple[int, ...], list[int]]


class Rollups:
    """Gathers what one transaction adds. What was held before `floor_s` has been dropped, and is not added again."""

    def __init__(self, store: Store, cluster: int, calendar: Calendar, floor_s: int):
        self._store, self._cluster, self._calendar, self._floor_s = store, cluster, calendar, floor_s
        self._added: dict[str, _Sums] = {table: {} for table in ROLLUPS}
        self._node_ids: dict[int, tuple[int, ...]] = {}
        self._month_of_day: dict[int, int] = {}

    def add(self, job: Job, words: Sequence[int], nodes: int, sign: int) -> None:
        """`words`: the ids of its class, user, account, wckey, mode, partition and GPU model; `nodes`: that of its list
        of nodes. sign: 1 adds it, -1 takes it back."""
        begin = max(job.start_s, self._floor_s)
        if not job.start_s or job.until_s <= begin:
            return
        class_, user, account, wckey, mode, partition, gpu = words
        by_user, by_mode = (class_, user, account, wckey, mode, partition, gpu), (class_, mode, partition, gpu)
        part = _Part(job)
        days = self._calendar.days(begin, job.until_s)
        hours = _steps(days, begin, job.until_s, HOUR_S)
        for table, keys, starts in (("day_use", by_user, days), ("hour_use", by_mode, hours),
                                    ("month_use", by_user, self._months(days))):
            sums = self._added[table]
            for start, first, last in _cut(starts, begin, job.until_s):
                _add(sums, (start, *keys), part.of(first, last), sign)
        ids = self._nodes(nodes)
        for number, node in enumerate(ids):
            share = part if len(ids) == 1 else _Part(job, number, len(ids))
            for table, starts in (("node_day_use", days), ("node_month_use", self._months(days))):
                for start, first, last in _cut(starts, begin, job.until_s):
                    _add(self._added[table], (start, class_, node, mode, partition, gpu), share.of(first, last), sign)

    def _months(self, days: Sequence[int]) -> list[int]:
        """Those of the days. """
        months: list[int] = []
        for day in days:
            month = self._month_of_day.get(day)
            if month is None:
                month = self._month_of_day[day] = self._calendar.start_of_unit("month", day)
            if not months or months[-1] != month:
                months.append(month)
        return months

    def _nodes(self, nodes: int) -> tuple[int, ...]:
        ids = self._node_ids.get(nodes)
        if ids is None:
            names = node_names(self._store.text(nodes)) or ("",)
            ids = self._node_ids[nodes] = tuple(self._store.word(name) for name in names)
        return ids

    def flush(self) -> None:
        for table, sums in self._added.items():
            rows = [(self._cluster, *key, *values) for key, values in sums.items() if any(values)]
            self._store.add_to_rollup(table, rows)
            sums.clear()


class _Part:
    """What a job, or one of its nodes, held between two moments: the columns of a rollup's sums."""

    def __init__(self, job: Job, number: int = 0, count: int = 1):
        self._start, self._until, self._waited_s = job.start_s, job.until_s, job.waited_s
        gpus, cpus, energy_j = (part_on_node(total, number, count)
                                for total in (job.gpus, job.cpus, max(job.energy_j, 0)))
        self._held = gpus, cpus, job.use_ppm, job.use_is_said, energy_j

    def of(self, first: int, last: int) -> tuple[int, ...]:
        *sums, energy_j = amounts(self._start, self._until, first, last, *self._held)
        started = first == self._start
        return (1, int(started), *sums, self._waited_s if started else 0, energy_j)


def _steps(days: Sequence[int], begin: int, end: int, step: int) -> list[int]:
    """The beginnings of the hours of these days that have a second of [begin, end)."""
    return [hour for day, following in zip(days, [*days[1:], end], strict=True)
            for hour in range(day + max(begin - day, 0) // step * step, following, step)]


def _cut(starts: Sequence[int], begin: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(start, first, last) of periods that follow one another, cut to [begin, end)."""
    for start, following in zip(starts, [*starts[1:], end], strict=True):
        yield start, max(start, begin), min(following, end)


def _add(sums: _Sums, key: tuple[int, ...], held: tuple[int, ...], sign: int) -> None:
    values = sums.get(key)
    if values is None:
        sums[key] = [sign * amount for amount in held]
        return
    for place, amount in enumerate(held):
        values[place] += sign * amount
