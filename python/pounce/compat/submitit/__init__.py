"""submitit's names over pounce.

    from pounce.compat import submitit

    executor = submitit.AutoExecutor(folder="logs")
    executor.update_parameters(timeout_min=30, mem_gb=16, cpus_per_task=4, slurm_gpus_per_node=1)
    executor.submit(train, loader).result()

submitit itself need not be installed. A worker imports this package too, so its modules are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .. import not_offered

if TYPE_CHECKING:
    from . import helpers as helpers
    from .environment import JobEnvironment
    from .executor import AutoExecutor
    from .job import Job
    from .job import Job as SlurmJob

_HOMES = {"AutoExecutor": "executor", "Job": "job", "SlurmJob": "job", "JobEnvironment": "environment"}
_INSTEAD = {
    "SlurmExecutor": "AutoExecutor is, with the names that it has there: slurm_partition=, slurm_time=.",
    "LocalExecutor": "AutoExecutor(folder, cluster='local') is.",
    "DebugExecutor": "AutoExecutor(folder, cluster='local') is; or call the function.",
    "LocalJob": "Job is, of whichever executor.",
    "DebugJob": "Job is, of whichever executor.",
    "Executor": "AutoExecutor is.",
}

__all__ = ["AutoExecutor", "Job", "JobEnvironment", "SlurmJob", "helpers"]


def __getattr__(name: str) -> Any:
    if name == "helpers":
        return importlib.import_module(".helpers", __name__)
    if name not in _HOMES:
        not_offered.name_of_module(__name__, name, _INSTEAD)
    home = importlib.import_module(f".{_HOMES[name]}", __name__)
    return home.Job if name == "SlurmJob" else getattr(home, name)
