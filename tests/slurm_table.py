#!/usr/bin/python3
"""What has been seen working on which Slurm: docs/slurm.json, written by `tests/run slurm --slurm RELEASE --record`, and its table in
docs/slurm.md.

    tests/slurm_table.py [--check]
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SEEN, PAGE = ROOT / "docs" / "slurm.json", ROOT / "docs" / "slurm.md"
BEGIN, END = "<!-- seen begin -->\n", "<!-- seen end -->\n"
SYSTEMS = "22.05"  # Debian 12's, of the suite without --slurm

# Each file of tests/slurm is in one of them.
FEATURES = {
    "jobs, nodes, accounting as libslurm tells them": ["pounce_slurm", "cluster", "no_commands"],
    "a lease's life; what is asked for": ["lease_life", "request", "workers", "choices", "limits", "hold", "share", "idle_reuse", "timings", "serving"],
    "auth/slurm, without munged": ["auth_slurm"],
    "classes, accounts, policies": ["account", "policy", "preempted", "no_slurmdbd"],
    "sites as they are": ["odd_site", "partitions_site", "growing_site"],
    "control groups of version 2": ["cgroup2"],
    "a login node of another release": ["mixed_site"],
    "why something waits, and until when": ["waiting", "eta", "usage", "insight", "antipatterns", "metrics", "pouncectl", "large_cluster"],
    "pools, gangs": ["pool", "gang", "elastic_gang", "crowd", "small_gpus"],
    "inside a job; batch": ["here", "slurm_variables", "batch", "detached", "quickstart_here", "compat", "mlflow_projects"],
    "notebooks, state, checkpoints": ["cell", "come_back", "lab", "lab_choices", "lab_live", "hub", "front_ends", "papermill", "frameworks", "state", "checkpoint"],
    "faults and refusals, told": ["trouble", "cancel", "job_fault", "task_fault", "kernel_fault", "node_fault", "controller_fault", "clock_fault",
                                  "state_folder_fault", "gpu_health"],
    "attacks, secrets": ["attack", "marker_hunt", "bridge"],
    "the admin's page": ["admin_doc"],
}
# At most five minutes, of what differs between releases.
SMOKE = [f"{name}_test.py" for name in ("pounce_slurm", "auth_slurm", "lease_life", "request", "gang", "here", "account", "workers")]


def record(release: str, report: Path) -> None:
    """Puts what a run saw of each file into docs/slurm.json and its table; what did not run stays as it was seen before."""
    if not report.exists():
        return
    seen = json.loads(SEEN.read_text()) if SEEN.exists() else {}
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    for name, counts in count(report).items():
        if counts["passed"] + counts["failed"]:
            seen.setdefault(release or SYSTEMS, {})[name] = {"passed": counts["passed"], "ran": counts["passed"] + counts["failed"],
                                                             "date": time.strftime("%Y-%m-%d"), "commit": commit}
    SEEN.write_text(json.dumps(seen, indent=1, sort_keys=True) + "\n")
    PAGE.write_text(with_table(PAGE.read_text(), seen))


def count(report: Path) -> dict[str, Counter]:
    """By file: "lease_life" -> how many of its tests passed, failed, were skipped."""
    counted: dict[str, Counter] = {}
    for case in xml.parse(report).iter("testcase"):
        name = case.get("classname", "").split(".")[-1].removesuffix("_test")
        failed = case.find("failure") is not None or case.find("error") is not None
        outcome = "failed" if failed else "skipped" if case.find("skipped") is not None else "passed"
        counted.setdefault(name, Counter())[outcome] += 1
    return counted


def table(seen: dict) -> str:
    releases = sorted(seen)
    lines = ["| seen working | " + " | ".join(releases) + " |", "|---" * (len(releases) + 1) + "|"]
    lines += [f"| {feature} | " + " | ".join(cell(seen[release], names) for release in releases) + " |" for feature, names in FEATURES.items()]
    return "\n".join(lines) + "\n"


def cell(seen: dict, names: list[str]) -> str:
    """Of all files of a feature, with the day and commit of what ran longest ago."""
    rows = [seen[name] for name in names if name in seen]
    if not rows:
        return "not run"
    oldest = min(rows, key=lambda row: row["date"])
    left_out = "" if len(rows) == len(names) else ", in part"
    return f"{sum(row['passed'] for row in rows)} of {sum(row['ran'] for row in rows)}{left_out}, {oldest['date']}, {oldest['commit']}"


def with_table(text: str, seen: dict) -> str:
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + table(seen) + rest[rest.index(END):]


def main() -> int:
    text = with_table(PAGE.read_text(), json.loads(SEEN.read_text()))
    if text != PAGE.read_text() and "--check" in sys.argv:
        print("docs/slurm.md is not as docs/slurm.json has it; run: tests/slurm_table.py", file=sys.stderr)
        return 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
