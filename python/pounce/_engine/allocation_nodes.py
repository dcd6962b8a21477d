"""The further nodes of a job of Slurm's that this process stands in, as a step on each of them tells."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from typing import NamedTuple

_LIMIT_S = 60.0
# A step of its own has all that the job has on its node. What stands behind the launching node's address is how Slurm calls us there.
_ASKS = ('unset OMP_NUM_THREADS OMP_THREAD_LIMIT; '  # which nproc counts by
         'echo "pounce|$SLURM_NODEID|$SLURMD_NODENAME|$SLURM_LAUNCH_NODE_IPADDR|$(nproc)|$SLURM_CPUS_ON_NODE|$CUDA_VISIBLE_DEVICES"')


class Node(NamedTuple):
    name: str
    relative: int  # which of the job's nodes, as srun counts them
    cpus: int
    gpus: tuple[str, ...]
    sees_us_at: str  # the address of the node that asked


class NotReached(Exception):
    """Why the nodes could not be asked, in a few words."""


def asked(job: str, nodes: int, environment: Mapping[str, str] = os.environ) -> list[Node]:
    """All of the job's nodes, this one too. Blocks: about 0.2 s, a minute where a node does not answer.

    Raises
    ------
    NotReached
        There is no ``srun``, it failed, or not all answered.
    """
    words = ["srun", f"--jobid={job}", "--overlap", f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1", "--cpu-bind=none",
             "--mpi=none", "--input=none", "--kill-on-bad-exit=0", "--job-name=pounce-nodes", "sh", "-c", _ASKS]
    # Of our own step's variables srun would take options.
    theirs = ("SLURM_", "SLURMD_", "SRUN_")
    ours = {name: value for name, value in environment.items() if name == "SLURM_CONF" or not name.startswith(theirs)}
    try:
        done = subprocess.run(words, env=ours, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    except FileNotFoundError:
        raise NotReached("there is no srun here") from None
    except subprocess.TimeoutExpired:
        raise NotReached(f"they did not answer within {_LIMIT_S:.0f} s") from None
    found = [_node(line) for line in done.stdout.splitlines() if line.startswith("pounce|")]
    if done.returncode != 0 or len(found) != nodes:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise NotReached(said[-1] if said else f"srun ended with {done.returncode}")
    return found


def _node(line: str) -> Node:
    _, relative, name, sees_us_at, seen, granted, gpus = line.split("|", 6)
    return Node(name, int(relative), min(int(seen), int(granted or seen)), gpu_names(gpus), sees_us_at)


def gpu_names(listed: str) -> tuple[str, ...]:
    """Of a list as CUDA_VISIBLE_DEVICES and Slurm's variables have it."""
    return tuple(gpu for gpu in listed.split(",") if gpu and gpu != "NoDevFiles")
