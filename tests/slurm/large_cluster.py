"""A cluster with thousands of nodes and a long queue: a few nodes have a slurmd, the others belong to a cloud that never starts.

To slurmctld those are nodes as any others, idle until they are given to a job; a job on them runs, by its books, and waits for their
start for hours. So the cluster is full without anything that runs.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from login_node import CLUSTER, LoginNode, wait_until

REAL = 3  # nodes with a slurmd
# Users whom every machine has: they own the queue, and never log in.
OTHERS = ("daemon", "bin", "games", "man", "mail", "news")
# name, share of the nodes, of the queue, nodes of one job, what a node has, what a job asks for on each
GROUPS = (
    ("a100", 0.4, 0.3, 20, "CPUs=64 RealMemory=262144 Gres=gpu:a100:4", "gres:gpu:a100:4"),
    ("h100", 0.2, 0.3, 10, "CPUs=128 RealMemory=524288 Gres=gpu:h100:8", "gres:gpu:h100:8"),
    ("cpu", 0.4, 0.15, 20, "CPUs=32 RealMemory=131072", "-"),
)


@dataclass
class Rpc:
    """Requests of one kind to slurmctld."""

    count: int
    ms: float  # all of them together


class LargeCluster:
    """The disposable cluster of that number, with `nodes` nodes and room for `jobs` jobs in its queue."""

    def __init__(self, number: int, nodes: int, jobs: int):
        self.number, self.nodes, self.jobs = number, nodes, jobs
        self.folder = Path(tempfile.mkdtemp(prefix="pounce-large-"))
        self.folder.chmod(0o755)
        self.env = {**os.environ, "POUNCE_CLUSTER_ID": str(number), "POUNCE_CLUSTER_NODES": str(REAL),
                    "POUNCE_CLUSTER_MORE_CONF": str(self.folder / "slurm.conf")}

    def up(self) -> None:
        (self.folder / "slurm.conf").write_text(self.conf())
        self._cluster("up")
        self.admin("sacctmgr", "-i", "add", "qos", "crowd")
        self.admin("sacctmgr", "-i", "add", "account", "crowd")
        self.admin("sacctmgr", "-i", "add", "user", ",".join(OTHERS), "account=crowd", "qos=crowd", "defaultqos=crowd")
        self.admin("sacctmgr", "-i", "modify", "user", "alice", "set", "qos+=crowd")
        holds_them = lambda: "crowd" in self.admin("scontrol", "show", "assoc_mgr", "users=news", "flags=assoc")
        wait_until(holds_them, 30, "slurmctld knows the users of the queue")

    def down(self) -> None:
        self._cluster("down")

    def conf(self) -> str:
        groups, first = [], 1
        for name, share, _, _, has, _ in GROUPS:
            last = first + round(self.nodes * share) - 1
            groups.append(f"NodeName=f[{first}-{last}] NodeAddr=127.0.0.1 {has} State=CLOUD\nPartitionName={name} Nodes=f[{first}-{last}] State=UP\n")
            first = last + 1
        return (f"MaxJobCount={self.jobs * 2 + 10_000}\nPrivateData=cloud\n"  # it shows those nodes
                "SchedulerParameters=defer,bf_interval=30,sched_min_interval=2000000\n"
                "ResumeProgram=/bin/true\nSuspendProgram=/bin/true\nResumeTimeout=60000\nResumeRate=1\nSuspendTime=1000000\n"
                f"SuspendExcNodes=g[1-{REAL}]\n{''.join(groups)}PartitionName=batch Nodes=f[1-{first - 1}] State=UP\n")

    def fill(self) -> None:
        """All nodes without a slurmd are given away; then the queue."""
        program = self.folder / "many_jobs"
        source = Path(__file__).with_name("many_jobs.c")
        subprocess.run(["cc", "-O1", "-o", str(program), str(source), "-lslurm"], check=True)
        many = lambda count, users, partition, nodes, gres: self.admin(
            str(program), str(count), users, partition, "crowd", str(nodes), gres, "1000", timeout=3000)
        others = ",".join(OTHERS)
        for name, share, _, nodes, _, gres in GROUPS:
            each = max(1, min(nodes, self.nodes // 100))
            many(int(self.nodes * share) // each, others, name, each, gres)
        full = lambda: not re.search(r"f\d", self.admin("sinfo", "--noheader", "--states=idle", "--format=%N"))
        wait_until(full, 120, "every node without a slurmd is given away")
        for name, _, share, nodes, _, gres in GROUPS:
            many(int(self.jobs * share), others, name, nodes, gres)
        many(int(self.jobs * 0.15), others, "bigcats", 20, "-")  # where the real nodes are too
        many(int(self.jobs * 0.06), others, "batch,cpu", 20, "-")
        many(int(self.jobs * 0.04), "alice", "cpu", 4, "-")  # a user with many jobs of her own

    def length(self) -> int:
        return self.admin("squeue", "--noheader", "--states=PENDING", "--format=%i").count("\n") + 1

    def admin(self, *words: str, timeout: float = 90) -> str:
        done = subprocess.run([str(CLUSTER), "run", "--", *words], env=self.env, capture_output=True, text=True, timeout=timeout)
        assert done.returncode == 0, f"{words}: {done.stdout}\n{done.stderr}"
        return done.stdout.strip()

    def forget_rpcs(self) -> None:
        self.admin("sdiag", "--reset")

    def rpcs(self) -> dict[str, Rpc]:
        """What came since then, by kind, without what this look itself costs."""
        text = self.admin("sdiag")
        by_kind = text[text.index("statistics by message type"):text.index("statistics by user")]
        rows = re.findall(r"^\s*(REQUEST_\w+|MESSAGE_\w+)\s.*count:(\d+)\s+ave_time:\d+\s+total_time:(\d+)", by_kind, re.MULTILINE)
        return {kind: Rpc(int(count), round(int(us) / 1000, 1)) for kind, count, us in rows if kind not in OWN}

    def _cluster(self, *words: str) -> None:
        subprocess.run([str(CLUSTER), *words], check=True, env=self.env, stdout=subprocess.DEVNULL)


# Of the look itself, and of Slurm's own daemons.
OWN = {"REQUEST_STATS_INFO", "MESSAGE_NODE_REGISTRATION_STATUS", "REQUEST_PING", "MESSAGE_EPILOG_COMPLETE", "REQUEST_COMPLETE_BATCH_SCRIPT",
       "REQUEST_STEP_COMPLETE", "REQUEST_COMPLETE_PROLOG", "REQUEST_STATS_RESET", "ACCOUNTING_UPDATE_MSG"}


def received(node: LoginNode) -> int:
    """Bytes that came to the login node from everywhere."""
    path = f"/sys/class/net/{node.link}/statistics/tx_bytes"  # the host's end of the link sends what the node receives
    return int(Path(path).read_text())


def memory_mib(pid: int) -> tuple[float, float]:
    """Now, and at the most."""
    status = Path(f"/proc/{pid}/status").read_text()
    kib = lambda key: int(re.search(rf"^{key}:\s+(\d+) kB", status, re.MULTILINE)[1])
    return round(kib("VmRSS") / 1024, 1), round(kib("VmHWM") / 1024, 1)


def cpu_s(pid: int) -> float:
    """That it has computed so far."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def helper_of(daemon: int) -> int | None:
    """pounce-slurm of that pounced."""
    for pid in Path(f"/proc/{daemon}/task/{daemon}/children").read_text().split():
        if Path(f"/proc/{pid}/comm").read_text().strip() == "pounce-slurm":
            return int(pid)
    return None
