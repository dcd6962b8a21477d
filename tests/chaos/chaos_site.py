"""The cluster under chaos: its login nodes and the people there."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import tempfile
from pathlib import Path

from cluster_parts import clock_library, set_clock
from history import HistoryFile
from login_node import CLUSTER, LoginNode, User
from processes import Process, processes
from slurm_admin import SlurmAdmin

TIMES = {"idle_release_s": 3, "orphan_grace_s": 12, "no_replacement_s": 5,
         "hello_deadline_s": 20}  # short: waiting for them shows nothing


class Site:
    """Login node a is alice's; on b her state folder is a small disk; c is bob's, whose clock moves."""

    def __init__(self, cluster: int):
        self.cluster, self.folder = cluster, Path(tempfile.mkdtemp(prefix="pounce-chaos-"))
        self.folder.chmod(0o755)
        self.history = HistoryFile(self.folder)
        self.slurm = SlurmAdmin(cluster, self.history)
        self.turns = itertools.count()
        self.logins = {name: LoginNode(number, cluster) for number, name in enumerate("abc", 1)}

    def __enter__(self) -> Site:
        subprocess.run([CLUSTER, "up"], check=True, env={**os.environ, "POUNCE_CLUSTER_ID": str(self.cluster)}, stdout=subprocess.DEVNULL)
        self.nodes = self.slurm.nodes
        for login in self.logins.values():
            login.connect()
        disk = self.folder / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=0700,uid=alice,gid=alice", "tmpfs", disk], check=True)
        self.disks = {"b": disk}
        self.people = {"a": User(self.logins["a"], "alice", **TIMES), "b": User(self.logins["b"], "alice", state_folder=str(disk), **TIMES),
                       "c": User(self.logins["c"], "bob", **TIMES)}
        self.clocks = {"c": self.folder / "clock"}
        set_clock(self.clocks["c"], 0)
        self.moved = {"c": {"LD_PRELOAD": str(clock_library(self.folder)), "MOVED_CLOCK": str(self.clocks["c"])}}
        self.slurm.empty()
        self.slurm.run("sacctmgr", "-i", "modify", "qos", "cheetah", "set", "Preempt=lion")
        self.first_job = int(re.search(r"NEXT_JOB_ID\s*=\s*(\d+)", self.slurm.run("scontrol", "show", "config"))[1])
        return self

    def __exit__(self, *_) -> None:
        self.slurm.heal()
        self.slurm.run("sacctmgr", "-i", "modify", "qos", "cheetah", "set", "Preempt-=lion")
        for login in self.logins.values():
            login.disconnect()
        subprocess.run(["umount", "--lazy", self.disks["b"]], check=False)

    def processes(self) -> list[Process]:
        return processes({f"pounce{self.cluster}-{node}": node for node in self.nodes} | {login.name: name for name, login in self.logins.items()})

    def even(self) -> bool:
        return next(self.turns) % 2 == 0
