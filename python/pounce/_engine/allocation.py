"""The part of the Slurm job that this process runs in: what ``Client(here=True)`` hands out."""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any, NamedTuple

from .. import _core
from ..errors import BadRequest
from .options import Options

_IDLE_S = 2.0   # an idle worker soon makes way for a request of another kind
_MOST_MIB = 1_000_000  # the most that a configuration can hold
_GONE_S = 10.0  # pounced itself ends after so long without a client
_NODES_ANSWER_S = 60.0  # for the job's nodes to answer
# A separate step has all that the job has on its node. SLURM_LAUNCH_NODE_IPADDR is the address by which it reaches us.
_REPORT = ('unset OMP_NUM_THREADS OMP_THREAD_LIMIT; '  # nproc obeys these
           'echo "pounce|$SLURM_NODEID|$SLURMD_NODENAME|$SLURM_LAUNCH_NODE_IPADDR|$(nproc)|$SLURM_CPUS_ON_NODE|'
           '$CUDA_VISIBLE_DEVICES"')


class Allocation(NamedTuple):
    job: str
    node: str
    nodes: int
    cpus: int
    memory_mib: int  # 0: not limited
    gpus: tuple[str, ...]


def is_inside(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this process is on a node of its job. salloc's shell may have a job and yet run on a login node."""
    return bool(_job(environment)) and bool(environment.get("SLURMD_NODENAME"))


def _job(environment: Mapping[str, str]) -> str:
    """Empty: none. A task sees the job of its worker, which pounce hands out already."""
    job = environment.get("SLURM_JOB_ID", "")
    return "" if job == environment.get("POUNCE_WORKER_JOB") else job


def found(environment: Mapping[str, str] = os.environ) -> Allocation:
    """Raises BadRequest if this process is in no job, or has only one task's share of it: the programs of one job on
    one node share one pounced, which would hand out the share of the first.
    """
    job = _job(environment)
    if not job:
        remedy = "Start it with sbatch or srun; here='auto' leases workers where there is no job."
        raise BadRequest("here=True is for inside a job of Slurm's, and this is none", remedy)
    if not is_inside(environment):
        raise BadRequest(f"here=True: job {job} is yours, but this process is not on its node",
                         "Start it with srun, which runs it there.")
    cpus = min(len(os.sched_getaffinity(0)), _number(environment, "SLURM_CPUS_ON_NODE") or os.cpu_count() or 1)
    granted = _number(environment, "SLURM_CPUS_ON_NODE") or cpus
    # The first of these variables that is set decides. An empty value means that this process has no GPU.
    variables = ("CUDA_VISIBLE_DEVICES", "SLURM_STEP_GPUS", "SLURM_JOB_GPUS")
    gpus = next((environment[name] for name in variables if name in environment), "")
    named = gpu_names(gpus)
    if _is_one_of_several(environment) and 0 < len(named) < _number(environment, "SLURM_GPUS_ON_NODE"):
        text = ("here=True: this program is one of several tasks of its step with GPUs of their own, "
                "and one pounced would serve them all")
        raise BadRequest(text, "Start one program, which has all GPUs (srun -n1), "
                               "or use the task's own GPU without pounce.")
    nodes = _number(environment, "SLURM_JOB_NUM_NODES") or 1
    return Allocation(job, environment["SLURMD_NODENAME"], nodes, cpus, _memory_on(environment, granted), named)


def serves_batch_run(asks: Options) -> bool:
    """Whether a client in a batch run that does not say where its work runs uses the run's own job, whose GPUs would
    otherwise idle beside leased ones. Prints the decision where the job has GPUs."""
    if not is_inside():
        return False
    has = found()
    if not has.gpus:
        return False
    wanted = asks.resources
    fits = wanted.gpus > 0 and wanted.nodes == 1 and not wanted.leases_most and _holds(has, wanted)
    its = "the GPU" if len(has.gpus) == 1 else f"the {len(has.gpus)} GPUs"
    does = (f"this client uses {its} of job {has.job}, which is this batch run's; here=False leases others" if fits else
            f"this client leases what its calls ask for, beside {its} of job {has.job}, which is this batch run's; "
            "here='auto' uses that")
    print(_core.printable(f"pounce: {does}"), file=sys.stderr)
    return fits


def _holds(has: Allocation, wanted: _core.Resources) -> bool:
    cpus, memory_mib, gpus = (wanted.workers * each for each in (wanted.cpus, wanted.memory_mib, wanted.gpus))
    return gpus <= len(has.gpus) and cpus <= has.cpus and (memory_mib <= has.memory_mib or not has.memory_mib)


def configuration(allocation: Allocation, environment: Mapping[str, str] = os.environ) -> str:
    """The path of a pounced configuration that hands out this allocation alone. The file goes with this process."""
    says = {
        "launcher": "local", "local_cpus": allocation.cpus, "local_memory_mib": min(allocation.memory_mib, _MOST_MIB),
        "local_gpus": ",".join(allocation.gpus), "idle_release_s": _IDLE_S, "keep_warm_s": 0, "keep_warm_blind_s": 0,
        "daemon_idle_exit_s": _GONE_S} | (_further_nodes(allocation, environment) if allocation.nodes > 1 else {})
    folder = tempfile.mkdtemp(prefix="pounce-job-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, "pounced.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(says, file)
    return path


def _further_nodes(allocation: Allocation, environment: Mapping[str, str]) -> dict[str, Any]:
    """Empty where workers can run on this node alone; a line on stderr says why."""
    try:
        if (_number(environment, "SLURM_STEP_NUM_TASKS") or 1) > 1:
            raise NotReached("this program is one of several tasks of its step")
        nodes = {node.name: node for node in nodes_of_job(allocation.job, allocation.nodes, environment)}
        here = nodes.pop(allocation.node, None)
        if here is None:
            raise NotReached(f"they are {', '.join(nodes)}")
    except NotReached as problem:
        text = (f"pounce: job {allocation.job} has {allocation.nodes} nodes; "
                f"workers run on this one, {allocation.node}, alone: {problem}")
        print(_core.printable(text), file=sys.stderr)
        return {}
    return {"advertise_address": here.sees_us_at, "local_relative": here.relative, "local_nodes": [
        {"name": node.name, "relative": node.relative, "cpus": node.cpus, "gpus": ",".join(node.gpus),
         "memory_mib": min(_memory_on(environment, node.cpus), _MOST_MIB)} for node in nodes.values()]}


def _memory_on(environment: Mapping[str, str], cpus: int) -> int:
    """The memory that the job may use on a node where it has `cpus` CPUs; 0: not limited."""
    return _number(environment, "SLURM_MEM_PER_NODE") or _number(environment, "SLURM_MEM_PER_CPU") * cpus


def _is_one_of_several(environment: Mapping[str, str]) -> bool:
    """Whether any node has several tasks of its step. "2(x3),1": three nodes with two tasks each, one with one."""
    counts = re.findall(r"(?:^|,)(\d+)", environment.get("SLURM_STEP_TASKS_PER_NODE", ""))
    return any(int(count) > 1 for count in counts)


def _number(environment: Mapping[str, str], name: str) -> int:
    text = environment.get(name, "")
    return int(text) if text.isdigit() else 0


# ---- the job's nodes, as a job step on each of them reports ----

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
        done = subprocess.run(words, env=ours, capture_output=True, text=True, timeout=_NODES_ANSWER_S, check=False)
    except FileNotFoundError:
        raise NotReached("there is no srun here") from None
    except subprocess.TimeoutExpired:
        raise NotReached(f"they did not answer within {_NODES_ANSWER_S:.0f} s") from None
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
