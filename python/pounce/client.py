"""``Client``: the way in."""

from __future__ import annotations

import os
from typing import Any

from ._batch.job import pounce_here
from ._common.ref import Ref
from ._engine import allocation
from ._engine.options import Options, grace
from ._engine.pools import Pool, pools_of
from ._engine.submission import Submitter, prefix_of
from ._tables.classes import Classes, classes_of
from ._tables.queue import Queue, Row
from ._tables.utilisation import Reports, reports_of
from .calls import View
from .errors import BadRequest, public
from .gangs import Gang
from .lease import Lease, of_session

_QUEUE_TIMEOUT_S = 30.0


@public
class Client(View):
    """Submits functions to workers that are leased from Slurm for as long as there is work.

    Making one starts pounced, this user's scheduler daemon on this machine, unless it runs already; it blocks until
    that answers (0.1 s, longer where Slurm is slow). Nothing is leased until there is a task. All methods may be called
    from any thread; in a forked child they raise ``Forked``.

    Parameters
    ----------
    launcher : {"slurm", "local"}, optional
        Where workers run. By default Slurm; on a machine without it, processes on this machine, with a notice.
    config : path, optional
        pounced's configuration file, if it has to be started.
    here : bool or "auto", optional
        ``True``: workers run in the Slurm job of this process, on its node, with its GPUs, CPUs and memory and no more;
        a task that does not fit waits. ``"auto"``: the same inside a job, and leases outside, so that one script serves
        both. ``False``: always leases. In a job it does not query classes, accounts and types of GPUs again. By
        default it leases, except in a batch run (``%pounce batch``) whose job has the GPUs that `options` ask for:
        these would idle.
    cancel_grace : float (seconds), timedelta or str
        How long a running task has to stop after the KeyboardInterrupt that cancels it; then its worker is killed.
    env : path, optional
        Another environment for the workers: its ``bin/python`` runs there, and must have this pounce and this minor
        version of Python. By default the notebook's own, as it was activated.
    imports : {"ahead", "no"}
        ``"ahead"``: a new worker loads the modules that the waiting calls name, and when it has nothing to do the
        notebook's other modules, before a task imports them. Installed modules only.
    **options
        What each task requests by default: the keywords of ``options()``, for example ``gpus=1``.

    Raises
    ------
    BadRequest
        An option that does not exist, or a value that is not one of its kind; ``here=True`` outside a job.
    RefusesRoot, SlurmConfigBroken, DaemonUnavailable, ...
        Why pounced cannot work here.

    Examples
    --------
    >>> with pounce.Client(launcher="local") as client:
    ...     client.submit(pow, 2, 10).result()
    1024
    """

    def __init__(self, *, launcher: str | None = None, config: str | os.PathLike[str] | None = None,
                 here: bool | str | None = None, cancel_grace: Any = 5.0, env: str | os.PathLike[str] | None = None,
                 imports: str = "ahead", **options: Any):
        if imports not in ("ahead", "no"):
            raise BadRequest(f"imports= is 'ahead' or 'no', not {imports!r}")
        if launcher not in (None, "slurm", "local"):
            raise BadRequest(f"launcher= is 'slurm', 'local' or None, not {launcher!r}")
        if here not in (None, True, False, "auto"):
            raise BadRequest(f"here= is True, False or 'auto', not {here!r}")
        asks = Options().changed(**options)
        if here is None and launcher is None and config is None and os.environ.get(pounce_here.FOLDER):
            here = allocation.serves_batch_run(asks)
        if here is True or (here == "auto" and allocation.is_inside()):
            if launcher is not None or config is not None:
                raise BadRequest("here= decides where workers run, so launcher= and config= do not", "Leave them out.")
            launcher, config = "local", allocation.configuration(allocation.found())
        if asks.name:
            raise BadRequest("a name is for one task", "Use client.options(name=...).submit(...).")
        prefix = None if env is None else prefix_of(env)
        path = None if config is None else os.fspath(config)
        super().__init__(Submitter(launcher, path, grace(cancel_grace), prefix, imports), asks)

    # ---- work ----

    def scatter(self, value: Any, device: str | None = None) -> Ref:
        """Makes `value` an object that workers hold, and returns its handle.

        Blocks until it is hashed (about 50 ms for a GiB), not until it is sent: existing workers get it at once, others
        before the first task that needs it. The data stays with the client as long as the Ref lives, shared and not
        copied: do not change an array that was scattered (``POUNCE_CHECK_MUTATION=1`` looks for that: a call that took
        the handle then ends with ``DataChanged``). The same content is the same object.

        Parameters
        ----------
        device : str, optional
            "cuda", "cuda:1" (a worker's second GPU) or "host" (its memory, where there is no GPU): the numpy arrays and
            CPU tensors in `value`, at any depth, go to that device while they arrive, once, and stay there for all
            tasks of the worker. A task gets a ``DeviceArray`` for an array and a tensor on that device for a tensor.
            Calls that take the handle wait until it is there. Workers without GPUs get it with such a call only.

        Raises
        ------
        NotPicklable
            Names the part that cannot travel.
        BadRequest
            `device` names no device, or `value` has no array that could lie there.

        A call that takes the handle ends with ``DeviceUnavailable`` where its worker has no such device, and with
        ``OutOfMemory`` where it does not fit there, with what pounce holds of the device.

        Examples
        --------
        >>> numbers = client.scatter(list(range(1000)))
        >>> client.submit(sum, numbers).result(), client.submit(max, numbers).result()
        (499500, 999)
        """
        return self._submitter.scatter(value, device)

    def queue(self) -> Queue:
        """This user's jobs of pounce, of all notebooks, as Slurm shows them now. Blocks for one question to Slurm.

        Raises
        ------
        SlurmUnreachable, DaemonUnavailable

        Examples
        --------
        >>> {job.state for job in client.queue()}
        {'RUNNING'}
        """
        answer = self._session.queue(_QUEUE_TIMEOUT_S)
        return Queue([Row._make(row) for row in answer.rows], answer.launcher)

    def leases(self) -> list[Lease]:
        """The leases of this client now, waiting ones too. Does not block: it is what pounced last reported.

        Examples
        --------
        >>> client.submit(pow, 2, 10).result()
        1024
        >>> [lease.state in ("idle", "busy") for lease in client.leases()]
        [True]
        """
        return [lease for session in self._submitter.sessions() for lease in of_session(session)]

    def pools(self) -> list[Pool]:
        """The pools of this process that have leases now, each as one row. Blocks for one question to pounced.

        Raises
        ------
        DaemonUnavailable
            pounced does not answer within 30 s.
        ClientClosed
            This client was closed.

        Examples
        --------
        >>> client.gather([client.options(workers="0:16").submit(pow, 2, n) for n in range(4)])
        [1, 2, 4, 8]
        >>> client.pools()  # doctest: +SKIP
        [7 of 16 workers, 3 nodes, 5 wait: a limit of class lion is reached: 7 jobs run at a time, and 7 of yours do; …]
        """
        return pools_of(self._session.status(_QUEUE_TIMEOUT_S))

    def classes(self) -> Classes:
        """The classes that are open to you, with their time, jobs and GPUs left now; and the cluster's GPUs. Blocks.

        Raises
        ------
        DaemonUnavailable
            pounced does not answer within 30 s.
        ClientClosed
            This client was closed.

        Examples
        --------
        >>> client.classes()  # of a client without Slurm
        no classes: work runs on this machine
        """
        return classes_of(self._session.classes(_QUEUE_TIMEOUT_S))

    def reports(self) -> Reports:
        """What your leases requested and used, with what to request next time; recently ended ones too. Blocks.

        Raises
        ------
        DaemonUnavailable
            pounced does not answer within 30 s.
        ClientClosed
            This client was closed.

        Examples
        --------
        >>> client.reports()[-1].suggestion  # doctest: +SKIP
        'asked 32 GiB of memory, used 1.2 GiB at most: ask for 2 GiB'
        """
        return reports_of(self._session.status(_QUEUE_TIMEOUT_S))

    # ---- life ----

    def close(self) -> None:
        """Ends the session: its tasks are cancelled, except those with a name, and its leases given back.

        A second call does nothing. Blocks at most 0.3 s.
        """
        self._submitter.close()

    @property
    def closed(self) -> bool:
        """True after ``close()``. Does not block."""
        return self._session.closed

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<pounce.Client{' closed' if self._session.closed else ''}>"


def classes() -> Classes:
    """What you may use now, as ``Client.classes``, but without a client. Blocks; starts pounced if it does not run.

    Examples
    --------
    >>> pounce.classes()["lion"].running_jobs.left  # doctest: +SKIP
    4
    """
    with Client(here=False) as client:
        return client.classes()


def gang(**options: Any) -> Gang:
    """``Client.gang`` with a client of its own, which is closed with the gang. Blocks, and starts pounced, as
    ``Client`` does.

    Examples
    --------
    >>> with pounce.gang(workers=2) as gang:
    ...     gang.run(lambda: pounce.rank().world_size)
    [2, 2]
    """
    client = Client()
    try:
        return client.gang(**options).ends_with(client.close)
    except BaseException:
        client.close()
        raise
