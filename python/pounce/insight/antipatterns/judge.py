"""All kinds on the jobs of one person, and what comes of it: findings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..jobs import Job
from . import holds, series, sizes
from .evidence import Case, Span
from .rules import KINDS, Rules


@dataclass
class Finding:
    """All cases of one kind against one person, the one with most GPU hours first."""

    user: str
    kind: str
    cases: list[Case]
    jobs: int
    gpu_s: int  # that these jobs held in the span
    idle_gpu_s: int | None  # what of it was not needed; None: not what this kind is about
    confidence: float  # the mean of the cases, by their GPU time

    @property
    def hint(self) -> str:
        return self.cases[0].hint


def findings(user: str, jobs: Sequence[Job], rules: Rules, span: Span) -> list[Finding]:
    """Of one person's jobs. Nothing in it is less sure, or smaller, than the rules of its kind want."""
    found = {kind: [] for kind in KINDS}  # type: dict[str, list[Case]]
    for kind, case in _cases(jobs, rules, span):
        if case.confidence >= rules[kind]["confidence"]:
            found[kind].append(case)
    whole = [_finding(user, kind, cases, span) for kind, cases in found.items() if cases]
    return [finding for finding in whole if finding.gpu_s >= 3600 * rules[finding.kind]["gpu-hours"]]


def _cases(jobs: Sequence[Job], rules: Rules, span: Span) -> Iterator[tuple[str, Case]]:
    for job in jobs:
        if holds.is_held(job):
            yield from _first(job, rules, span)
    of_one = rules["unused-cores-or-memory"]
    for job in _open_to(jobs, rules, of_one.kind):
        if case := sizes.unused_cores_or_memory(job, of_one):
            yield of_one.kind, case
    for kind, cases_of in (("overlong-limit", series.overlong_limit), ("many-tiny-jobs", series.many_tiny_jobs),
                           ("walltime-hopping", series.walltime_hopping)):
        for case in cases_of(list(_open_to(jobs, rules, kind)), rules[kind]):
            yield kind, case


def _open_to(jobs: Iterable[Job], rules: Rules, kind: str) -> Iterator[Job]:
    rule = rules[kind]
    return (job for job in jobs if rule.enabled and not rule.excepts(job))


def _first(job: Job, rules: Rules, span: Span) -> Iterator[tuple[str, Case]]:
    """A job's GPUs are told of once: by the first kind that is sure enough. A terminal that a site excepts is not found
    as something else instead."""
    for kind in KINDS[:KINDS.index("unused-cores-or-memory")]:
        rule = rules[kind]
        case = _ASKED[kind](job, rules, span)
        if case is not None and case.confidence >= rule["confidence"]:
            if rule.enabled and not rule.excepts(job):
                yield kind, case
            return


_ASKED = {
    "sleep-job": lambda job, rules, span: holds.sleep_job(job, rules["sleep-job"]),
    "terminal-holder": lambda job, rules, span: holds.terminal_holder(job, rules["terminal-holder"]),
    "idle-notebook": lambda job, rules, span: holds.idle_notebook(job, rules["idle-notebook"]),
    "idle-reservation": lambda job, rules, span: holds.idle_reservation(job, rules["idle-reservation"]),
    "never-used-gpu": lambda job, rules, span: holds.never_used_gpu(job, rules["never-used-gpu"]),
    "half-idle-gang": lambda job, rules, span: sizes.half_idle_gang(job, rules["half-idle-gang"], rules),
    "gpu-too-large": lambda job, rules, span: sizes.gpu_too_large(job, rules["gpu-too-large"], rules, span),
}


def _finding(user: str, kind: str, cases: list[Case], span: Span) -> Finding:
    weights = [sum(map(span.held_s, case.jobs)) for case in cases]
    order = sorted(range(len(cases)), key=lambda number: -weights[number])
    total = sum(weights)
    confidence = (sum(case.confidence * weight for case, weight in zip(cases, weights, strict=True)) / total if total
                  else min(case.confidence for case in cases))
    idle = [case.idle_share * weight for case, weight in zip(cases, weights, strict=True)
            if case.idle_share is not None]
    return Finding(user, kind, [cases[number] for number in order], sum(len(case.jobs) for case in cases), total,
                   round(sum(idle)) if idle else None, confidence)
