"""``Client``: the way in."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from . import errors, named, serialize
from ._session import Session
from .class_table import Classes, classes_of
from .errors import BadRequest
from .functions import FunctionCache, Pickled
from .future import Future
from .lease import Lease, of_session
from .options import Options, grace
from .queue import Queue, Row
from .ref import Ref
from .use import Reports, reports_of
from .view import View

INLINE_BYTES = 1024 * 1024  # larger arguments become objects by themselves (src/protocol/limits.h)
_QUEUE_TIMEOUT_S = 30.0
_NO_ARGUMENTS = [serialize.dumps(((), {}))[0]]

_open: weakref.WeakSet[Client] = weakref.WeakSet()


class Client(View):
    """Submits functions to workers that are leased from Slurm for as long as there is work.

    Making one starts pounced, this user's scheduler daemon on this machine, unless it runs already; it blocks until that
    answers (0.1 s, longer where Slurm is slow). Nothing is leased until there is a task. All methods may be called from
    any thread; in a forked child they raise ``Forked``.

    Parameters
    ----------
    launcher : {"slurm", "local"}, optional
        Where workers run. By default Slurm; on a machine that has none, processes on this machine, which is said.
    config : path, optional
        pounced's configuration file, if it has to be started.
    cancel_grace : float (seconds), timedelta or str
        How long a cancelled task that runs has to stop after its KeyboardInterrupt; then its worker is killed.
    env : path, optional
        Another environment for the workers: its ``bin/python`` runs there, and must have this pounce and this minor version
        of Python. By default the notebook's own, as it was activated.
    **options
        What each task asks for unless ``options()`` says otherwise: its keywords, for example ``gpus=1``.

    Raises
    ------
    BadRequest
        An option that does not exist, or a value that is not one of its kind.
    RefusesRoot, SlurmConfigBroken, DaemonUnavailable, ...
        Why pounced cannot work here.

    Examples
    --------
    >>> with pounce.Client(launcher="local") as client:
    ...     client.submit(pow, 2, 10).result()
    1024
    """

    def __init__(self, *, launcher: str | None = None, config: str | os.PathLike[str] | None = None,
                 cancel_grace: Any = 5.0, env: str | os.PathLike[str] | None = None, **options: Any):
        if launcher not in (None, "slurm", "local"):
            raise BadRequest(f"launcher= is 'slurm', 'local' or None, not {launcher!r}")
        self._options = Options().changed(**options)
        if self._options.name:
            raise BadRequest("a name is for one task", "Use client.options(name=...).submit(...).")
        prefix = None if env is None else os.path.abspath(os.path.expanduser(os.fspath(env)))
        self._session = Session(launcher, None if config is None else os.fspath(config), grace(cancel_grace), prefix)
        self._environments: dict[str, Client] = {}
        self._environments_lock = threading.Lock()
        self._like_us = dict(launcher=launcher, config=config, cancel_grace=cancel_grace)
        self._functions = FunctionCache()
        _open.add(self)

    def _home(self) -> Client:
        return self

    def _in(self, env: str | os.PathLike[str]) -> Client:
        """The client whose workers run in another environment: it is a session of its own, and ends with this one."""
        key = os.path.abspath(os.path.expanduser(os.fspath(env)))
        with self._environments_lock:
            if key not in self._environments:
                self._environments[key] = Client(env=env, **self._like_us)
            return self._environments[key]

    # ---- work ----

    def _submit(self, options: Options, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
                retries: int) -> Future:
        submitted_ns = time.monotonic_ns()
        if not callable(function):
            raise BadRequest(f"submit takes a function and its arguments, not {function!r}")
        name = getattr(function, "__name__", type(function).__name__)
        if options.name:
            if options.wait_policy:
                raise BadRequest("a task with a name waits without this kernel, so wait_policy= is not for it", "Leave out one of the two.")
            return self._submit_named(options, function, args, kwargs, retries, name)
        holds: list[Any] = []  # keep implicit objects here until the engine holds them for the task
        pickled = self._pickled(function, name)
        if pickled.buffers or pickled.objects or len(pickled.pickle) > INLINE_BYTES:
            # A function with much data in it is data: sent once, however often its small parts change.
            args = (self._object(function, holds), *args)
            pickled = self._pickled(serialize.apply, name)
        payload, objects = self._arguments(args, kwargs, name, holds) if args or kwargs else (_NO_ARGUMENTS, [])
        future = self._session.submit(name, pickled, payload, objects, options.as_tuple(), retries, submitted_ns)
        future._asks = options
        if options.wait_policy:
            self._session.planner.add(future, options.wait_policy)
        return future

    def _submit_named(self, options: Options, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
                      retries: int, name: str) -> Future:
        try:
            parts = named.parts_of(function, args, kwargs)
        except errors.PounceError:
            raise
        except Exception as error:
            if serialize.path_of_unpicklable(function, name) is not None:
                raise _not_picklable(function, name, error) from error
            raise _not_picklable_arguments(args, kwargs, name, error) from error
        return named.submit(self._session, options.name, parts, options.as_tuple(), retries)

    def _pickled(self, function: Callable[..., Any], name: str) -> Pickled:
        try:
            return self._functions.pickled(function, surely=not self._session.under_way)
        except Exception as error:
            raise _not_picklable(function, name, error) from error

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str, holds: list[Any]) -> tuple[list[Any], list[str]]:
        try:
            data, buffers, objects = serialize.dumps((args, kwargs))
            if len(data) + sum(buffer.raw().nbytes for buffer in buffers) > INLINE_BYTES:
                args = tuple(self._large(arg, holds) for arg in args)
                kwargs = {key: self._large(arg, holds) for key, arg in kwargs.items()}
                data, buffers, objects = serialize.dumps((args, kwargs))
        except errors.PounceError:
            raise
        except Exception as error:
            raise _not_picklable_arguments(args, kwargs, name, error) from error
        return [data, *buffers], objects

    def _large(self, arg: Any, holds: list[Any]) -> Any:
        if isinstance(arg, (int, float, bool, type(None), Ref)):
            return arg
        data, buffers, objects = serialize.dumps(arg)
        # Refs inside stay inside: an object's own pickle has no list of objects to point to.
        if objects or len(data) + sum(buffer.raw().nbytes for buffer in buffers) <= INLINE_BYTES:
            return arg
        return self._hold(data, buffers, holds)

    def _object(self, value: Any, holds: list[Any]) -> Ref:
        data, buffers, objects = serialize.dumps(value)
        if objects:
            raise errors.NotPicklable(
                "a pounce.Ref is captured by the function itself", "Pass the Ref as an argument of the function instead."
            )
        return self._hold(data, buffers, holds)

    def _hold(self, data: bytes, buffers: list[Any], holds: list[Any], send_now: bool = False) -> Ref:
        id, nbytes, hold = self._session.core.hold(data, buffers, send_now)
        ref = Ref(id, nbytes, hold)
        holds.append(ref)
        return ref

    def scatter(self, value: Any) -> Ref:
        """Makes `value` an object that workers hold, and returns its handle.

        Blocks until it is hashed (about 50 ms for a GiB), not until it is sent: that happens at once to workers that are
        there, and before the first task that needs it to others. The data stays with the client as long as the Ref lives,
        shared and not copied: do not change an array that was scattered. The same content is the same object.

        Raises
        ------
        NotPicklable
            Names the part that cannot travel.

        Examples
        --------
        >>> numbers = client.scatter(list(range(1000)))
        >>> client.submit(sum, numbers).result(), client.submit(max, numbers).result()
        (499500, 999)
        """
        if isinstance(value, Ref):
            return value
        try:
            data, buffers, objects = serialize.dumps(value)
        except Exception as error:
            raise _not_picklable(value, "the value", error) from error
        if objects:
            raise BadRequest("a value that contains a pounce.Ref cannot be scattered", "Pass the Refs as arguments.")
        return self._hold(data, buffers, [], send_now=True)

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
        rows, error, launcher = self._session.queue(_QUEUE_TIMEOUT_S)
        if error is not None:
            raise errors.make(*error)
        return Queue([Row(*row) for row in rows], launcher)

    def leases(self) -> list[Lease]:
        """The leases of this client now, waiting ones too. Does not block: it is what pounced last told.

        Examples
        --------
        >>> client.submit(pow, 2, 10).result()
        1024
        >>> [lease.state in ("idle", "busy") for lease in client.leases()]
        [True]
        """
        return [lease for one in (self, *self._environments.values()) for lease in of_session(one._session)]

    def classes(self) -> Classes:
        """The classes that are open to you: time, jobs and GPUs with what is left of them now; and the GPUs of the cluster. Blocks.

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
        rows, gpus, _, error, launcher = self._session.classes(_QUEUE_TIMEOUT_S)
        if error is not None:
            raise errors.make(*error)
        return classes_of(rows, gpus, launcher)

    def reports(self) -> Reports:
        """What your leases have used of what they asked for, with what to ask for next time; those that ended lately too. Blocks.

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

        Twice is once. Blocks at most 0.3 s.
        """
        for other in self._environments.values():
            other.close()
        self._session.close()
        _open.discard(self)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<pounce.Client{' closed' if self._session._closed else ''}>"


