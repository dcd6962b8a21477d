"""A cluster's keywords as options of pounce: one job is one lease, and its processes are the lease's workers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from ..._engine.options import Options
from ...errors import BadRequest
from .. import not_offered
from ..directives import VARIABLES, no_partition, options_of_lines, warn

# Meaningless here: there is no scheduler of Dask, no nanny and no log folder.
IGNORED = frozenset((
    "loop", "security", "silence_logs", "name", "dashboard_address", "scheduler_options", "scheduler_cls", "interface",
    "protocol", "config_name", "nanny", "death_timeout", "local_directory", "shared_temp_directory", "log_directory",
    "job_name", "shebang", "header_skip", "job_directives_skip", "host", "scheduler", "worker_command",
))

# Ignoring these would change what the program does.
REFUSED = {
    "asynchronous": "Leave it out: futures can be awaited as they are.",
    "job_cls": "Leave it out: jobs are pounce's own.",
    "env_extra": f"Of os.environ, {VARIABLES}",
    "job_script_prologue": f"The site's policy has a prologue (docs/policy.md). Of os.environ, {VARIABLES}",
    "extra": "Leave it out: pounce's workers take no arguments of Dask's.",
}

# Lifetimes of Dask's workers have no effect: when a lease ends here, another one follows.
_LIFETIME = re.compile(r"--lifetime(-stagger|-restart)?\b.*|\d+\s*\w*")


def options_of_job(*, cores: int | None = None, memory: Any = None, processes: int | None = None, walltime: Any = None,
                   account: str | None = None, project: str | None = None, queue: str | None = None,
                   job_cpu: int | None = None, job_mem: Any = None, job_extra_directives: Any = None,
                   job_extra: Any = None, python: str | None = None, worker_extra_args: Any = None,
                   **others: Any) -> dict[str, Any]:
    """Keywords of ``Client.options`` for one job, with `workers`, and with `env` if another Python is named."""
    unknown = others.keys() - IGNORED - REFUSED.keys()
    not_offered.keywords("SLURMCluster", {word: others[word] for word in others.keys() & REFUSED.keys()}, REFUSED)
    not_offered.unknown_keywords("SLURMCluster", {word: others[word] for word in unknown}, {})
    if worker_extra_args and not all(_LIFETIME.fullmatch(str(word)) for word in worker_extra_args):
        raise BadRequest(f"SLURMCluster does not take worker_extra_args={list(worker_extra_args)!r}", REFUSED["extra"])
    directives = options_of_lines([*(job_extra_directives or ()), *(job_extra or ())])
    workers = 1 if processes is None else processes
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise BadRequest(f"processes= takes a number of processes, at least 1, not {processes!r}")
    options: dict[str, Any] = {"workers": workers}
    if queue:
        no_partition(f"queue={queue!r}")
    if job_cpu or cores:
        options["cpus"] = _share(job_cpu or cores, workers, "cores")
    if processes is None and cores and cores > 1:
        warn(f"processes= is not given: here that is one process with all {cores} cores, which runs one call at a "
             "time, where Dask makes several processes with threads. Write processes=N for N calls at a time, "
             "or processes=1 for one")
    if job_mem or memory:
        options["memory"] = _share_of_memory(job_mem or memory, workers)
    if account or project:
        options["account"] = account or project
    if walltime:  # a number means minutes, as with --time
        options["time"] = walltime if isinstance(walltime, timedelta) else str(walltime)
    if python:
        options["env"] = _prefix_of(python)
    options.update(directives)
    return {**options, **_shares_of(directives, workers)}


def _shares_of(directives: dict[str, Any], workers: int) -> dict[str, Any]:
    """Dask's directives are for the whole job; pounce's options are for each process."""
    shares: dict[str, Any] = {}
    if "gpus" in directives:
        shares["gpus"] = _gpus_of_each(directives["gpus"], workers)
    if "cpus" in directives:
        shares["cpus"] = _share(directives["cpus"], workers, "--cpus-per-task")
    if "memory" in directives:
        shares["memory"] = _share_of_memory(directives["memory"], workers)
    return shares


def _share(number: Any, workers: int, what: str) -> int:
    """The share of each process; Dask lets processes share a remainder."""
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise BadRequest(f"{what}= takes a number, at least 1, not {number!r}")
    return max(1, number // workers)


def _share_of_memory(memory: Any, workers: int) -> Any:
    if workers == 1:
        return memory
    if not isinstance(memory, str):
        return memory / workers
    if (match := re.fullmatch(r"\s*([\d.]+)\s*([A-Za-z]*)\s*", memory)):
        return f"{float(match[1]) / workers:.3f}{match[2]}"
    return memory  # making the cluster refuses it, and quotes it


def _gpus_of_each(gpus: Any, workers: int) -> Any:
    """In Dask all processes of a job use all its GPUs; here each process has its own."""
    if workers == 1:
        return gpus
    kind, _, count = gpus.rpartition(":") if isinstance(gpus, str) else ("", "", str(gpus))
    each, rest = divmod(int(count), workers)
    if rest:
        raise BadRequest(f"{count} GPUs cannot be shared by processes={workers}: here each process has GPUs of its own",
                         f"Write processes=1, or ask for {workers} GPUs.")
    return f"{kind}:{each}" if kind else each


def _prefix_of(python: str) -> str:
    """``/envs/jax`` for ``/envs/jax/bin/python``."""
    folder, name = os.path.split(os.path.expanduser(python))
    if os.path.basename(folder) != "bin" or not name.startswith("python"):
        raise BadRequest(f"python={python!r} is no environment's bin/python",
                         "Name the Python of a virtual or conda environment.")
    return os.path.dirname(folder)


def as_directives(options: dict[str, Any]) -> list[str]:
    """The options of a lease as sbatch directives."""
    workers = options["workers"]
    each = f"  # for each of {workers} processes" if workers > 1 else ""
    words: dict[str, Callable[[Any], str]] = {
        "cpus": lambda value: f"--cpus-per-task={value * workers}",
        "gpus": lambda value: f"--gres=gpu:{value}{each}",
        "memory": lambda value: f"--mem={value}{each}",
        "class_": lambda value: f"--qos={value}",
        "not_nodes": lambda value: f"--exclude={value}",
        "time": lambda value: f"--time={Options().changed(time=value).resources.time_min}",  # minutes
    }
    others = options.keys() - {"workers", "slurm"}
    lines = [words[name](options[name]) if name in words else f"--{name}={options[name]}"
             for name in options if name in others]
    lines += [f"--{name}" if value is True else f"--{name}={value}" for name, value in options.get("slurm", {}).items()]
    return [f"#SBATCH {line}" for line in lines]
