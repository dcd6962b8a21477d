"""The cluster under chaos: its login nodes and people, what runs there now, and commands as its admin."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from cluster_parts import clock_library, end, set_clock
from history import HistoryFile
from login_node import CLUSTER, LoginNode, User, wait_until

TIMES = {"idle_release_s": 3, "orphan_grace_s": 12, "no_replacement_s": 5,
         "hello_deadline_s": 20}  # short: waiting for them shows nothing

LONG_SILENCE = 4  # looks


class Process(NamedTuple):
    pid: int
    parent: int
    name: str
    words: list[str]
    place: str  # a node or login node


class Job(NamedTuple):
    number: str
    state: str
    comment: str
    node: str
    qos: str
    gpus: int


class Site:
    """Login node a is alice's; on b her state folder is a small disk; c is bob's, whose clock moves."""

    def __init__(self, cluster: int):
        self.cluster, self.folder = cluster, Path(tempfile.mkdtemp(prefix="pounce-chaos-"))
        self.folder.chmod(0o755)
        self.home = Path(os.environ.get("POUNCE_CLUSTER_DIR") or f"/opt/pounce-cluster-{cluster}")
        self.environment = {**os.environ, "POUNCE_CLUSTER_ID": str(cluster)}
        self.history = HistoryFile(self.folder)
        self.turns, self.suspected, self.silent = itertools.count(), set(), 0
        self.logins = {name: LoginNode(number, cluster) for number, name in enumerate("abc", 1)}

    def __enter__(self) -> Site:
        subprocess.run([CLUSTER, "up"], check=True, env=self.environment, stdout=subprocess.DEVNULL)
        self.nodes = [f"g{n}" for n in range(1, int((self.home / "etc" / "node-count").read_text()) + 1)]
        for login in self.logins.values():
            login.connect()
        disk = self.folder / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m,mode=0700,uid=alice,gid=alice", "tmpfs", disk], check=True)
        self.disks = {"b": disk}
        self.people = {"a": User(self.logins["a"], "alice", **TIMES), "b": User(self.logins["b"], "alice", state_folder=str(disk), **TIMES),
                       "c": User(self.logins["c"], "bob", **TIMES)}
        self.clocks = {"c": self.folder / "clock"}
        set_clock(self.clocks["c"], 0)
        self.moved = {"c": {"LD_PRELOAD": str(clock_library(self.folder)), "MOVED_CLOCK": str(self.clocks["c"])}}
        self.empty()
        self.slurm("sacctmgr", "-i", "modify", "qos", "cheetah", "set", "Preempt=lion")
        self.first_job = int(re.search(r"NEXT_JOB_ID\s*=\s*(\d+)", self.slurm("scontrol", "show", "config"))[1])
        return self

    def empty(self) -> None:
        """Without the jobs of a run that was cut short, and what its controller believed of them."""
        self.heal()
        for user in ("alice", "bob", "root"):
            self.slurm("scancel", f"--user={user}")
        wait_until(lambda: not self.jobs(), 120, "no job is left of an earlier run")
        self.suspected = set(self.nodes)
        self.mend_slurm()

    def __exit__(self, *_) -> None:
        self.heal()
        self.slurm("sacctmgr", "-i", "modify", "qos", "cheetah", "set", "Preempt-=lion")
        for login in self.logins.values():
            login.disconnect()
        subprocess.run(["umount", "--lazy", self.disks["b"]], check=False)

    # ---- what there is ----

    def processes(self) -> list[Process]:
        """Of the nodes and login nodes; one that ends meanwhile is left out."""
        places = {os.stat(f"/run/netns/pounce{self.cluster}-{node}").st_ino: node for node in self.nodes}
        places |= {os.stat(f"/run/netns/{login.name}").st_ino: name for name, login in self.logins.items()}
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and (process := process_at(entry, places)):
                found.append(process)
        return sorted(found)

    def jobs(self) -> list[Job]:
        rows = self.slurm("squeue", "--noheader", "--states=PD,R,CG,S,CF", "--format=%i|%T|%k|%N|%q|%b").splitlines()
        return sorted(Job(*row.split("|")[:5], gpus_of(row.split("|")[5])) for row in rows if row.count("|") == 5)

    def slurm(self, *words: str, seconds: float = 20) -> str:
        """A command as the admin; nothing where Slurm does not answer in time."""
        try:
            done = subprocess.run(words, env={**os.environ, "SLURM_CONF": str(self.home / "etc" / "slurm.conf")},
                                  capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""

    def even(self) -> bool:
        return next(self.turns) % 2 == 0

    # ---- made whole again ----

    def start(self, daemon: str) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):  # another fault is in its way
            subprocess.run([CLUSTER, "start", daemon], check=False, env=self.environment, capture_output=True, timeout=90)

    def resume(self, node: str) -> None:
        if "drain" in self.slurm("sinfo", "--noheader", f"--nodes={node}", "--format=%T"):
            self.slurm("scontrol", "update", f"nodename={node}", "state=resume")

    def mend_slurm(self) -> None:
        """What Slurm 22.05 does not mend by itself after its controller was killed (docs/gotchas.md, S24): GPUs that it has given
        out and no job has, until it is restarted in order, and a node that it has drained for a job that it had forgotten."""
        self.silent = 0 if self.answers() else self.silent + 1
        if self.silent >= LONG_SILENCE:  # longer than any fault: two of them have met
            self.heal()
            self.silent = 0
        lost = self.nodes_with_lost_gpus()
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
            if "Duplicate jobid" in self.slurm("scontrol", "show", "node", node):
                self.resume(node)

    def answers(self) -> bool:
        return " is UP" in self.slurm("scontrol", "ping", seconds=3)

    def nodes_with_lost_gpus(self) -> set[str]:
        given = {node: self.given_gpus(node) for node in self.nodes}
        here = [job for job in self.jobs() if job.state != "PENDING"]
        return {node for node, gpus in given.items() if gpus > sum(job.gpus for job in here if job.node == node)}

    def given_gpus(self, node: str) -> int:
        found = re.search(r"AllocTRES=\S*gres/gpu=(\d+)", self.slurm("scontrol", "show", "node", node, "--oneliner"))
        return int(found[1]) if found else 0

    def heal(self) -> None:
        for daemon in ("munged", "slurmdbd", "slurmctld", *(f"slurmd-{node}" for node in self.nodes)):
            self.start(daemon)
        for node in self.nodes:
            self.resume(node)


def process_at(entry: Path, places: dict[int, str]) -> Process | None:
    try:
        place = places.get((entry / "ns" / "net").stat().st_ino)
        if place is None:
            return None
        stat = (entry / "stat").read_text()
        words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return None
    name, _, rest = stat.partition("(")[2].rpartition(")")
    state, parent = rest.split()[:2]
    return None if state in "ZX" else Process(int(entry.name), int(parent), name, words, place)


def gpus_of(words: str) -> int:
    """Of squeue's "gres:gpu:a100:2", "gres:gpu" or "N/A"."""
    if "gpu" not in words:
        return 0
    last = words.rpartition(":")[2]
    return int(last) if last.isdigit() else 1
