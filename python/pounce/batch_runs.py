"""Finds batch runs by their names, and writes a lease or a call as a job script."""

from __future__ import annotations

from ._batch import making, run_folder
from ._batch.run import BatchRun as BatchRun
from .errors import BadRequest
from .future import DetachedFuture, Future, engine_of
from .lease import Lease, asks_of_lease, environment_of_lease


def batch(name: str) -> BatchRun:
    """The batch run of that name, whichever kernel made it. Does not block.

    Raises
    ------
    NoSuchName
        Lists the names that there are.

    Examples
    --------
    >>> pounce.batch("train").result()  # doctest: +SKIP
    PosixPath('/home/ada/pounce-batch/train/executed.ipynb')
    """
    return BatchRun(run_folder.found(name))


def export_sbatch(what: Future | Lease) -> str:
    """A job script for ``sbatch`` with the same resources and environment. It needs no pounce where it runs. Blocks
    for a question to Slurm about classes.

    For a call that has not ended, the script makes the call, in the folder of a new batch run, which ``pounce.batch``
    finds. For a lease, the script runs a command of yours: ``sbatch SCRIPT COMMAND``.

    Returns
    -------
    str
        The script's text.

    Raises
    ------
    BadRequest
        The call has ended, so its arguments are not kept any more; or pounced does not know the lease any more.

    Examples
    --------
    >>> future = client.submit(pow, 2, 10)
    >>> future.result()
    1024
    >>> lease = client.leases()[0]
    >>> print(pounce.export_sbatch(lease).splitlines()[0])
    #!/bin/bash
    """
    if isinstance(what, Lease):
        return making.of_place(asks_of_lease(what), f"The resources of lease {what.id[:8]}", environment_of_lease(what))
    if isinstance(what, DetachedFuture):
        raise BadRequest("a call with a name was made for a worker of pounce alone",
                         "Export the function: %pounce batch --function NAME.")
    session, task = engine_of(what)
    if task.function is None or task.asks is None:
        raise BadRequest(f"the call of {task.name} has ended, and its arguments are not kept any more",
                         "Export a future before its end, or the function: %pounce batch --function NAME.")
    function, args, kwargs = task.function, task.args, task.kwargs
    return making.of_function(function, args, kwargs, making.Request(task.asks, session.prefix)).script.read_text()
