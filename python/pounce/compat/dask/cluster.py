"""``SLURMCluster``: the resources of a job and the maximum number of jobs. Nothing is leased before there is work."""

from __future__ import annotations

import math
from typing import Any

from ... import Client as PounceClient
from ...errors import BadRequest
from .. import not_offered
from ..leases import Leases
from .job_options import as_directives, options_of_job

_INSTEAD = {
    "dashboard_link": "client.queue() of pounce.Client, `pouncectl status` and `pouncectl top` show what runs.",
    "scheduler_address": "There is no scheduler that others could join: each kernel makes its own Client.",
    "scheduler": "There is no scheduler process: pounced asks Slurm, the workers take calls from this kernel.",
    "get_logs": "What workers print is shown in the notebook, as it comes.",
    "get_client": "Write Client(cluster).",
    "wait_for_workers": "Client(cluster).wait_for_workers(n) is.",
    "scale_up": "Use scale(n).",
    "scale_down": "Use scale(n): a lease that has nothing to do goes back by itself.",
    "workers": "`pouncectl leases` shows them.",
    "job_header": "Use job_script().",
    "from_name": "Each kernel makes its own cluster; "
                 "a pounce task with a name is found by pounce.Client().attach(name).",
}


class SLURMCluster:
    """The keywords of dask_jobqueue's; docs/migrate.md has the table of what each becomes.

    One job of Dask is one lease of pounce: a Slurm job on one node, whose `processes` share `cores` and `memory`.
    Leases are requested when there is work for them, at most as many as ``scale`` or ``adapt`` allow, and released when
    idle for a minute.

    Raises
    ------
    BadRequest
        A keyword or a directive without an equivalent, by its name, with what to write instead.

    Examples
    --------
    >>> from pounce.compat.dask import SLURMCluster, Client
    >>> cluster = SLURMCluster(cores=1, memory="500MB", processes=1, nanny=False)
    >>> cluster.scale(1)
    >>> client = Client(cluster)
    >>> client.submit(pow, 2, 10).result()
    1024
    >>> client.shutdown()
    """

    def __init__(self, n_workers: int = 0, **keywords: Any):
        self._options = options_of_job(**keywords)
        env = self._options.pop("env", None)
        self._pounce = PounceClient(env=env)
        self._leases = Leases(self._pounce, self._options)
        self._closed = False
        if n_workers:
            self.scale(n_workers)

    @property
    def leases(self) -> Leases:
        """What its clients submit to."""
        if self._closed:
            raise BadRequest("the cluster was closed", "Make another SLURMCluster.")
        return self._leases

    @property
    def pounce(self) -> PounceClient:
        """The underlying pounce client: ``queue()``, ``leases()``, ``classes()``, ``reports()``."""
        return self._pounce

    @property
    def requested(self) -> int:
        """The maximum number of processes at a time. Dask's is a set of names."""
        return self._leases.number * self._leases.processes

    def scale(self, n: int | None = None, jobs: int = 0, memory: Any = None, cores: int | None = None) -> None:
        """Limits the processes, or jobs, from now on. Does not block.

        Unlike Dask's it starts nothing: a job is requested when the others are busy, and an idle one is released.
        After ``scale(0)`` there may still be one, if there is work.
        """
        if memory is not None or cores is not None:
            raise BadRequest("scale takes a number of processes or jobs", "Write scale(4) or scale(jobs=4).")
        wanted = jobs if n is None else math.ceil(_count("n", n) / self._leases.processes)
        self._leases.resize(max(1, _count("jobs", wanted)))

    def adapt(self, minimum: int = 0, maximum: int | None = None, *, minimum_jobs: int | None = None,
              maximum_jobs: int | None = None, interval: Any = None, wait_count: Any = None,
              target_duration: Any = None, **kwargs: Any) -> None:
        """As ``scale(maximum)``: jobs start and end with the work in any case.

        Raises
        ------
        BadRequest
            A `minimum` above 0: it would hold GPUs that do nothing.
        """
        if kwargs:
            raise BadRequest(f"adapt has no keyword {next(iter(kwargs))}=", "It takes minimum=0 and maximum=.")
        if minimum or minimum_jobs:
            raise BadRequest(f"adapt(minimum={minimum or minimum_jobs}) would hold what nobody uses",
                             "Write adapt(minimum=0, maximum=...): a job is asked for as soon as there is work.")
        if maximum is None and maximum_jobs is None:
            raise BadRequest("adapt needs a maximum", "Write adapt(minimum=0, maximum=4).")
        self.scale(maximum, jobs=maximum_jobs or 0)

    def job_script(self) -> str:
        """One lease's request to Slurm as an sbatch script. pounce itself runs no sbatch: it uses libslurm."""
        return "\n".join(["#!/bin/sh", *as_directives(self._options), "pounce-worker", ""])

    def close(self, timeout: Any = None) -> None:
        """Ends its calls and releases its leases. Idempotent. Blocks at most 0.3 s."""
        self._closed = True
        self._pounce.close()

    def __enter__(self) -> SLURMCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        not_offered.name_of_object("SLURMCluster", name, _INSTEAD)

    def __repr__(self) -> str:
        return (f"SLURMCluster(at most {self._leases.number} leases of {self._leases.processes} processes, "
                f"{self._pounce!r})")


def _count(word: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadRequest(f"{word}= takes a number of processes, not {value!r}")
    return value
