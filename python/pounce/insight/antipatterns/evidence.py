"""What is known of a job, how sure that makes a case against it, and the case itself.

A confidence is built of weights. An observation that was measured counts 1, one that a job says of itself 0.9, one that
is inferred from CPU time 0.8. The nearer a figure is to its threshold the less it counts: at the threshold 0.7 of its
weight. Observations that confirm each other leave the product of their doubts. What is not known counts nothing, and
one figure that contradicts ends the case.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..jobs import Job

_AT_THRESHOLD = 0.7

Figures = Mapping[str, float | str]


class Weight:
    """What an observation counts."""

    MEASURED = 1.0
    TYPED = 0.9  # in the command line
    SAID = 0.9  # by the job of itself
    INFERRED = 0.8  # from CPU time
    NAMED = 0.5  # by the job's name alone


@dataclass
class Case:
    """One job of a kind, or several that are one case together."""

    jobs: list[Job]
    confidence: float
    evidence: Figures
    hint: str
    idle_share: float | None = None  # of the GPU time they held; None: not known, or not what the case is about


@dataclass
class Span:
    """The time that was looked at."""

    from_s: int
    to_s: int
    gpus: frozenset[str] = field(default_factory=frozenset)  # the types of GPUs that this site has

    def held_s(self, job: Job) -> int:
        """GPU seconds in it."""
        return job.gpus * max(min(job.until_s, self.to_s) - max(job.start_s, self.from_s), 0)


def near(value: float, threshold: float) -> float:
    """1 where value is 0, and less up to its threshold."""
    return 1 - (1 - _AT_THRESHOLD) * value / threshold if threshold > 0 else 1.0


def together(weights: Sequence[float]) -> float:
    """Observations that do not depend on each other."""
    return 1 - math.prod(1 - weight for weight in weights)


def run_s(job: Job) -> int:
    """Seconds in which it ran; it holds its GPUs also while it is suspended."""
    return max(job.until_s - job.start_s - job.suspended_s, 0)


def use_percent(job: Job) -> float | None:
    """The part of its GPU time that computed; None: not known. Slurm has a step's measurements when the step has ended,
    so those of a running job are too low."""
    return job.use_ppm / 10_000 if job.use_ppm >= 0 and not job.is_open and not job.lost else None


def use_weight(job: Job) -> float:
    return Weight.SAID if job.use_is_said else Weight.MEASURED


def busy_cores(job: Job) -> float | None:
    """How many cores were busy on average. None: not known. A total of nothing at all is no measurement: a program that
    starts takes some time, and where Slurm gathers nothing all jobs have 0."""
    seconds = run_s(job)
    return job.cpu_used_s / seconds if job.cpu_used_s > 0 and seconds > 0 and not job.is_open and not job.lost \
        else None


def idleness(job: Job, most_use: float, most_cpu: float) -> tuple[float, Figures]:
    """(how sure it is that its GPUs did nothing worth them, by which figures). 0: it is not known, or they worked.

    Both thresholds are in percent, `most_cpu` of one core: a program that keeps a GPU busy takes time to start its
    kernels."""
    use, cores = use_percent(job), busy_cores(job)
    if use is not None:
        figures: Figures = {"use_percent": round(use, 1), "known_by": "the job" if job.use_is_said else "slurm"}
        return (use_weight(job) * near(use, most_use), figures) if use <= most_use else (0.0, figures)
    if cores is None:
        return 0.0, {}
    figures = {"cpu_percent": round(100 * cores, 2), "known_by": "cpu time"}
    return (Weight.INFERRED * near(100 * cores, most_cpu), figures) if 100 * cores <= most_cpu else (0.0, figures)


def gpus_of(count: int) -> str:
    return "a GPU" if count == 1 else f"{count} GPUs"


def times(job: Job) -> Figures:
    return {"run_hours": round(run_s(job) / 3600, 2), "gpus": job.gpus}
