"""Slurm as its admin has it: commands, its jobs, its daemons started again, and what it does not mend by itself."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from cluster_parts import end
from history import HistoryFile
from login_node import CLUSTER, wait_until

LONG_SILENCE = 4  # looks


class Job(NamedTuple):
    number: str
    state: str
    comment: str
    node: str
    qos: str
    gpus: int


class SlurmAdmin:
    def __init__(self, cluster: int, history: HistoryFile):
        self.cluster, self.history = cluster, history
        self.home = Path(os.environ.get("POUNCE_CLUSTER_DIR") or f"/opt/pounce-cluster-{cluster}")
        self.suspected: set[str] = set()
        self.silent = 0

    @property
    def nodes(self) -> list[str]:
        return [f"g{number}" for number in range(1, int((self.home / "etc" / "node-count").read_text()) + 1)]

    def run(self, *words: str, seconds: float = 20) -> str:
        """A command as the admin; nothing where Slurm does not answer in time."""
        try:
            done = subprocess.run(words, env={**os.environ, "SLURM_CONF": str(self.home / "etc" / "slurm.conf")},
                                  capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""

    def jobs(self) -> list[Job]:
        rows = self.run("squeue", "--noheader", "--states=PD,R,CG,S,CF", "--format=%i|%T|%k|%N|%q|%b").splitlines()
        return sorted(Job(*row.split("|")[:5], gpus_of(row.split("|")[5])) for row in rows if row.count("|") == 5)

    def start(self, daemon: str) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):  # another fault is in its way
            subprocess.run([CLUSTER, "start", daemon], check=False, env={**os.environ, "POUNCE_CLUSTER_ID": str(self.cluster)},
                           capture_output=True, timeout=90)

    def resume(self, node: str) -> None:
        if "drain" in self.run("sinfo", "--noheader", f"--nodes={node}", "--format=%T"):
            self.run("scontrol", "update", f"nodename={node}", "state=resume")

    def mend(self) -> None:
        """What Slurm 22.05 does not mend by itself after its controller was killed (docs/gotchas.md, S24): GPUs that it has given
        out and no job has, until it is restarted in order, and a node that it has drained for a job that it had forgotten."""
        self.silent = 0 if self.looks() else self.silent + 1
        if self.silent >= LONG_SILENCE:  # longer than any fault: two of them have met
            self.heal()
            self.silent = 0
        lost = self.nodes_with_lost_gpus() & self.nodes_with_lost_gpus()  # a job may start or end during one look
        if not self.answers():  # then what was seen may be half of it
            return
        if lost and lost <= self.suspected:
            self.history.note("slurm lost gpus", nodes=sorted(lost))
            with contextlib.suppress(OSError, ValueError, AssertionError):
                end(self.cluster, "slurmctld")
            self.start("slurmctld")
            lost = set()
        self.suspected = lost
        for node in self.nodes:
            if "Duplicate jobid" in self.run("scontrol", "show", "node", node):
                self.resume(node)

    def looks(self) -> bool:
        """Whether slurmctld answers now; where it does not, the history knows it."""
        since = time.monotonic()
        if not (answers := self.answers()):
            self.history.note("slurm silent", since=since)
        return answers

    def answers(self) -> bool:
        return " is UP" in self.run("scontrol", "ping", seconds=3)

    def nodes_with_lost_gpus(self) -> set[str]:
        given = {node: self.given_gpus(node) for node in self.nodes}
        here = [job for job in self.jobs() if job.state != "PENDING"]
        return {node for node, gpus in given.items() if gpus > sum(job.gpus for job in here if job.node == node)}

    def given_gpus(self, node: str) -> int:
        found = re.search(r"AllocTRES=\S*gres/gpu=(\d+)", self.run("scontrol", "show", "node", node, "--oneliner"))
        return int(found[1]) if found else 0

    def heal(self) -> None:
        for daemon in ("munged", "slurmdbd", "slurmctld", *(f"slurmd-{node}" for node in self.nodes)):
            self.start(daemon)
        for node in self.nodes:
            self.resume(node)

    def empty(self) -> None:
        """Without the jobs of a run that was cut short, and what its controller believed of them."""
        self.heal()
        for user in ("alice", "bob", "root"):
            self.run("scancel", f"--user={user}")
        wait_until(lambda: self.answers() and not self.jobs(), 120, "no job is left of an earlier run")
        self.suspected = set(self.nodes)
        self.mend()


def gpus_of(words: str) -> int:
    """Of squeue's "gres:gpu:a100:2", "gres:gpu" or "N/A"."""
    if "gpu" not in words:
        return 0
    last = words.rpartition(":")[2]
    return int(last) if last.isdigit() else 1
