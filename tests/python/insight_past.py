"""A past with known truths: jobs of every kind, a stand-in for Slurm's accounting that answers as slurmdbd does, and
sums that are made by another way than pounce's: each job is cut at every quarter of an hour, and each piece gets its labels from
the clock."""

from __future__ import annotations

import dataclasses
import datetime
import random
import zoneinfo
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from pounce.errors import SlurmUnreachable, TooLarge
from pounce.insight.accounting import Facts
from pounce.insight.jobs import Job, complete, node_names

DAY = 86400
MELBOURNE = "Australia/Melbourne"  # clocks go forward on 2026-10-04 and back on 2027-04-04
END = int(datetime.datetime(2026, 10, 8, 15, 20, 7, tzinfo=datetime.timezone.utc).timestamp())
_QUARTER = 900


def past(count: int, days: int = 10, seed: int = 1, now_s: int = END) -> list[Job]:
    """Jobs that were submitted in the days before now: short and long, requeued, suspended, cancelled while they waited, arrays,
    running, waiting, on several nodes, with and without GPUs, with known and unknown use."""
    dice = random.Random(seed)
    return [job for number in range(count) for job in _runs(dice, 1000 + number, days, now_s)]


def _runs(dice: random.Random, number: int, days: int, now_s: int) -> list[Job]:
    submit = now_s - dice.randrange(days * DAY)
    job = _shape(dice, number, submit)
    kind = dice.random()
    if kind < 0.05:  # cancelled while it waited
        job.state, job.end_s = "CANCELLED", min(submit + dice.randrange(5000), now_s)
        return [job]
    job.start_s = job.eligible_s + int(dice.expovariate(1 / 900))
    job.end_s = job.start_s + int(dice.choice([dice.uniform(0, 60), dice.expovariate(1 / 7200), dice.expovariate(1 / 90000)]))
    job.state = "COMPLETED"
    if job.start_s >= now_s:
        job.start_s = job.end_s = 0
        job.state = "PENDING"
    elif job.end_s >= now_s:
        job.end_s, job.state = 0, "RUNNING"
    elif kind < 0.15:  # requeued: another run with the same number
        job.state = "REQUEUED"
        again = _shape(dice, number, job.end_s)
        again.start_s = min(again.eligible_s + dice.randrange(600), now_s - 1)
        again.eligible_s = min(again.eligible_s, again.start_s)
        again.end_s, again.state = min(again.start_s + dice.randrange(9000), now_s), "COMPLETED"
        return [job, again]
    elif kind < 0.2:
        job.suspended_s = (job.end_s - job.start_s) // 3
    return [job]


def _shape(dice: random.Random, number: int, submit: int) -> Job:
    gpus = dice.choice([0, 1, 1, 1, 2, 4, 7])
    nodes = dice.choice(["g1", "g1", "g2", "g[3-4]", "g[1,3-5],h01"])
    job = Job(job=number, submit_s=submit, eligible_s=submit + dice.choice([0, 0, 30]), user=dice.choice(["alice", "bob", "zoë", "=cmd"]),
              account=dice.choice(["ml", "physics"]), class_name=dice.choice(["cheetah", "lion"]), partition=dice.choice(["gpu", "big"]),
              mode=dice.choice(["batch", "batch", "reservation", "offload"]), nodes=nodes, gpus=gpus, cpus=dice.randrange(1, 33),
              name=f"job {number}", wckey=dice.choice(["", "*vision"]), gpu_types={dice.choice(["a100", "h100"]): gpus} if gpus else {},
              energy_j=dice.choice([-1, 1_234_567]), array_job=dice.choice([0, 900]))
    if job.mode == "offload":
        job.busy_s, job.idle_s, job.lease = dice.randrange(1, 500), dice.randrange(500), "3f2a91bc00000001"
    elif dice.random() < 0.3:
        job.gpu_use_permille = dice.randrange(1001)
    return job


