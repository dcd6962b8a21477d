"""The site as its operator sees it: Slurm's queue now, and what jobs held in the last day. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from ..answer import Answer
from ..tally import Share
from .families import OTHER, Labels, Names, Values, add, set_all, top

_USAGE = ("gpu_held_seconds", "gpu_known_seconds", "gpu_busy_seconds", "started_jobs", "waited_seconds")


def queue_values(document: Mapping[str, Any], now_s: float, classes: Names, types: Names) -> Values:
    """Of `pouncectl top --json`."""
    values: Values = {}
    add(values, "pounce_site_own_jobs_only", float(document["only_own_jobs"]))
    for job in document["jobs"]:
        name = classes.of(str(job["class"]))
        mode = "pounce" if job["lease"] else "batch" if job["batch"] else "interactive"
        add(values, "pounce_site_jobs", 1, (name, "running"))
        add(values, "pounce_site_leases", float(mode == "pounce"), (name, "running"))
        add(values, "pounce_site_held_gpus", sum(job["gpus"].values()), (name, mode))
    for queue in document["waiting"]:
        name = classes.of(str(queue["class"]))
        add(values, "pounce_site_jobs", queue["jobs"], (name, "waiting"))
        add(values, "pounce_site_leases", queue["leases"], (name, "waiting"))
        add(values, "pounce_site_waiting_gpus", queue["gpus"], (name,))
    _add_waits(values, document, now_s, classes)
    for gpu in document["gpus"]:
        name = types.of(str(gpu["type"]))
        add(values, "pounce_site_gpus", gpu["total"], (name,))
        add(values, "pounce_site_free_gpus", gpu["free"], (name,))
    return values


def _add_waits(values: Values, document: Mapping[str, Any], now_s: float, classes: Names) -> None:
    """A class of which nothing waits waits for 0 s, so that an alert on it ends."""
    longest: dict[Labels, float] = {(classes.of(str(job["class"])),): 0.0 for job in document["jobs"]}
    for queue in document["waiting"]:
        label = (classes.of(str(queue["class"])),)
        waited_s = max(now_s - queue["oldest_s"], 0.0) if queue["oldest_s"] else 0.0
        longest[label] = max(longest.get(label, 0.0), waited_s)
    set_all(values, "pounce_site_longest_wait_seconds", longest.items())


def usage_values(answer: Answer, accounts_shown: int, classes: Names) -> Values:
    """Of an answer by class, account, and further keys, which are summed over. The accounts that held the most GPU time
    have a name, the rest is `other`; where the site records no GPUs it is processor time that decides."""
    weights: dict[str, float] = defaultdict(float)
    for (_, account, *_), share in answer.tally.groups.items():
        weights[account] += share.gpu_s if answer.counts_gpus else share.cpu_s
    shown = top(weights, accounts_shown)
    span = answer.question.to_s - answer.question.from_s
    values: Values = {"pounce_site_window_seconds": {(): float(span)},
                      "pounce_site_gap_seconds": {(): float(sum(end - begin for begin, end in answer.gaps))}}
    for (class_name, account, *_), share in answer.tally.groups.items():
        label = (classes.of(class_name), (account or "none") if account in shown else OTHER)
        for name, amount in zip(_USAGE, _amounts(share), strict=True):
            if answer.counts_gpus or not name.startswith("gpu_"):
                add(values, f"pounce_site_{name}", amount, label)
    if answer.kept is not None:
        add(values, "pounce_site_store_until_seconds", answer.kept.until_s)
    return values


def _amounts(share: Share) -> tuple[float, ...]:
    return share.gpu_s, share.known_s, share.busy_ms / 1000, share.started, share.waited_s
