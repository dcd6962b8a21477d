"""One run of a job as Slurm's accounting has it, and from when to when it held its GPUs."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

FOREVER = 1 << 40


@dataclass(slots=True)
class Job:
    """A row of ``pouncectl accounting`` (src/model/accounting.h). Times are unix seconds, 0: not yet. -1: not recorded.

    A requeued job has a row for each run, with the same `job` and other `submit_s`: these two tell runs apart.
    """

    job: int
    submit_s: int
    user: str = ""
    account: str = ""
    class_name: str = ""
    partition: str = ""
    mode: str = "batch"
    state: str = ""
    nodes: str = ""
    name: str = ""
    submit_line: str = ""
    wckey: str = ""
    lease: str = ""
    array_job: int = 0
    array_tasks: str = ""
    het_job: int = 0
    eligible_s: int = 0
    start_s: int = 0
    end_s: int = 0
    suspended_s: int = 0
    limit_s: int = 0
    exit_code: int = 0
    exit_signal: int = 0
    gpus: int = 0
    cpus: int = 0
    node_count: int = 0
    gpus_requested: int = 0
    cpus_requested: int = 0
    memory_mib: int = -1
    busy_s: int = -1
    idle_s: int = -1
    gpu_use_permille: int = -1
    gpu_memory_mib: int = -1
    memory_peak_mib: int = -1
    cpu_used_s: int = -1
    energy_j: int = -1
    lost: bool = False
    gpu_types: dict[str, int] = field(default_factory=dict)
    gpu: str = ""  # the model, "a100"; "a100+v100" of a job with both; empty: not known
    until_s: int = 0  # the end of what it has held so far; set by `complete`

    @property
    def is_open(self) -> bool:
        """It may go on holding."""
        return self.start_s > 0 and self.end_s == 0 and not self.lost

    @property
    def waited_s(self) -> int:
        """From when it could have started to its start. Slurm moves `eligible_s` for dependencies and begin times."""
        return max(self.start_s - max(self.eligible_s, self.submit_s), 0) if self.start_s else 0

    @property
    def use_ppm(self) -> int:
        """The part of the held GPU time that computed, in millionths; -1: not known."""
        if self.busy_s >= 0 and self.idle_s >= 0 and self.busy_s + self.idle_s > 0:
            return 1_000_000 * self.busy_s // (self.busy_s + self.idle_s)
        return self.gpu_use_permille * 1000 if self.gpu_use_permille >= 0 else -1

    @property
    def use_is_said(self) -> bool:
        """Its use is a claim of its own comment."""
        return self.busy_s >= 0 and self.busy_s + self.idle_s > 0


def job_of(row: Mapping[str, Any]) -> Job:
    """Raises TypeError for a row without the two numbers that name it."""
    values = {_RENAMED.get(key, key): value for key, value in row.items()}
    return Job(**{key: value for key, value in values.items() if key in _NAMES})


_RENAMED = {"class": "class_name"}
_NAMES = frozenset(Job.__dataclass_fields__)


def complete(job: Job, now_s: int, models: Mapping[str, str], down: Callable[[str, int], int | None]) -> Job:
    """Sets `until_s` and `gpu`. `models` is the GPU model of each node, for sites that do not record it by job;
    `down(node, after_s)` tells when a node was first down after a moment, for jobs whose end was lost."""
    job.gpu = "+".join(sorted(job.gpu_types))
    if job.gpus and not job.gpu:
        job.gpu = "+".join(sorted({models[node] for node in node_names(job.nodes) if node in models}))
    if not job.start_s:
        job.until_s = 0
    elif job.lost:
        job.until_s = _bound_of_lost(job, now_s, down)
    else:
        job.until_s = max(job.end_s or now_s, job.start_s)
    return job


def _bound_of_lost(job: Job, now_s: int, down: Callable[[str, int], int | None]) -> int:
    """A job without an end that slurmctld does not know ended at the latest when one of its nodes went down, or at its
    time limit. Of one with neither, nothing is counted."""
    ends = [moment for node in node_names(job.nodes) if (moment := down(node, job.start_s)) is not None]
    if job.limit_s:
        ends.append(job.start_s + job.limit_s)
    return max(min([*ends, now_s]), job.start_s) if ends else job.start_s


@functools.lru_cache(maxsize=10_000)
def node_names(text: str) -> tuple[str, ...]:
    """"g[1-3,07-08],h2" -> g1, g2, g3, g07, g08, h2. What is no list of nodes is one name."""
    return tuple(name for word in _split(text) for name in _expanded(word))


_BRACKETS = re.compile(r"\[([0-9,-]+)\]")


def _split(text: str) -> list[str]:
    """At the commas that lie outside of brackets."""
    return [word for word in re.split(r",(?![^\[]*\])", text) if word]


def _expanded(word: str) -> Sequence[str]:
    found = _BRACKETS.search(word)
    if not found:
        return [word]
    heads = [word[:found.start()] + number for part in found[1].split(",") for number in _numbers(part)]
    return [head + tail for head in heads for tail in _expanded(word[found.end():])]


def _numbers(part: str) -> list[str]:
    first, _, last = part.partition("-")
    if not last or not first.isdigit() or not last.isdigit() or int(last) - int(first) > 100_000:
        return [part]
    return [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