def classes() -> Classes:
    """What you may use now, as ``Client.classes``: for before there is a client. Blocks; starts pounced where none runs.

    Examples
    --------
    >>> pounce.classes()["lion"].running_jobs.left  # doctest: +SKIP
    4
    """
    with Client() as client:
        return client.classes()


def _not_picklable(value: Any, path: str, error: Exception) -> errors.PounceError:
    found = serialize.path_of_unpicklable(value, path)
    where, part, why = found if found is not None else (path, value, error)
    return errors.NotPicklable(f"{where} is a {type(part).__name__}, which cannot be pickled: {why}", context={"path": where})


def _not_picklable_arguments(args: tuple[Any, ...], kwargs: dict[str, Any], name: str, error: Exception) -> errors.PounceError:
    named = [(f"argument {i} of {name}", arg) for i, arg in enumerate(args)]
    named += [(f"argument {key}= of {name}", arg) for key, arg in kwargs.items()]
    for path, arg in named:
        if serialize.path_of_unpicklable(arg, path) is not None:
            return _not_picklable(arg, path, error)
    return errors.NotPicklable(f"the arguments of {name} cannot be pickled: {error}")


@atexit.register
def _close_all() -> None:
    """Before the interpreter is torn down: leases are given back, and no thread of ours needs the GIL afterwards."""
    for client in list(_open):
        client.close()
