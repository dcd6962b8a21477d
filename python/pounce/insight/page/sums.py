"""What a page is made of: a span of a store's past, summed in all the ways that the page shows.

All of it is from the store, none from Slurm, so that a page takes seconds and its pictures agree: the span ends where
the collector was.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from ...errors import BadRequest
from ..answer import Answer, Question, answer
from ..kept_jobs import jobs_between
from ..spans import DAY_S, Calendar
from ..store import Kept, Store
from ..tally import Project, Share, summed
from .leases import Leases
from .waits import Waits

KEYS = ("project", "account", "user", "gpu", "partition", "node", "class", "mode")
_MOST_DAYS = 120  # a longer span is drawn by weeks


@dataclass
class Past:
    cluster: str
    calendar: Calendar
    from_s: int
    to_s: int
    users: frozenset[str]  # only their jobs; empty: all
    unit: str  # "day" or "week", of `periods`
    periods: list[str]
    over_time: dict[tuple[str, str], Share] = field(default_factory=dict)  # by period and mode
    by: dict[str, dict[str, Share]] = field(default_factory=dict)  # by one of KEYS
    outcomes: dict[tuple[str, str], list[int]] = field(default_factory=dict)  # by state and mode: jobs, GPU seconds
    waits: Waits = field(default_factory=Waits)
    leases: Leases = field(default_factory=Leases)
    own_only: bool = False
    counts_gpus: bool = True
    counts_gpu_use: bool = False
    begins_late: bool = False  # the store has not all of the span that was wanted
    ends_early: bool = False

    @property
    def total(self) -> Share:
        return summed(self.by["mode"].values())


def read(store: Store, project: Project, from_s: int, to_s: int, users: frozenset[str] = frozenset()) -> Past:
    """Sums what the store has of [from_s, to_s). Raises BadRequest where it has nothing of it."""
    kept, calendar = store.kept(), store.calendar()
    if kept is None or max(from_s, kept.begin_s) >= min(to_s, kept.until_s):
        raise BadRequest("the store has nothing of this span", "Run `pouncectl usage collect`, or choose another span; "
                         "`pouncectl usage store` tells what it has.")
    begin, end = max(from_s, kept.begin_s), min(to_s, kept.until_s)
    unit = "day" if end - begin <= _MOST_DAYS * DAY_S else "week"
    labels = [calendar.label(unit, start) for start in calendar.starts(unit, begin, end)]
    past = Past(kept.cluster, calendar, begin, end, users, unit, labels, begins_late=begin > from_s,
                ends_early=end < to_s - DAY_S, counts_gpus=kept.counts_gpus, counts_gpu_use=kept.counts_gpu_use)

    def ask(*keys: str) -> Answer:
        return answer(Question(keys, begin, end, users), calendar, project, store, _no_slurm)

    over_time = ask(unit, "mode")
    past.over_time = {(key[0], key[1]): share for key, share in over_time.groups.items()}
    past.own_only = over_time.own_only
    past.by = {key: {group[0]: share for group, share in ask(key).groups.items()} for key in KEYS}
    _read_runs(past, store, kept)
    return past


def _no_slurm() -> NoReturn:
    raise AssertionError("the store has all of the span")


def _read_runs(past: Past, store: Store, kept: Kept) -> None:
    """One look at each job, for what no kept sum has: single waits, pauses between leases, how jobs ended."""
    has_gpus = past.total.gpu_s > 0
    for run in jobs_between(store, kept, past.from_s, past.to_s):
        if past.users and run.user not in past.users:
            continue
        held_s = min(run.until_s, past.to_s) - max(run.start_s, past.from_s)
        outcome = past.outcomes.setdefault((run.state, run.mode), [0, 0])
        outcome[0] += 1
        outcome[1] += run.gpus * held_s
        if run.gpus or not has_gpus:
            past.leases.add(run.user, run.mode, run.gpus, run.start_s, run.until_s)
            if run.start_s >= past.from_s:
                waited_s = run.waited_s
                past.waits.add(run.class_name, waited_s, past.calendar, run.start_s - waited_s)
                past.leases.add_start(run.user, run.mode, past.calendar.day_of(run.start_s), waited_s)
    past.leases.finish(past.calendar, past.unit, past.from_s, past.to_s)