@dataclass
class FakeAccounting:
    """Answers as slurmdbd: what was eligible before the end of a window and had not ended before its beginning."""

    rows: list[Job]
    now_s: int = END
    cluster: str = "pounce"
    has_database: bool = True
    hides_others: bool = False
    fails_after: int = -1  # so many windows are answered, then slurmdbd is gone
    most: int = 10**9  # a larger answer is refused
    refused: int = 0
    windows: list[tuple[int, int]] = field(default_factory=list)

    def facts(self) -> Facts:
        return Facts(self.cluster, self.now_s, self.has_database, hides_others=self.hides_others, counts_gpu_use=True)

    def jobs(self, from_s: int, to_s: int, facts: Facts, steps: bool = False) -> list[Job]:
        if self.fails_after == len(self.windows):
            raise SlurmUnreachable("slurmdbd did not answer")
        rows = [job for job in self.rows if job.eligible_s < to_s and (job.end_s == 0 or job.end_s >= from_s)]
        if len(rows) > self.most:
            self.refused += 1
            raise TooLarge("slurmdbd refuses so much at once")
        self.windows.append((from_s, to_s))
        return [complete(dataclasses.replace(job), facts.now_s, {}, lambda node, after: None) for job in rows]


@dataclass
class Truth:
    jobs: int = 0
    started: int = 0
    gpu_s: float = 0
    cpu_s: float = 0
    known_s: float = 0
    said_s: float = 0
    busy_s: float = 0
    waited_s: int = 0
    energy_j: float = 0


def truths(rows: Sequence[Job], keys: Sequence[str], from_s: int, to_s: int, now_s: int = END, zone: str = "UTC") -> dict[tuple[str, ...], Truth]:
    found: dict[tuple[str, ...], Truth] = defaultdict(Truth)
    for job in rows:
        until = job.end_s or now_s
        begin, end = max(job.start_s, from_s), min(until, to_s)
        if not job.start_s or end <= begin:
            continue
        names = node_names(job.nodes) if "node" in keys else [""]
        for number, node in enumerate(names):
            _add_node(found, job, until, (begin, end), keys, (node, number, len(names)), zoneinfo.ZoneInfo(zone))
    return dict(found)


def _add_node(found, job, until, span, keys, where, zone) -> None:
    node, number, count = where
    gpus, cpus, energy = (total * (number + 1) // count - total * number // count for total in (job.gpus, job.cpus, max(job.energy_j, 0)))
    known = job.use_ppm >= 0
    periods = set()
    for at, end in _pieces(*span):
        key, period = _labels(job, node, keys, at, zone)
        truth, seconds = found[key], end - at
        if period not in periods:
            periods.add(period)
            truth.jobs += 1
        truth.gpu_s += gpus * seconds
        truth.cpu_s += cpus * seconds
        truth.known_s += gpus * seconds * known
        truth.said_s += gpus * seconds * (job.busy_s >= 0)
        truth.busy_s += gpus * seconds * max(job.use_ppm, 0) / 1e6
        truth.energy_j += energy * seconds / (until - job.start_s)
        if at == job.start_s:
            truth.started += 1
            truth.waited_s += job.start_s - max(job.eligible_s, job.submit_s)


def _pieces(begin: int, end: int):
    while begin < end:
        following = min((begin // _QUARTER + 1) * _QUARTER, end)
        yield begin, following
        begin = following


def _labels(job: Job, node: str, keys: Sequence[str], moment: int, zone) -> tuple[tuple[str, ...], object]:
    clock = datetime.datetime.fromtimestamp(moment, zone)
    year, week, _ = clock.isocalendar()
    values = {"class": job.class_name, "user": job.user, "account": job.account, "project": job.account, "mode": job.mode,
              "partition": job.partition, "node": node, "gpu": "+".join(job.gpu_types), "day": f"{clock:%Y-%m-%d}", "hour": f"{clock:%H}",
              "week": f"{year}-W{week:02}", "weekday": f"{clock:%a}"}
    if "hour" in keys:
        period: object = (clock.date(), clock.hour, clock.utcoffset())
    elif "day" in keys or "weekday" in keys:
        period = clock.date()
    else:
        period = (year, week) if "week" in keys else None
    return tuple(values[key] for key in keys), period


def assert_same(found: dict, expected: dict[tuple[str, ...], Truth]) -> None:
    """To the second; what is computed from a part of a job, to the last digit that it is kept in, a piece."""
    assert found.keys() == expected.keys()
    for key, truth in expected.items():
        share = found[key]
        for name in ("jobs", "started", "gpu_s", "cpu_s", "known_s", "said_s", "waited_s"):
            assert getattr(share, name) == getattr(truth, name), (key, name)
        assert abs(share.busy_ms / 1000 - truth.busy_s) <= 0.002 * (truth.jobs + 1), key
        assert abs(share.energy_j - truth.energy_j) <= 2 * (truth.jobs + 1), key
