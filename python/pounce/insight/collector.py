"""Reads Slurm's accounting into the store: in windows of time, each one a transaction, from where the last run ended.

A run begins some time before the end of the last one, for slurmctld hands jobs to slurmdbd late when that was away. A
job that was read before and is as it was costs a look; one that has changed takes back what it had added to the sums.
So a run may be repeated or stopped at any moment.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import PounceError, TooLarge
from .accounting import Facts
from .jobs import Job
from .rollups import Rollups
from .spans import DAY_S, HOUR_S
from .store import COLUMNS, FORGOTTEN, WORDS, Kept, Store

MARGIN_S = 6 * HOUR_S
_RECHECKED = 500  # jobs of which Slurm says no more, in one run


class Source(Protocol):
    """What the collector reads from: `Accounting`."""

    def facts(self) -> Facts: ...
    def jobs(self, from_s: int, to_s: int, facts: Facts, steps: bool = False) -> list[Job]: ...


@dataclass
class Collected:
    cluster: str
    from_s: int
    to_s: int
    read: int = 0  # rows that Slurm gave; a job that lies in several windows is read in each
    written: int = 0  # those that were new or had changed
    dropped: int = 0  # by retention
    own_only: bool = False


class Windows:
    """How long a span to ask for at once: such that slurmdbd answers with some thousands of jobs, in some seconds."""

    JOBS, SECONDS, LEAST_S, MOST_S = 15_000, 15.0, 60, 7 * DAY_S

    def __init__(self, length_s: int = HOUR_S):
        self.length_s = length_s

    def learn(self, jobs: int, seconds: float) -> None:
        load = max(jobs / self.JOBS, seconds / self.SECONDS)
        factor = min(max(1 / load, 0.1), 2) if load else 2.0
        self.length_s = min(max(int(self.length_s * factor), self.LEAST_S), self.MOST_S)

    def shrink(self) -> bool:
        """After an answer that was too large; False: there is no shorter one to ask for."""
        could = self.length_s > self.LEAST_S
        self.length_s = max(self.length_s // 4, self.LEAST_S)
        return could


def read_windows(source: Source, facts: Facts, from_s: int, to_s: int, steps: bool = False, backwards: bool = False,
                 clock: Callable[[], float] = time.monotonic) -> Iterator[tuple[int, int, list[Job]]]:
    """(begin, end, jobs) of windows that follow one another through [from_s, to_s), the latest first if `backwards`."""
    windows, at = Windows(), to_s if backwards else from_s
    while from_s < at if backwards else at < to_s:
        begin, end = ((max(at - windows.length_s, from_s), at) if backwards else
                      (at, min(at + windows.length_s, to_s)))
        asked_at = clock()
        try:
            jobs = source.jobs(begin, end, facts, steps)
        except TooLarge:
            if not windows.shrink():
                raise
            continue
        windows.learn(len(jobs), clock() - asked_at)
        yield begin, end, jobs
        at = begin if backwards else end


class Collector:
    """One run. `tell` gets a line for each day that was read."""

    def __init__(self, store: Store, source: Source, steps: bool = True,
                 tell: Callable[[str], None] = lambda line: None):
        self._store, self._source, self._steps, self._tell = store, source, steps, tell
        self._facts = source.facts()
        if not self._facts.has_database:
            raise PounceError("this Slurm has no slurmdbd, so there is nothing to collect",
                              "Set AccountingStorageType=accounting_storage/slurmdbd in slurm.conf.")
        self._calendar = store.calendar()
        self._forgotten = store.forgotten()
        self._is_forgotten: dict[str, bool] = {}

    def run(self, from_s: int | None, keep_s: int | None = None) -> Collected:
        """Reads all that is missing between `from_s` (None: where the store begins, or a year ago) and now. `keep_s`:
        what is older than so many seconds is dropped."""
        now_s = self._facts.now_s
        kept = self._store.kept(self._facts.cluster)
        if kept is None:
            begin = self._calendar.day_of(now_s - 365 * DAY_S if from_s is None else min(from_s, now_s))
            kept = Kept(self._facts.cluster, begin, begin, True, False)
        kept.counts_gpus, kept.counts_gpu_use = self._facts.counts_gpus, self._facts.counts_gpu_use
        begin = max(min(kept.until_s, now_s) - MARGIN_S, kept.begin_s)
        collected = Collected(kept.cluster, begin, now_s, own_only=self._facts.hides_others)
        self._read(kept, begin, now_s, collected)
        self._recheck(kept, collected)
        if from_s is not None and max(from_s, kept.floor_s) < kept.begin_s:
            collected.from_s = max(self._calendar.day_of(from_s), kept.floor_s)
            self._read(kept, collected.from_s, kept.begin_s, collected, backwards=True)
        if keep_s is not None:
            with self._store.transaction():
                collected.dropped = self._store.drop_before(kept.cluster, self._calendar.day_of(now_s - keep_s))
        return collected

    def _read(self, kept: Kept, from_s: int, to_s: int, collected: Collected, backwards: bool = False) -> None:
        day = ""
        for begin, end, jobs in read_windows(self._source, self._facts, from_s, to_s, self._steps, backwards):
            if backwards:
                kept.begin_s = begin
            else:
                kept.until_s = end
            collected.read += len(jobs)
            collected.written += self._write(kept, jobs)
            if self._calendar.label("day", begin) != day:
                day = self._calendar.label("day", begin)
                self._tell(f"{day}: {len(jobs)} jobs")

    def _write(self, kept: Kept, jobs: list[Job]) -> int:
        """Writes the jobs of a window, their sums, and how far the store is now, together or not at all."""
        written = 0
        with self._store.transaction():
            cluster = self._store.word(kept.cluster)
            rollups = Rollups(self._store, cluster, self._calendar, kept.floor_s)
            for job in jobs:
                written += self._write_job(cluster, job, rollups)
                kept.longest_s = max(kept.longest_s, job.until_s - job.start_s if job.start_s else 0)
            rollups.flush()
            self._store.keep(kept)
            if self._facts.hides_others:
                self._store.set("own_only", "yes")  # for good: what was hidden once is missing
        return written

    def _write_job(self, cluster: int, job: Job, rollups: Rollups) -> bool:
        self._hide_forgotten(job)
        row = self._row(cluster, job)
        execute = self._store.connection.execute
        old = execute(_SELECT, row[:3]).fetchone()
        if old == row:
            return False
        if old is not None:
            rollups.add(_held_by(old), _WORDS_OF(old), old[_NODES], -1)
        rollups.add(job, _WORDS_OF(row), row[_NODES], 1)
        execute(_REPLACE, row)
        return True

    def _row(self, cluster: int, job: Job) -> tuple[Any, ...]:
        word = self._store.word
        return (cluster, *_NUMBERS(job), int(job.lost), self._facts.now_s if job.end_s == 0 else 0,
                *(word(text) for text in _TEXTS_WITH_ID(job)), job.name, job.submit_line, job.array_tasks, job.lease)

    def _hide_forgotten(self, job: Job) -> None:
        if self._forgotten and self._is_forgotten.setdefault(
                job.user, self._store.digest_of(job.user) in self._forgotten):
            job.user, job.name, job.submit_line = FORGOTTEN, "", ""

    def _recheck(self, kept: Kept, collected: Collected) -> None:
        """Jobs without an end that no window of this run had: their end was set to a moment before it, as sacctmgr does
        with runaway jobs, or Slurm has dropped them. Each is looked for where it began."""
        seen, word = self._facts.now_s, self._store.word(kept.cluster)
        rows = self._store.connection.execute(
            f"SELECT {', '.join(COLUMNS)} FROM job WHERE cluster = ? AND end_s = 0 AND seen_s < ? LIMIT ?",
            (word, seen, _RECHECKED)).fetchall()
        for moment in sorted({_moment_of(row) for row in rows}):
            found = self._source.jobs(moment, moment + 1, self._facts, self._steps)
            collected.read += len(found)
            collected.written += self._write(kept, found)
        for row in rows:
            now = self._store.connection.execute(_SELECT, row[:3]).fetchone()
            if now[_END] == 0 and now[_SEEN] < seen:
                self._close(now)

    def _close(self, row: tuple[Any, ...]) -> None:
        """Slurm does not know it any more: it has held what was seen of it."""
        with self._store.transaction():
            self._store.connection.execute(
                "UPDATE job SET end_s = max(until_s, submit_s), lost = 1, seen_s = 0 "
                "WHERE cluster = ? AND job = ? AND submit_s = ?", row[:3])


_AS_NUMBERS: tuple[str, ...] = COLUMNS[1:COLUMNS.index("lost")]
_NUMBERS = operator.attrgetter(*_AS_NUMBERS)
_TEXTS_WITH_ID = operator.attrgetter(*("class_name" if name == "class" else name for name in WORDS))
_WORDS_OF = operator.itemgetter(*(COLUMNS.index(name) for name in (
    "class", "user", "account", "wckey", "mode", "partition", "gpu")))
_NODES, _END, _SEEN = (COLUMNS.index(name) for name in ("nodes", "end_s", "seen_s"))
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM job WHERE cluster = ? AND job = ? AND submit_s = ?"
_REPLACE = f"INSERT OR REPLACE INTO job VALUES ({', '.join('?' * len(COLUMNS))})"


def _held_by(row: tuple[Any, ...]) -> Job:
    """A row's numbers, without its words."""
    values: dict[str, Any] = dict(zip(_AS_NUMBERS, row[1:], strict=False))
    return Job(**values)


def _moment_of(row: tuple[Any, ...]) -> int:
    """A moment at which Slurm has that job, if it has it at all."""
    job = _held_by(row)
    return job.start_s or max(job.eligible_s, job.submit_s)
