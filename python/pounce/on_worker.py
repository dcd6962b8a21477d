"""What a function or a cell may call while it runs on a worker. In the notebook itself all of it is harmless, so that
the same function runs there too.
"""

from __future__ import annotations

import os
import socket
from typing import Any

from ._batch.job import pounce_here
from ._common.rank import Rank
from ._worker import interpreter
from ._worker.reports import report_line
from ._worker.steps import steps as steps


def time_left() -> float | None:
    """Seconds until the time of this lease ends, and all that runs on it. Does not block.

    Returns
    -------
    float or None
        0 when it is over. None where no limit is known: in the notebook itself, under the local launcher without
        ``time=``, and for the first seconds of a lease where Slurm has not told it yet. A preemption shortens it once
        Slurm has warned of it. What an admin changes while the job runs counts from Slurm's warning of the end on.

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


def rank() -> Rank:
    """Which rank of a gang runs this; without a gang, and in the notebook itself, the only one. Does not block.

    Returns
    -------
    Rank
        ``rank``, ``world_size``, ``local_rank``, ``local_world_size``; ``addresses``, an (IP address, port) for each
        rank, at which its ``listener()`` has listened since before any of them began.

    Examples
    --------
    >>> pounce.rank().world_size
    1
    """
    from ._worker import rank_run

    return rank_run.current()


def listener() -> socket.socket:
    """The socket that listens at this rank's address of ``rank().addresses``; the caller's to close. Does not block.

    Outside a gang, and in the notebook itself, one at a free port of the loopback interface.

    Examples
    --------
    >>> def ring():
    ...     me = pounce.rank()
    ...     onward = socket.create_connection(me.addresses[(me.rank + 1) % me.world_size])
    ...     onward.sendall(bytes([me.rank]))
    ...     return pounce.listener().accept()[0].recv(1)[0]
    >>> with pounce.gang(workers=2) as gang:
    ...     gang.run(ring)
    [1, 0]
    """
    from ._worker import rank_run

    return rank_run.listener()


def report(**values: Any) -> None:
    """Tells how far a running task is: its future's ``reports`` have it at once, and a sweep looks at it.

    Also seen below the cell or call, in ``pouncectl status`` and, where there is one, in the MLflow run: numbers as
    metrics, the file as an artefact, the status as the tag ``pounce.status``. Returns when it is on its way, in
    microseconds; blocks only while the notebook is far behind. From any thread of the task's own process; from another
    process of the lease too, and in a batch run, for numbers, status and file. Does nothing in the notebook itself.

    Parameters
    ----------
    **values : int, float, str, bool or None
        Also arrays and tensors with one element. ``step=`` is the number of the step, if it is not the number of the
        report. ``status=`` is what it does now, one line of at most 200 characters. ``file=`` is the path of a file
        that it has written.

    Raises
    ------
    BadRequest
        A value of another kind, by its name; more than 16 384 characters together.

    Examples
    --------
    >>> def train(steps):
    ...     for step in range(steps):
    ...         pounce.report(step=step, loss=1 / (step + 1))
    ...     return "trained"
    >>> future = client.submit(train, 2)
    >>> future.result(), future.reports
    ('trained', [{'step': 0, 'loss': 1.0}, {'step': 1, 'loss': 0.5}])
    """
    from ._common.report import content_of, message

    content = content_of(values)
    message(content)
    if interpreter.running is not None and os.getpid() == interpreter.process:
        interpreter.reports.report(content)
    elif os.environ.get(report_line.VARIABLE):
        report_line.write(report_line.written(content))


def checkpoint(obj: Any) -> None:
    """Keeps `obj` in case this task's worker is lost: the next run of the task, which ``retries=`` allows, gets it from
    ``restored()``.

    Blocks until it is on the disk, in the state folder of pounce. One is kept for each task: the previous one stays
    until this one is whole. It is removed when the task has ended well, or was forgotten, and otherwise as results are
    (``result_keep_s``). Does nothing in the notebook itself. Call it from the task's own process, not from one that it
    started. In a batch run the run keeps it in its folder, and the next job of the run begins with it.

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
        The disk or the quota is full. The previous checkpoint is kept.

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
        return pounce_here.checkpoint(obj)  # keeps it in a batch run; does nothing in the notebook itself
    from ._worker import checkpoints

    checkpoints.save(obj)


def restored(default: Any = None) -> Any:
    """What this task, in an earlier run, gave to ``checkpoint()`` last; `default` where it gave nothing, and in the
    notebook itself.

    Blocks while it is read. Its parts are unpickled only if the file is whole and only this user can have written it.
    Arrays are writable.

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
