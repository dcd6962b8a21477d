"""Every kind of fault: whom it can hit, how it is done and undone, and what a user may truly be told because of it.

A fault that may cause no error must cost nothing but time: that is most of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import actions
import targets


@dataclass(frozen=True)
class Kind:
    name: str
    hits: Callable          # (site) -> the targets there are now, each a dict of facts for the history
    acts: Callable          # (site, target) -> what undoes it, or None
    lasts: tuple[float, float] = (0, 0)   # seconds until it is undone
    may: frozenset = frozenset()          # the types of error it may truly cause …
    to: str = "job"         # … to the tasks with the same job, to all of the same login node, or to everybody on the cluster
    weight: int = 1


def errors(*names: str) -> frozenset:
    return frozenset(names)


KINDS = [  # a killed supervisor that is one of several of its lease is started again, and its Python anew
    Kind("worker killed", targets.workers, actions.kill, may=errors("WorkerCrashed", "LeaseEnded"), weight=2),
    Kind("worker hung", targets.workers, actions.hang, (0.5, 3)),
    Kind("supervisor killed", targets.supervisors, actions.kill, may=errors("LeaseEnded", "LostError", "WorkerCrashed"), weight=2),
    Kind("supervisor hung", targets.supervisors, actions.hang, (0.5, 3)),
    Kind("pounced killed", targets.daemons, actions.kill, weight=2),
    Kind("pounced hung", targets.daemons, actions.hang, (0.5, 6)),
    Kind("client killed", targets.clients, actions.kill_client),
    Kind("client hung", targets.clients, actions.hang, (0.5, 4)),
    Kind("node flapped", targets.node_links, actions.unplug, (0.15, 0.15)),
    Kind("node unplugged", targets.node_links, actions.unplug, (2, 6)),
    Kind("node slow", targets.node_links, actions.slow, (2, 5)),
    Kind("login node flapped", targets.login_links, actions.unplug, (0.15, 0.15)),
    Kind("login node unplugged", targets.login_links, actions.unplug, (2, 5)),
    Kind("disk full", targets.disks, actions.fill, (1, 5), errors("DaemonUnavailable", "ResultGone"), "login"),
    Kind("clock moved", targets.clocks, actions.move_clock, (1, 5)),
    Kind("slurmctld killed", targets.named("slurmctld"), actions.kill_and_start, (0.5, 3), errors("LeaseEnded", "JobCancelled", "LostError"), "cluster"),  # it forgets jobs, or starts them twice
    Kind("slurmctld restarted", targets.named("slurmctld"), actions.end_and_start, (0, 1)),
    Kind("slurmctld hung", targets.named("slurmctld"), actions.hang, (0.5, 5)),
    Kind("slurmdbd killed", targets.named("slurmdbd"), actions.kill_and_start, (0.5, 4)),
    Kind("slurmdbd hung", targets.named("slurmdbd"), actions.hang, (0.5, 4)),
    Kind("slurmd killed", targets.slurmds, actions.kill_and_start, (0.2, 3)),
    Kind("slurmd restarted", targets.slurmds, actions.end_and_start, (0, 1)),
    Kind("munged killed", targets.named("munged"), actions.kill_and_start, (0.2, 3)),
    Kind("munged hung", targets.named("munged"), actions.hang, (0.5, 3)),
    Kind("job requeued", targets.jobs, actions.requeue, may=errors("LeaseEnded", "JobCancelled")),
    Kind("job cancelled", targets.jobs, actions.cancel, may=errors("JobCancelled"), weight=2),
    Kind("job preempted", targets.preemptable_jobs, actions.preempt, (4, 4), weight=2),
    Kind("node drained", targets.nodes, actions.drain, (1, 4)),
]
BY_NAME = {kind.name: kind for kind in KINDS}
PER_SECOND = 0.4


@dataclass(frozen=True)
class Fault:
    """One of a plan. The target is that share of the way through the list of those there are when its time comes."""

    number: int
    after_s: float
    kind: str
    pick: float
    lasts_s: float


def plan(seed: int, count: int) -> list[Fault]:
    """A pure function of the seed: rounds of all kinds, each as often as it weighs, in an order of its own."""
    dice = random.Random(seed)
    names: list[str] = []
    while len(names) < count:
        round_of_all = [kind.name for kind in KINDS for _ in range(kind.weight)]
        dice.shuffle(round_of_all)
        names += round_of_all
    faults, after = [], 0.0
    for number, name in enumerate(names[:count], 1):
        after += min(8.0, dice.expovariate(PER_SECOND))
        faults.append(Fault(number, round(after, 2), name, dice.random(), round(dice.uniform(*BY_NAME[name].lasts), 2)))
    return faults
