"""``Client`` with Dask's interface: submit, map, gather, scatter, and the function that computes a graph of Dask's."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from ...calls import View
from ...errors import BadRequest, ClientClosed, Timeout
from ...future import Future as PounceFuture
from .. import not_offered
from ..call import Call
from ..leases import Leases
from ..on_worker import call_again, call_with, nothing
from .arguments import futures_in, is_namedtuple, rebuilt, replaced
from .cluster import SLURMCluster
from .executor import ClientExecutor
from .future import Future, flat, value_of
from .key import key_of, name_of, new_key

_OPTIONS = "Its resources are the cluster's: make another SLURMCluster, or use pounce.Client and its options()."
_OF_SUBMIT = {
    "workers": "Calls go to any free worker; job_extra_directives=['--exclude=node'] leaves nodes out.",
    "resources": _OPTIONS,
    "actor": "Return the state and pass it on, or use a %%pounce cell, whose variables stay on the worker.",
    "actors": "Return the state and pass it on, or use a %%pounce cell, whose variables stay on the worker.",
    "allow_other_workers": "Calls go to any free worker.",
}
_OF_CLIENT = {
    **dict.fromkeys(("n_workers", "threads_per_worker", "processes", "memory_limit"),
                    "Write SLURMCluster(processes=, cores=, memory=) and Client(cluster)."),
    **dict.fromkeys(("scheduler_file", "asynchronous", "security"),
                    "Leave it out: there is no scheduler, and futures can be awaited."),
}
_IGNORED = frozenset(("loop", "timeout", "name", "heartbeat_interval", "serializers", "deserializers", "extensions",
                      "direct_to_workers", "connection_limit", "set_as_default"))
_INSTEAD = {
    **dict.fromkeys(("compute", "persist"),
                    "Write dask.compute(x, scheduler=client.get), or dask.config.set(scheduler=client.get)."),
    **dict.fromkeys(("run", "run_on_scheduler", "register_plugin", "register_worker_callbacks"),
                    "Calls go to any free worker, not to each: "
                    "submit one, or use the site's policy (prologue)."),
    **dict.fromkeys(("upload_file",), "A module beside the notebook travels by itself, and again when it was edited."),
    **dict.fromkeys(("restart", "restart_workers"),
                    "client.cancel(futures) ends what runs; a %%pounce cell has %pounce restart."),
    **dict.fromkeys(("who_has", "has_what", "replicate", "rebalance", "nbytes"),
                    "Data goes to each worker that needs it, once."),
    **dict.fromkeys(("publish_dataset", "get_dataset", "list_datasets", "unpublish_dataset"),
                    "A pounce task with a name keeps its result: "
                    "pounce.Client().options(name=...).submit(...), attach(name)."),
    **dict.fromkeys(("scheduler_info", "processing", "dashboard_link", "profile", "get_task_stream", "call_stack"),
                    "client.cluster.pounce.queue(), leases() and reports() tell; "
                    "`pouncectl status` and `pouncectl top` too."),
    **dict.fromkeys(("get_worker_logs", "get_scheduler_logs", "forward_logging", "log_event", "get_events"),
                    "What workers print is shown in the notebook, as it comes; pounce's own log is `pounced.log`."),
    "retry": "Submit it again; submit(retries=) allows more runs.",
    "get_versions": "pounce checks the versions of Python and cloudpickle itself, and names both where they differ.",
}

_open: list[weakref.ref[Client]] = []  # the last one is the default


class Client:
    """Submits to a cluster's leases. Any thread may use it.

    Parameters
    ----------
    address : SLURMCluster, optional
        None: one lease with the site's defaults; on a machine without Slurm, a process of this machine.

    Raises
    ------
    BadRequest
        An address or a keyword that has no equivalent, with what to write instead.
    """

    def __init__(self, address: SLURMCluster | None = None, **keywords: Any):
        refused, unknown = keywords.keys() & _OF_CLIENT.keys(), keywords.keys() - _IGNORED - _OF_CLIENT.keys()
        not_offered.keywords("Client", {word: keywords[word] for word in refused}, _OF_CLIENT)
        not_offered.unknown_keywords("Client", {word: keywords[word] for word in unknown}, {})
        if address is not None and not isinstance(address, SLURMCluster):
            raise BadRequest(f"there is no scheduler at {address!r}: pounce has none",
                             "Write Client(SLURMCluster(...)).")
        self.cluster = SLURMCluster() if address is None else address
        self._owns = address is None
        self._known: weakref.WeakValueDictionary[str, Future] = weakref.WeakValueDictionary()  # by key
        self._lock = threading.Lock()
        self.status = "running"
        _open.append(weakref.ref(self))

    @property
    def _leases(self) -> Leases:
        leases = self.cluster.leases
        if self.status == "closed":
            raise ClientClosed("this client was closed", "Make another: Client(cluster).")
        return leases

    # ---- calls ----

    def submit(self, func: Callable[..., Any], *args: Any, key: str | None = None, workers: Any = None,
               resources: Any = None, retries: int | None = None, priority: int = 0, fifo_timeout: Any = None,
               allow_other_workers: bool = False, actor: bool = False, actors: bool = False, pure: bool = True,
               **kwargs: Any) -> Future:
        """Runs ``func(*args, **kwargs)`` on a worker. Returns at once, even if futures in the arguments have not ended.

        Parameters
        ----------
        *args, **kwargs
            Futures in them, at any depth, arrive as their values, as those of ``pounce.Client`` do (docs/data.md).
        key : str, optional
            If a future with this key exists, it is returned.
        pure : bool
            As in Dask: the same function with the same arguments is the same call, while its future is referenced.
            False: each call is a new one.
        retries : int
            How often it may run again: after an error of the function, on the same worker, and after it was lost with
            its worker.
        priority, fifo_timeout
            Accepted without effect: calls start in the order of their submission.

        Raises
        ------
        BadRequest
            `workers`, `resources`, `actor` and other keywords without an equivalent.
        NotPicklable
            Names the part of the function or argument that cannot travel.
        """
        not_offered.keywords("submit", {"workers": workers, "resources": resources, "actor": actor, "actors": actors,
                                        "allow_other_workers": allow_other_workers}, _OF_SUBMIT)
        if not callable(func):
            raise BadRequest(f"submit takes a function and its arguments, not {func!r}")
        if key is None:
            key = key_of(func, args, kwargs) if pure else new_key(func)
        with self._lock:
            known = self._known.get(key)
            if known is not None and known.status != "cancelled":
                return known
        call = self._call(name_of(func), func, args, kwargs, retries or 0)
        future = Future(key, call, self, self._leases.stop)
        with self._lock:
            self._known[key] = future
        return future

    def map(self, func: Callable[..., Any], *iterables: Iterable[Any], key: Any = None, batch_size: int | None = None,
            pure: bool = True, **keywords: Any) -> list[Future]:
        """One call for each item, as ``submit``: a list of futures. `key` is a list of keys or the beginning of all;
        `batch_size` has no effect.

        pounce.Client's own ``map`` is lazy and puts short calls together.
        """
        rows = list(zip(*iterables, strict=False))
        if isinstance(key, (list, tuple)):
            keys = list(key)
        else:
            keys = [None if key is None else
                    key_of(func, row, keywords, key) if pure else new_key(func, key) for row in rows]
        if len(keys) != len(rows):
            raise BadRequest(f"map got {len(keys)} keys for {len(rows)} calls", "Give one key for each, or a prefix.")
        return [self.submit(func, *row, key=one, pure=pure, **keywords) for row, one in zip(rows, keys, strict=True)]

    def get(self, dsk: Any, keys: Any, *, sync: bool = True, retries: int | None = None, **kwargs: Any) -> Any:
        """Computes `keys` of a graph of Dask's: ``dask.compute(x, scheduler=client.get)``. Blocks.

        docs/data.md says where a result goes that another task needs.

        Parameters
        ----------
        sync : bool
            False: returns futures at once.
        retries : int
            Of each task, as for ``submit``.
        """
        from .graph import compute, submitted

        submit = functools.partial(self.submit, retries=retries)
        return compute(submit, self.cancel, dsk, keys) if sync else submitted(submit, dsk, keys)

    def get_executor(self, **keywords: Any) -> ClientExecutor:
        """A ``concurrent.futures.Executor``. `keywords` are those of ``submit``, for all its calls: ``pure=False``,
        ``retries=2``.

        Raises
        ------
        TypeError
            Another keyword.
        """
        return ClientExecutor(self, **keywords)

    @property
    def futures(self) -> dict[str, Future]:
        """By their keys, those of its calls that are referenced and not released. Does not block."""
        with self._lock:
            return dict(self._known)

    def forget(self, future: Future) -> None:
        """For ``Future.release``."""
        with self._lock:
            if self._known.get(future.key) is future:
                del self._known[future.key]

    # ---- data ----

    def scatter(self, data: Any, workers: Any = None, broadcast: bool = False, direct: Any = None, hash: bool = True,
                timeout: Any = None, asynchronous: Any = None) -> Any:
        """Sends `data` to the workers: a list of futures for a list, a dict for a dict, a future for anything else.

        Data goes to each worker that needs it, once; `broadcast` has no effect. Equal data has one key; without `hash`
        each future has its own.
        """
        not_offered.keywords("scatter", {"workers": workers}, _OF_SUBMIT)
        if type(data) in (list, tuple, set, frozenset) or is_namedtuple(data):
            return rebuilt(data, [self._scattered(one, hash) for one in data])
        if type(data) is dict:
            return {name: self._scattered(one, hash) for name, one in data.items()}
        return self._scattered(data, hash)

    def gather(self, futures: Any, errors: str = "raise", direct: Any = None, asynchronous: Any = None) -> Any:
        """Waits for all and returns their results in the same shape.

        Parameters
        ----------
        errors : {"raise", "skip"}
            What to do with a call that failed.
        """
        if errors not in ("raise", "skip"):
            raise BadRequest(f"errors= is 'raise' or 'skip', not {errors!r}")
        if asynchronous:
            raise BadRequest("gather waits", "Await the futures themselves: asyncio.gather(*futures).")
        if not isinstance(futures, (Future, dict, list, tuple, set, frozenset)):
            futures = list(futures)
        if errors == "skip":
            futures = _without_failures(futures)
        error = future = None
        try:
            for future in futures_in(futures):
                error = future.exception()
                if error is not None:
                    raise error  # from here, so that a traceback is short
            return replaced(futures, Future.result)
        finally:
            del error, future, futures  # a traceback that ends here would hold them

    def cancel(self, futures: Any, asynchronous: Any = None, force: bool = False, reason: Any = None,
               msg: Any = None) -> None:
        """As ``Future.cancel`` of each. Does not block."""
        for future in flat(futures):
            future.cancel()

    # ---- workers ----

    def ncores(self, workers: Any = None) -> dict[str, int]:
        """How many calls can run at a time, by lease; leases that are not requested yet count too."""
        return {f"lease{number}": self._leases.processes for number in range(self._leases.number)}

    nthreads = ncores

    def wait_for_workers(self, n_workers: int = 1, timeout: Any = None) -> None:
        """Blocks until a worker has answered; others start when work needs them.

        Raises
        ------
        BadRequest
            More than ``scale`` allows.
        Timeout
            A ``TimeoutError``.
        """
        if isinstance(n_workers, bool) or not isinstance(n_workers, int) or n_workers < 1:
            raise BadRequest(f"`n_workers` must be a positive integer. Instead got {n_workers}")
        if n_workers > self.cluster.requested:
            raise BadRequest(f"the cluster has at most {self.cluster.requested} processes, not {n_workers}",
                             f"Call scale({n_workers}) first.")
        try:
            self.submit(nothing, pure=False).result(timeout)
        except Timeout:
            raise Timeout(f"no worker has answered within {timeout}") from None

    # ---- life ----

    def start(self, **kwargs: Any) -> None:
        """Does nothing: a client is ready when it is made."""

    def close(self, timeout: Any = None) -> None:
        """Ends this client. Its cluster goes on, and so do submitted calls, whose futures still give their results:
        ``shutdown()`` ends them too."""
        self.status = "closed"
        _open[:] = [each for each in _open if each() not in (self, None)]
        if self._owns:
            self.cluster.close()

    def shutdown(self) -> None:
        """Ends the cluster with all its calls, and gives the leases back."""
        self.close()
        self.cluster.close()

    @classmethod
    def current(cls, allow_global: bool = True) -> Client:
        """The client that was made last."""
        return default_client()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        not_offered.name_of_object("Client", name, _INSTEAD)

    def __repr__(self) -> str:
        return f"<Client: {self.cluster!r}>"

    # ---- inside ----

    def _call(self, name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
              retries: int) -> Call:
        now, named = replaced((args, kwargs), value_of)

        def make(view: View) -> PounceFuture:
            if retries:
                return view.submit(call_again, retries, func, now, named, retries=retries)
            if named.keys() & {"pure", "retries"}:
                return view.submit(call_with, func, now, named)
            return view.submit(func, *now, **named)

        return self._leases.submit(name, make)

    def _scattered(self, value: Any, by_content: bool) -> Future:
        if isinstance(value, Future):
            return value
        ref = self.cluster.pounce.scatter(value)
        call = Call("scatter", None)
        call.set_result(value)
        kind = type(value)
        return Future(f"{kind.__name__}-{ref.id}" if by_content else new_key(kind), call, self, self._leases.stop, ref)


def default_client(c: Client | None = None) -> Client:
    """`c`, or the client that was made last and is not closed."""
    if c is not None:
        return c
    clients = [client for each in _open if (client := each()) is not None]
    if not clients:
        raise BadRequest("No clients found", "Make one: Client(cluster).")
    return clients[-1]


def get_client(address: Any = None, timeout: Any = None, resolve_address: bool = True) -> Client:
    """As ``default_client``. In a function on a worker there is none."""
    return default_client()


def _without_failures(futures: Any) -> Any:
    if isinstance(futures, Future):
        raise BadRequest("errors='skip' leaves futures out of a list or dict",
                         "Give a list: gather([future], errors='skip').")
    if isinstance(futures, dict):
        return {name: one for name, one in futures.items() if _ends_well(one)}
    kept = [one for one in futures if _ends_well(one)]
    return kept if is_namedtuple(futures) else rebuilt(futures, kept)


def _ends_well(future: Any) -> bool:
    if not isinstance(future, Future):
        return True
    from .waiting import wait

    wait(future)
    return future.status == "finished"
