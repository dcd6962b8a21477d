"""The jobs of each person who held something in a span: from the store as far as it goes, the rest from Slurm."""

from __future__ import annotations

import itertools
import os
import pwd
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ...errors import BadRequest, PounceError
from ..accounting import Facts
from ..collector import Source, read_windows
from ..jobs import Job
from ..kept_jobs import jobs_where
from ..store import FORGOTTEN, Kept, Store, not_kept

_NUMBERS_OF_RUN = tuple[int, int]  # job and submit time


@dataclass
class Past:
    """What was read, and what of it is missing."""

    cluster: str = ""
    facts: Facts | None = None  # None: Slurm did not answer
    kept: Kept | None = None
    trouble: PounceError | None = None
    gaps: list[tuple[int, int]] = field(default_factory=list)
    users: frozenset[str] = frozenset()  # whose jobs; empty: everybody's
    gpus: frozenset[str] = frozenset()  # the types that the site has


class Reader:
    """Reads a span once. Raises what Slurm's accounting says where there is no store to go on with."""

    def __init__(self, store: Store | None, source: Callable[[], Source], from_s: int, to_s: int,
                 users: frozenset[str]):
        self._store, self._from_s, self._to_s = store, from_s, to_s
        self.past = Past(users=users)
        self._fresh: dict[str, dict[_NUMBERS_OF_RUN, Job]] = {}
        try:
            self.past.facts = source().facts()
        except PounceError as error:
            if store is None:
                raise
            self.past.trouble = error
        facts = self.past.facts
        self.past.kept = store.kept(facts.cluster if facts is not None else "") if store is not None else None
        self.past.cluster = facts.cluster if facts is not None else self.past.kept.cluster if self.past.kept else ""
        self.past.users = self._shown_to(users)
        self._read_fresh(source)
        self.past.gpus = self._types()

    def _shown_to(self, users: frozenset[str]) -> frozenset[str]:
        """A habit is its person's own matter, and an operator's: also where Slurm shows all jobs to all."""
        facts, own = self.past.facts, user_name()
        is_operator = os.geteuid() == 0 or (facts is not None and facts.sees_all) or (
            self._store is not None and owner_of(self._store) != os.geteuid())
        if is_operator or users == {own}:
            return users
        if users:
            raise BadRequest("others' habits are shown to operators of Slurm, and to who may read the site's store",
                             "Leave --user out: your own are shown.")
        return frozenset({own})

    def _read_fresh(self, source: Callable[[], Source]) -> None:
        """What the store does not have."""
        kept, facts = self.past.kept, self.past.facts
        for begin, end in not_kept(kept, self._from_s, self._to_s):
            at = begin
            try:
                if facts is not None:
                    for _, until, jobs in read_windows(source(), facts, begin, end, steps=True):
                        self._add(jobs)
                        at = until
            except PounceError as error:
                self.past.trouble = error
            if at < end:
                self.past.gaps.append((at, end))

    def _add(self, jobs: list[Job]) -> None:
        for job in jobs:
            is_shown = not self.past.users or job.user in self.past.users
            if is_shown and job.start_s and job.start_s < self._to_s and job.until_s > self._from_s:
                self._fresh.setdefault(job.user, {})[job.job, job.submit_s] = job

    def _types(self) -> frozenset[str]:
        types = set(self.past.facts.node_gpus.values()) if self.past.facts is not None else set()
        types.update(job.gpu for jobs in self._fresh.values() for job in jobs.values())
        if self._store is not None and self.past.kept is not None:
            rows = self._store.connection.execute(
                "SELECT DISTINCT gpu FROM day_use WHERE cluster = ? AND time >= ? AND time < ?",
                (self._store.id_of(self.past.cluster), self._from_s - 86400, self._to_s))
            types.update(self._store.text(number) for number, in rows)
        return frozenset(one for many in types for one in many.split("+") if one)

    def people(self) -> Iterator[tuple[str, list[Job]]]:
        """(user, their jobs in the order of their starts). One person's jobs are in memory at a time, beside those that
        the store does not have yet, which outweigh the store's."""
        seen = set()
        for user, rows in itertools.groupby(self._stored(), key=lambda job: job.user):
            seen.add(user)
            jobs = {(job.job, job.submit_s): job for job in rows} | self._fresh.get(user, {})
            if user != FORGOTTEN:
                yield user, _in_order(jobs)
        for user, fresh in sorted(self._fresh.items()):
            if user not in seen:
                yield user, _in_order(fresh)

    def _stored(self) -> Iterator[Job]:
        store, kept = self._store, self.past.kept
        if store is None or kept is None:
            return
        ids = [store.id_of(user) for user in sorted(self.past.users)]
        who = f" AND user IN ({', '.join('?' * len(ids))})" if ids else ""
        yield from jobs_where(
            store, f"cluster = ? AND start_s > 0 AND start_s >= ? AND start_s < ? AND until_s > ?{who} ORDER BY user",
            store.id_of(kept.cluster), self._from_s - kept.longest_s, self._to_s, self._from_s, *ids)


def _in_order(jobs: dict[_NUMBERS_OF_RUN, Job]) -> list[Job]:
    return sorted(jobs.values(), key=lambda job: (job.start_s, job.job))


def owner_of(store: Store) -> int:
    """Whose store it is. Another's is readable for those alone whom its owner lets read all of it."""
    return store.place.stat().st_uid


def user_name() -> str:
    """As accounting has this user."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
