"""Habits that show in several jobs of one person: limits far too long, many tiny jobs, one job behind the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..jobs import Job
from .evidence import Case, Figures, Weight, gpus_of, idleness, near, run_s
from .rules import Rule
from .typed import line_of, retyped, slurm_time


def stem(job: Job) -> tuple[str, str]:
    """Jobs of one kind of work: name without numbers, and the time limit's partition."""
    return re.sub(r"[\d_.\[\]-]+", " ", job.name).strip().lower(), job.partition


def by_stem(jobs: Iterable[Job]) -> list[list[Job]]:
    groups: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        groups.setdefault(stem(job), []).append(job)
    return list(groups.values())


def _is_done(job: Job) -> bool:
    return job.state == "COMPLETED" and job.exit_code == 0 and job.mode == "batch"


def _gpu_hours(jobs: Iterable[Job]) -> float:
    return round(sum(job.gpus * (job.until_s - job.start_s) for job in jobs) / 3600, 2)


# ---- overlong-limit ------------------------------------------------------------------------------------------------


def overlong_limit(jobs: Sequence[Job], rule: Rule) -> list[Case]:
    """The longest of several runs used a part of the limit. One that failed or was cancelled says nothing about the
    time that the work takes, unless it ran for long."""
    return [case for group in by_stem(jobs) if (case := _overlong(group, rule))]


def _overlong(group: list[Job], rule: Rule) -> Case | None:
    done = [job for job in group if _is_done(job) and job.limit_s > 0]
    if not done:
        return None
    last = max(done, key=lambda job: job.start_s)
    same = [job for job in done if job.limit_s == last.limit_s]
    longest = max(run_s(job) for job in group)
    used = 100 * longest / last.limit_s
    enough = longest * rule["margin"]
    if len(same) < rule["jobs"] or used > rule["used-percent"] or last.limit_s - enough < 3600 * rule["spare-hours"]:
        return None
    figures: Figures = {"limit_hours": round(last.limit_s / 3600, 2), "longest_run_hours": round(longest / 3600, 2),
                        "used_percent": round(used, 1), "gpu_hours": _gpu_hours(same)}
    line = retyped(last, {"--time": slurm_time(enough)})
    # The more runs there were, the surer it is that no longer one comes.
    weight = Weight.MEASURED * near(used, rule["used-percent"]) * len(same) / (len(same) + 0.3)
    return Case(same, weight, figures, f"{len(same)} jobs ran for {longest / 3600:.1f} h at most and had a limit of "
                f"{last.limit_s / 3600:.0f} h; with a shorter one a job may start sooner: `{line}`")


# ---- many-tiny-jobs ------------------------------------------------------------------------------------------------


def many_tiny_jobs(jobs: Sequence[Job], rule: Rule) -> list[Case]:
    """Many short jobs that came to a good end, within some hours. Short ones that failed are another trouble."""
    tiny = [job for job in jobs if _is_done(job) and 0 < job.until_s - job.start_s <= rule["run-seconds"]]
    return [case for group in by_stem(tiny) if (case := _tiny(group, jobs, rule))]


def _tiny(group: list[Job], jobs: Sequence[Job], rule: Rule) -> Case | None:
    group.sort(key=lambda job: job.start_s)
    within = _densest(group, int(rule["within-hours"] * 3600))
    if len(within) < rule["jobs"]:
        return None
    name = stem(group[0])
    alike = sum(1 for job in jobs if stem(job) == name and job.start_s and not job.is_open)
    ran, waited = sum(run_s(job) for job in within), sum(job.waited_s for job in within)
    figures: Figures = {"jobs": len(within), "mean_run_s": round(ran / len(within), 1),
                        "mean_wait_s": round(waited / len(within), 1), "gpu_hours": _gpu_hours(within)}
    gpus = max(job.gpus for job in within)
    options = f"gpus={gpus}" if gpus else f"cpus={max(job.cpus for job in within)}"
    hint = (f"{len(within)} jobs ran for {ran / len(within):.0f} s each and waited for {waited / len(within):.0f} s: "
            f"`client.options({options}).map(function, range({len(within)}))`")
    return Case(within, Weight.MEASURED * len(group) / max(alike, 1), figures, hint)


def _densest(group: list[Job], seconds: int) -> list[Job]:
    """The most of them that started within so many seconds."""
    best, first = (0, 0), 0
    for last, job in enumerate(group):
        while job.start_s - group[first].start_s > seconds:
            first += 1
        best = max(best, (first, last + 1), key=lambda part: part[1] - part[0])
    return group[best[0]:best[1]]


# ---- walltime-hopping ----------------------------------------------------------------------------------------------


def walltime_hopping(jobs: Sequence[Job], rule: Rule) -> list[Case]:
    """A job that came to its limit and was followed at once by one like it, again and again, with idle GPUs. Training
    that goes on from a checkpoint does the same and computes: it is left alone, and so is what was not measured."""
    held = [job for job in jobs if job.gpus > 0 and job.mode != "offload" and job.start_s]
    return [case for group in by_stem(held) for chain in _chains(group, rule) if (case := _hopping(chain, rule))]


def _chains(group: list[Job], rule: Rule) -> list[list[Job]]:
    chains: list[list[Job]] = []
    for job in sorted(group, key=lambda job: job.start_s):
        before = chains[-1][-1] if chains else None
        if before is not None and _met_limit(before, rule) and (
                -60 <= job.start_s - before.until_s <= 60 * rule["gap-minutes"]):
            chains[-1].append(job)
        else:
            chains.append([job])
    return [chain for chain in chains if len(chain) >= rule["jobs"]]


def _met_limit(job: Job, rule: Rule) -> bool:
    return job.limit_s > 0 and not job.is_open and 100 * run_s(job) >= rule["limit-percent"] * job.limit_s


def _hopping(chain: list[Job], rule: Rule) -> Case | None:
    judged = [(job, idleness(job, rule["use-percent"], rule["cpu-percent"])[0]) for job in chain if not job.is_open]
    weights = [weight for _, weight in judged]
    if not weights or not all(weights):
        return None
    last = max(chain, key=lambda job: job.limit_s)
    hours = sum(run_s(job) for job in chain) / 3600
    figures: Figures = {"jobs": len(chain), "hours_in_a_row": round(hours, 2), "gpu_hours": _gpu_hours(chain),
                        "limit_hours": round(last.limit_s / 3600, 2), "known_by": "slurm or cpu time"}
    command = line_of(last).command if last.mode == "batch" else ""
    run = f"`pouncectl run --gpus {last.gpus} -- {command or 'COMMAND'}`"
    return Case(chain, sum(weights) / len(weights), figures,
                f"{len(chain)} jobs one behind the other held {gpus_of(last.gpus)} for {hours:.1f} h, mostly idle: "
                f"`%%pounce --gpus {last.gpus}` in a cell, or {run}", None)
