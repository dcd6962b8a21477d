"""The sums of a span: from the store as far as it goes, and the rest from Slurm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..errors import PounceError
from .accounting import Facts
from .collector import Source, read_windows
from .kept_jobs import jobs_between
from .spans import UNITS, Calendar
from .store import ROLLUPS, Kept, Store, not_kept
from .tally import SUMS, Project, Share, Tally, summed


@dataclass(frozen=True)
class Question:
    keys: tuple[str, ...]
    from_s: int
    to_s: int
    users: frozenset[str] = frozenset()  # only their jobs; empty: all


@dataclass
class Answer:
    cluster: str
    question: Question
    tally: Tally  # by the question's keys and by mode
    facts: Facts | None = None  # None: Slurm was not needed, or did not answer
    trouble: PounceError | None = None  # why it did not
    gaps: list[tuple[int, int]] = field(default_factory=list)  # spans of which nothing is known
    kept: Kept | None = None  # what of it is from the store
    own_only: bool = False  # Slurm hid others' jobs from this caller, or from the store's owner
    has_untagged: bool = False  # jobs of pounce without its comment, and none with it
    counts_gpus: bool = True
    counts_gpu_use: bool = False

    @property
    def groups(self) -> dict[tuple[str, ...], Share]:
        """By the question's keys alone."""
        groups: dict[tuple[str, ...], Share] = {}
        for key, share in self.tally.groups.items():
            groups.setdefault(key[:len(self.question.keys)], Share()).add(share)
        return groups

    def of_mode(self, mode: str) -> Share:
        place = self.tally.keys.index("mode")
        return summed(share for key, share in self.tally.groups.items() if key[place] == mode)


def answer(question: Question, calendar: Calendar, project: Project, store: Store | None,
           source: Callable[[], Source], project_keys: Sequence[str] = ("account", "wckey", "user")) -> Answer:
    """Asks Slurm only for what the store does not have. Raises what Slurm's accounting says if there is no store; with
    one, `gaps` tells what is missing."""
    span = question.from_s, question.to_s
    keys = question.keys if "mode" in question.keys else (*question.keys, "mode")  # a job has one mode
    found = Answer("", question, Tally(keys, *span, calendar, project))
    kept = store.kept() if store is not None else None
    missing = not_kept(kept, *span)
    if missing:
        facts = _facts(source, found, kept)
        if kept is not None and facts is not None and kept.cluster != facts.cluster:
            assert store is not None
            kept = store.kept(facts.cluster)  # the store has other clusters, or this one under its earlier name
            missing = not_kept(kept, *span)
        if facts is None:
            found.gaps = missing
            # What ran before is counted where knowledge begins.
            found.tally.from_s = max(found.tally.from_s, kept.begin_s if kept is not None else 0)
        else:
            _ask(source(), facts, missing, found)
    if store is not None and kept is not None:
        found.cluster, found.kept = kept.cluster, kept
        if found.facts is None:
            found.counts_gpus, found.counts_gpu_use = kept.counts_gpus, kept.counts_gpu_use
        found.own_only = found.own_only or bool(store.setting("own_only"))
        begin, end = max(span[0], kept.begin_s), min(span[1], kept.until_s)
        if begin < end:
            _FromStore(store, kept, found.tally, question.users, project_keys).add(begin, end)
    return found


def _facts(source: Callable[[], Source], found: Answer, kept: Kept | None) -> Facts | None:
    try:
        facts = source().facts()
    except PounceError as error:
        if kept is None:
            raise
        found.trouble = error
        return None
    found.facts, found.cluster, found.own_only = facts, facts.cluster, facts.hides_others
    found.counts_gpus, found.counts_gpu_use = facts.counts_gpus, facts.counts_gpu_use
    return facts


def _ask(source: Source, facts: Facts, missing: list[tuple[int, int]], found: Answer) -> None:
    tagged = offloads = False
    for from_s, to_s in missing:
        at = from_s
        try:
            for begin, end, jobs in read_windows(source, facts, from_s, to_s, facts.counts_gpu_use):
                for job in jobs:
                    tagged, offloads = tagged or bool(job.lease), offloads or job.mode == "offload"
                    found.tally.add(job, begin, end, found.question.users)
                at = end
        except PounceError as error:
            found.trouble = error
            found.gaps.append((at, to_s))
    found.has_untagged = offloads and not tagged


