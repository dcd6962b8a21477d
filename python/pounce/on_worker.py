"""What a function or a cell may ask and keep while it runs on a worker. In the notebook itself all of it is harmless, so that the
same function runs there too.
"""

from __future__ import annotations

from typing import Any

from ._batch.job import pounce_here
from ._worker import interpreter
from ._worker.steps import steps as steps


def time_left() -> float | None:
    """Seconds until the time of this lease ends, and all that runs on it. Does not block.

    Returns
    -------
    float or None
        0 when it is over. None where no limit is known: in the notebook itself, under the local launcher without ``time=``, and for
        the first seconds of a lease where Slurm has not told it yet. A preemption shortens it once Slurm has warned of it. What an
        admin changes while the job runs counts from Slurm's warning of the end on.

    Examples
    --------
    >>> def train(epochs):
    ...     for epoch in range(epochs):
    ...         left = pounce.time_left()
    ...         if left is not None and left < 120:
    ...             return epoch  # what is done by now
    ...     return epochs
    >>> client.submit(train, 3).result()
    3
    """
    left = interpreter.time_left()
    return left if left is not None else pounce_here.time_left()


def checkpoint(obj: Any) -> None:
    """Keeps `obj` for the case that this task's worker is lost: the next run of the task, which ``retries=`` allows, begins with
    ``restored()``.

    Blocks until it is on the disk, in the state folder of pounce. One is kept for each task: the one before is there until this one
    is whole. It is removed when the task has ended well, or was forgotten, and otherwise as results are (``result_keep_s``). Does
    nothing in the notebook itself. From the task's own process, not from one that it started. In a batch run it is the run's, in its
    folder, and the next job of the run begins with it.

    Parameters
    ----------
    obj : any
        What can be pickled. Arrays and tensors of the CPU are written from their own memory, without a copy.

    Raises
    ------
    NotShared
        The worker's node does not see that folder.
    NotPicklable
        Names the part that cannot be pickled.
    OSError
        The disk or the quota is full. The checkpoint before is kept.

    Examples
    --------
    >>> def count_to(end):
    ...     number = pounce.restored(0)
    ...     while number < end:
    ...         number += 1
    ...         pounce.checkpoint(number)
    ...     return number
    >>> client.submit(count_to, 3, retries=2).result()
    3
    """
    if interpreter.running is None:
        return pounce_here.checkpoint(obj)  # of a batch run; nothing in the notebook itself
    from ._worker import checkpoints

    checkpoints.save(obj)


def restored(default: Any = None) -> Any:
    """What this task, in an earlier run, gave to ``checkpoint()`` last; `default` where it gave nothing, and in the notebook itself.

    Blocks while it is read. Its parts are unpickled only if the file is whole and nobody but this user can have written it. Arrays
    are writable.

    Raises
    ------
    NotShared
        The worker's node does not see the folder.
    ResultGone
        The file was changed or cut off, or others can write to it. Nothing of it was unpickled.
    VersionMismatch
        Another version of Python wrote it; both are named.

    Examples
    --------
    >>> pounce.restored(default="from the beginning")
    'from the beginning'
    """
    if interpreter.running is None:
        return pounce_here.restored(default)
    from ._worker import checkpoints

    return checkpoints.load(default)
