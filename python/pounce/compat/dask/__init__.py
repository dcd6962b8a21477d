"""Names of dask_jobqueue and dask.distributed over pounce.

    from pounce.compat.dask import SLURMCluster, Client

    cluster = SLURMCluster(cores=8, memory="64g", processes=1, job_extra_directives=["--gres=gpu:1"])
    cluster.scale(2)
    client = Client(cluster)
    client.submit(train, client.scatter(loader)).result()

Dask itself need not be installed; ``dask.compute(..., scheduler=client.get)`` has it.
"""

from __future__ import annotations

from typing import Any

from .. import not_offered
from .client import Client, default_client, get_client
from .cluster import SLURMCluster
from .future import Future
from .waiting import as_completed, wait

from .progress import progress  # isort: skip

_INSTEAD = {
    **dict.fromkeys(("LocalCluster", "PBSCluster", "SGECluster", "LSFCluster", "SSHCluster", "HTCondorCluster",
                     "OARCluster"),
                    "SLURMCluster is; Client() without a cluster works on this machine where there is no Slurm."),
    **dict.fromkeys(("get_worker", "worker_client", "secede", "rejoin"),
                    "A function on a worker has no client: return what is to be submitted next."),
    **dict.fromkeys(("Worker", "Nanny", "Scheduler"),
                    "SLURMCluster is: its scale() and adapt() say how many workers there may be."),
    **dict.fromkeys(("Lock", "Event", "Queue", "Variable", "Semaphore", "MultiLock", "Actor"),
                    "Workers share nothing but futures: pass them as arguments, or use a file."),
    "performance_report": "Future.timings() of pounce.Client's futures, client.reports() and `pouncectl report` "
                          "tell where time went.",
    "fire_and_forget": "pounce.Client().options(name=...).submit(...) runs to its end without this kernel.",
    "print": "The ordinary print is shown in the notebook, as it comes.",
    "warn": "The ordinary warnings.warn is shown in the notebook, as it comes.",
}

__all__ = ["Client", "Future", "SLURMCluster", "as_completed", "default_client", "get_client", "progress", "wait"]


def __getattr__(name: str) -> Any:
    not_offered.name_of_module(__name__, name, _INSTEAD)
