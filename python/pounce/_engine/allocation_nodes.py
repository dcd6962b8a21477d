"""The nodes of the Slurm job that this process runs in, as a job step on each of them reports."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from typing import NamedTuple

_LIMIT_S = 60.0
# A separate step has all that the job has on its node. SLURM_LAUNCH_NODE_IPADDR is the address by which it reaches us.
_REPORT = ('unset OMP_NUM_THREADS OMP_THREAD_LIMIT; '  # nproc obeys these
           'echo "pounce|$SLURM_NODEID|$SLURMD_NODENAME|$SLURM_LAUNCH_NODE_IPADDR|$(nproc)|$SLURM_CPUS_ON_NODE|'
           '$CUDA_VISIBLE_DEVICES"')


class Node(NamedTuple):
    name: str
    relative: int  # the index of the node in the job, as srun counts
    cpus: int
    gpus: tuple[str, ...]
    sees_us_at: str  # the address of this process's node, as this node sees it


class NotReached(Exception):
    """Why the nodes could not be queried, in a few words."""


def nodes_of_job(job: str, nodes: int, environment: Mapping[str, str] = os.environ) -> list[Node]:
    """All nodes of the job, this one included. Blocks for about 0.2 s, or a minute where a node does not answer. Raises
    NotReached if there is no ``srun``, if it failed, or if not all answered.
    """
    words = ["srun", f"--jobid={job}", "--overlap", f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1",
             "--cpu-bind=none", "--mpi=none", "--input=none", "--kill-on-bad-exit=0", "--job-name=pounce-nodes",
             "sh", "-c", _REPORT]
    # srun would take the variables of our own step for its options.
    theirs = ("SLURM_", "SLURMD_", "SRUN_")
    ours = {name: value for name, value in environment.items() if name == "SLURM_CONF" or not name.startswith(theirs)}
    try:
        done = subprocess.run(words, env=ours, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    except FileNotFoundError:
        raise NotReached("there is no srun here") from None
    except subprocess.TimeoutExpired:
        raise NotReached(f"they did not answer within {_LIMIT_S:.0f} s") from None
    reports = [_node(line) for line in done.stdout.splitlines() if line.startswith("pounce|")]
    if done.returncode != 0 or len(reports) != nodes:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise NotReached(lines[-1] if lines else f"srun ended with {done.returncode}")
    return reports


def _node(line: str) -> Node:
    _, relative, name, sees_us_at, seen, granted, gpus = line.split("|", 6)
    return Node(name, int(relative), min(int(seen), int(granted or seen)), gpu_names(gpus), sees_us_at)


def gpu_names(listed: str) -> tuple[str, ...]:
    """The GPUs in a list as CUDA_VISIBLE_DEVICES and Slurm's variables hold it."""
    return tuple(gpu for gpu in listed.split(",") if gpu and gpu != "NoDevFiles")
