"""``JobEnvironment``: what a function can read about the job that it runs in."""

from __future__ import annotations

import socket
from typing import Any

from ...errors import BadRequest
from .. import not_offered
from .paths import Paths

running: tuple[str, str] | None = None  # id and folder of the job that runs in this process: on a worker

_INSTEAD = {
    "raw_job_id": "`pouncectl leases` shows Slurm's number; workers hide Slurm's variables, "
                  "so that no library takes itself for a step.",
    "array_job_id": "Each job of map_array has an id of its own: job_id.",
    "array_task_id": "Each job of map_array has an id of its own: job_id.",
    "hostnames": "A job has one task on one node: hostname.",
}


class JobEnvironment:
    """Describes the job that runs here. It has one task on one node: its ranks are 0, its numbers 1.

    Raises
    ------
    BadRequest
        This is not inside a job.
    """

    def __init__(self) -> None:
        if running is None:
            raise BadRequest("JobEnvironment is of the job that a function runs in, and this is none",
                             "Make it inside the function.")
        self.job_id, self._folder = running

    @property
    def hostname(self) -> str:
        return socket.gethostname()

    @property
    def paths(self) -> Paths:
        return Paths(self._folder, self.job_id)

    num_tasks = num_nodes = 1
    node = global_rank = local_rank = 0
    name = "pounce"

    def activated(self) -> bool:
        return running is not None

    def __getattr__(self, name: str) -> Any:
        not_offered.name_of_object("JobEnvironment", name, _INSTEAD)

    def __repr__(self) -> str:
        return (f"JobEnvironment(job_id={self.job_id}, hostname={self.hostname}, "
                "local_rank=0(1), node=0(1), global_rank=0(1))")
