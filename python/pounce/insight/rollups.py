"""The sums of a store by day, node and hour: what a job adds to them, and takes from them when it is read again."""

from __future__ import annotations

from collections.abc import Sequence

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

    def add(self, job: Job, words: Sequence[int], nodes: int, sign: int) -> None:
        """`words`: the ids of its class, user, account, wckey, mode, partition and GPU model; `nodes`: that of its list
        of nodes. sign: 1 adds it, -1 takes it back."""
        begin = max(job.start_s, self._floor_s)
        if not job.start_s or job.until_s <= begin:
            return
        class_, user, account, wckey, mode, partition, gpu = words
        ppm, said, energy_j = job.use_ppm, job.use_is_said, max(job.energy_j, 0)
        ids = self._nodes(nodes)
        days = self._calendar.days(begin, job.until_s)
        for day, following in zip(days, [*days[1:], job.until_s], strict=True):
            first, last = max(day, begin), min(following, job.until_s)
            started = int(first == job.start_s)
            counts = (sign, sign * started)
            waited_s = job.waited_s if started else 0

            def held(first: int, last: int, gpus: int = job.gpus, cpus: int = job.cpus, energy_j: int = energy_j,
                     waited_s: int = waited_s) -> tuple[int, ...]:
                *sums, energy = amounts(job.start_s, job.until_s, first, last, gpus, cpus, ppm, said, energy_j)
                return (*sums, waited_s, energy)

            whole = held(first, last)
            _add(self._added["day_use"], (day, class_, user, account, wckey, mode, partition, gpu), counts, whole, sign)
            for number, node in enumerate(ids):
                part = whole if len(ids) == 1 else held(
                    first, last, *(part_on_node(total, number, len(ids)) for total in (job.gpus, job.cpus, energy_j)))
                _add(self._added["node_use"], (day, class_, node, mode, partition, gpu), counts, part, sign)
            for hour in range(day + (first - day) // HOUR_S * HOUR_S, last, HOUR_S):
                begins, ends = max(hour, first), min(hour + HOUR_S, last)
                is_first = begins == job.start_s
                _add(self._added["hour_use"], (hour, class_, mode, partition, gpu), (sign, sign * is_first),
                     held(begins, ends, waited_s=waited_s if is_first else 0), sign)

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


def _add(sums: _Sums, key: tuple[int, ...], counts: tuple[int, int], held: tuple[int, ...], sign: int) -> None:
    values = sums.get(key)
    if values is None:
        values = sums[key] = [0] * 9
    values[0] += counts[0]
    values[1] += counts[1]
    for place, amount in enumerate(held, 2):
        values[place] += sign * amount
