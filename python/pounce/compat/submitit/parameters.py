"""The parameters of ``update_parameters``: some are for the executor, the others are sbatch's (see directives.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import BadRequest
from .. import not_offered
from ..directives import VARIABLES, no_partition, options_of_names

_OF_THE_EXECUTOR = ("name", "slurm_job_name", "stderr_to_stdout", "slurm_stderr_to_stdout", "slurm_array_parallelism",
                    "slurm_signal_delay_s")
_IGNORED = ("slurm_comment", "slurm_use_srun", "slurm_wckey")
_OTHER_CLUSTERS = ("local_", "debug_")  # submitit takes them everywhere, and uses them only there
_ONE = dict.fromkeys(
    ("nodes", "tasks_per_node", "slurm_ntasks_per_node", "slurm_nodes"),
    "Leave it out: a job has one task on one node. map_array makes several jobs; "
    "pounce.gang(nodes=2) runs one program on several nodes.")
_REFUSED = {
    "slurm_setup": f"The site's policy has a prologue (docs/policy.md). Of os.environ, {VARIABLES}",
    "slurm_teardown": "Write it into the function: try: ... finally: ...",
    "slurm_srun_args": "Leave it out: pounce starts its workers without srun.",
    "slurm_dependency": "Submit the next job when job.result() is there.",
    "slurm_cpus_per_gpu": "Ask for all of them: cpus_per_task=8.",
    "slurm_mem_per_cpu": "Ask for all of it: mem_gb=16.",
    "slurm_mem_per_gpu": "Ask for all of it: mem_gb=16.",
}


def options_of(parameters: dict[str, Any]) -> dict[str, Any]:
    """Keywords of ``Client.options`` for one job. Raises BadRequest with the name of a parameter without equivalent."""
    given = {name: value for name, value in parameters.items()
             if value is not None and not name.startswith(_OTHER_CLUSTERS)}
    options: dict[str, Any] = {}
    for name in given.keys() & _ONE.keys():
        if given.pop(name) != 1:
            raise BadRequest(f"{name}={parameters[name]!r} has no equivalent in pounce", _ONE[name])
    refused = {name: given.pop(name) for name in given.keys() & _REFUSED.keys()}
    not_offered.keywords("update_parameters", refused, _REFUSED)
    for name in (*_OF_THE_EXECUTOR, *_IGNORED):
        given.pop(name, None)
    additional = given.pop("slurm_additional_parameters", {})
    for name in [name for name in given if name in _PARSED]:
        options.update(_PARSED[name](given.pop(name)))
    of_sbatch = {name.removeprefix("slurm_"): given.pop(name) for name in list(given) if name.startswith("slurm_")}
    if given:
        known = ", ".join((*_PARSED, "name", "stderr_to_stdout", "slurm_..."))
        raise BadRequest(f"there is no parameter {next(iter(given))}=", f"The parameters are {known}.")
    for words in (of_sbatch, additional):
        more = options_of_names(words)
        slurm = {**options.get("slurm", {}), **more.get("slurm", {})}
        options.update(more, **({"slurm": slurm} if slurm else {}))
    return options


def _partition(value: Any) -> dict[str, Any]:
    return no_partition(f"slurm_partition={value!r}")


def _minutes(name: str) -> Callable[[Any], dict[str, Any]]:
    return lambda value: {"time": _number(name, value) * 60}


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadRequest(f"{name}= takes a number, not {value!r}")
    return value


_PARSED: dict[str, Callable[[Any], dict[str, Any]]] = {
    "timeout_min": _minutes("timeout_min"),
    "mem_gb": lambda value: {"memory": f"{_number('mem_gb', value)}GB"},
    "cpus_per_task": lambda value: {"cpus": value},
    "gpus_per_node": lambda value: {"gpus": value},
    "slurm_time": lambda value: {"time": value} if isinstance(value, str) else _minutes("slurm_time")(value),
    "slurm_num_gpus": lambda value: {"gpus": value},
    "slurm_cpus_per_task": lambda value: {"cpus": value},
    "slurm_gpus_per_node": lambda value: {"gpus": value},
    "slurm_gpus_per_task": lambda value: {"gpus": value},
    "slurm_partition": _partition,
}