class _FromStore:
    """Adds what the store has to a tally: whole days (hours, where the tally has them) from sums, if there are sums by
    its keys, and the rest job by job."""

    def __init__(self, store: Store, kept: Kept, tally: Tally, users: frozenset[str], project_keys: Sequence[str]):
        self._store, self._kept, self._tally, self._users = store, kept, tally, users
        self._cluster = store.id_of(kept.cluster)
        self._texts: dict[int, str] = {}
        self._project_keys = project_keys
        self._calendar = store.calendar()

    def add(self, begin: int, end: int) -> None:
        table = self._table()
        if table is None:
            return self._add_jobs(begin, end)
        unit = "hour" if table == "hour_use" else "day"
        starts = [start for start in [*self._calendar.starts(unit, begin, end),
                                      self._after(unit, end)] if begin <= start <= end]
        if len(starts) < 2:
            return self._add_jobs(begin, end)
        self._add_jobs(begin, starts[0])
        self._add_days(table, starts[0], starts[-1])
        self._add_jobs(starts[-1], end)

    def _add_days(self, table: str, begin: int, end: int) -> None:
        """Whole months come from their own sums where no time is among the keys."""
        months = [] if self._tally.unit else [start for start in [*self._calendar.starts("month", begin, end),
                                              self._after("month", end)] if begin <= start <= end]
        if len(months) < 2:
            return self._add_sums(table, begin, end)
        self._add_sums(table, begin, months[0])
        self._add_sums(table.replace("day", "month"), months[0], months[-1])
        self._add_sums(table, months[-1], end)

    def _after(self, unit: str, moment: int) -> int:
        """`moment` if a day or an hour begins there."""
        start = self._calendar.start_of_unit(unit, moment)
        return start if start == moment else moment + 1

    def _names(self) -> list[str]:
        """The columns that the keys of the tally need."""
        names = {name for key in self._tally.keys if key not in UNITS
                 for name in (self._project_keys if key == "project" else (key,))}
        return sorted(names | ({"user"} if self._users else set()))

    def _table(self) -> str | None:
        if self._calendar.zone != self._tally.zone and self._tally.unit:
            return None  # its days are others
        tables = ["hour_use"] if self._tally.unit == "hour" else ["day_use", "node_day_use"]
        return next((table for table in tables if set(self._names()) <= set(ROLLUPS[table])), None)

    def _add_sums(self, table: str, begin: int, end: int) -> None:
        names, tally = self._names(), self._tally
        where, users = "", []
        if self._users:
            where = f" AND user IN ({', '.join('?' * len(self._users))})"
            users = [self._store.id_of(user) for user in sorted(self._users)]
        if begin >= end:
            return
        # A job that ran before this day or hour has been counted there, unless the span begins here.
        time = "time" if tally.unit else f"time <= {tally.from_s}"
        sums = ", ".join(f"sum({name})" for name in SUMS)
        rows = self._store.connection.execute(
            f"SELECT {time} AS at, {', '.join([*names, sums])} FROM {table} "
            f"WHERE cluster = ? AND time >= ? AND time < ?{where} GROUP BY {', '.join(['at', *names])}",
            (self._cluster, begin, end, *users))
        for time_or_first, *rest in rows:
            texts = dict(zip(names, map(self._text, rest[:len(names)]), strict=True))
            values = rest[len(names):]
            period = tally.period_of(time_or_first) if tally.unit else 0
            is_first = time_or_first <= max(period, tally.from_s) if tally.unit else time_or_first
            values[0] = values[0] if is_first else values[1]
            tally.share_of(tuple(self._value(key, texts, period) for key in tally.keys)).add(values)

    def _value(self, key: str, texts: dict[str, str], period: int) -> str:
        if key in UNITS:
            return self._tally.label(key, period)
        if key == "project":
            return self._tally.project(*(texts.get(name, "") for name in ("account", "wckey", "user")))
        return texts[key]

    def _text(self, number: int) -> str:
        text = self._texts.get(number)
        if text is None:
            text = self._texts[number] = self._store.text(number)
        return text

    def _add_jobs(self, begin: int, end: int) -> None:
        if begin < end:
            for job in jobs_between(self._store, self._kept, begin, end):
                self._tally.add(job, begin, end, self._users)
