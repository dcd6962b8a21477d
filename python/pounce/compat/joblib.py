"""The joblib backend "pounce": scikit-learn and others run their ``n_jobs`` work on leased workers.

    import pounce.compat.joblib                        # makes the name known to joblib
    from joblib import parallel_config

    with parallel_config("pounce", n_jobs=8, cpus=2):
        search.fit(images, digits)

On a worker "pounce" means joblib's own default there (_worker/nested_joblib.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from joblib.parallel import (
    AutoBatchingMixin,
    FallbackToBackend,
    ParallelBackendBase,
    SequentialBackend,
    ThreadingBackend,
    register_parallel_backend,
)

from .. import Client, Ref
from .._common import serialize
from .._common.random_streams import Streams
from .._engine import seeds
from .._engine.options import Options
from .._engine.outcome import OF_GENERATORS, carried, note_lines
from .._tables.classes import Classes
from .._worker import nested_joblib
from ..calls import View, asks_of
from ..errors import BadRequest, NotPicklable
from ..future import Future
from ..shared_client import shared_client
from .call import Call
from .leases import Leases
from .on_worker import Authkey, Initializer, run_calls
from .sent_once import SentOnce

_UNBOUNDED = 16  # workers for -1 if neither options nor a class limit them: do not take a whole shared cluster


class PounceBackend(AutoBatchingMixin, ParallelBackendBase):
    """Made by joblib for ``parallel_config("pounce", ...)``.

    Parameters
    ----------
    client : pounce.Client, optional
        By default one that all programs without a client of their own share.
    leases : int
        How many leases the ``n_jobs`` processes are spread over. Each is a Slurm job; Slurm chooses its node.
    initializer, initargs
        Called once in each worker, before its first call. Equal ones are not called again.
    **options
        The resources of each process: keywords of ``Client.options``, such as ``cpus=2``, ``memory="4GB"``,
        ``time="20min"``. ``workers="0:16"``: at most 16 processes, each with a lease of its own, as the work needs.

    Raises
    ------
    BadRequest
        Options that do not exist.

    ``n_jobs=-1``, the default, means all workers that there may be: as many as ``workers`` and ``leases`` say, here or
    in the client's own options; else a pool of as many as the class lets run at a time, on a machine without Slurm its
    CPUs, and 16 if nothing limits them. ``-2`` is one less.
    """

    supports_inner_max_num_threads = True
    supports_retrieve_callback = True
    default_n_jobs = -1

    def __init__(self, nesting_level: int | None = None, inner_max_num_threads: int | None = None,
                 client: Client | None = None, leases: int = 1, initializer: Callable[..., Any] | None = None,
                 initargs: tuple[Any, ...] = (), **options: Any):
        super().__init__(nesting_level=nesting_level, inner_max_num_threads=inner_max_num_threads)
        asks = Options() if client is None else asks_of(client)
        own = asks.resources
        wanted = asks.changed(**{word: options[word] for word in ("workers",) if word in options}).resources
        if wanted.leases_most and leases != 1:
            workers = options.get("workers", f"0:{wanted.leases_most}")
            raise BadRequest(f"leases={leases} and workers={workers!r} both say how many leases there may be",
                             "Leave one of them out.")
        self._client, self._options = client, options
        self._number, self._processes = wanted.leases_most or leases, wanted.workers
        self._is_bounded = leases != 1 or "workers" in options or own.leases_most > 0 or own.workers > 1
        self._most = 0  # the value of -1 if nothing bounds it; looked up once
        self._initializer = Initializer.of(initializer, initargs)
        self._first = self._initializer  # of the present Parallel
        self._leases: Leases | None = None
        self._calls: set[Call] = set()
        self._streams: Streams | None = None  # the base of the streams of one Parallel's calls
        self._items = 0                       # of that Parallel so far
        self._sent = SentOnce(self._scatter)

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """For joblib: how many calls run at a time. -1: all possible workers, -2: one less. May query pounced, once."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs == 1:
            return 1  # the user wants sequential work in this process
        if n_jobs is None or n_jobs < 0:
            n_jobs = self._all() + 1 + (-1 if n_jobs is None else n_jobs)
        # joblib takes 1 for "in this process". Two calls at a time keep even a single worker busy.
        return max(2, n_jobs)

    def _all(self) -> int:
        if self._is_bounded:
            return self._number * self._processes
        if not self._most:
            client = self._client or shared_client()
            self._most = most_workers(asks_of(client).changed(**self._options), client.classes())
        return self._most

    def configure(self, n_jobs: int = 1, parallel: Any = None, initializer: Callable[..., Any] | None = None,
                  initargs: tuple[Any, ...] = (), **_: Any) -> int:
        self.parallel = parallel
        self._first = self._initializer if initializer is None else Initializer.of(initializer, initargs)
        effective = self.effective_n_jobs(n_jobs)
        if effective == 1:
            raise FallbackToBackend(SequentialBackend(nesting_level=self.nesting_level))
        if self._leases is None:
            client = self._client or shared_client()
            self._leases = Leases(client, {**self._workers_for(n_jobs), **self._options}, self._leases_for(n_jobs))
        return effective

    def _workers_for(self, n_jobs: int | None) -> dict[str, int]:
        """The option `workers` of each lease."""
        if n_jobs is not None and n_jobs > 1:
            return {"workers": -(-n_jobs // self._number)}
        return {} if self._is_bounded else {"workers": 1}

    def _leases_for(self, n_jobs: int | None) -> int:
        is_all = n_jobs is None or n_jobs < 0
        return self.effective_n_jobs(n_jobs) if is_all and not self._is_bounded else self._number

    def submit(self, func: Any, callback: Callable[[Any], Any] | None = None) -> Call:
        """Sends one of joblib's batches; `callback` is called when it has ended."""
        assert self._leases is not None
        calls = [(function, self._by_ref(args), self._by_ref(kwargs)) for function, args, kwargs in func.items]
        level = (self.nesting_level or 0) + 1
        draws = () if self._streams is None else (self._streams, self._items)
        self._items += len(calls)  # batches come in the order of their items, one at a time

        def make(view: View) -> Future:
            try:
                with seeds.given(None):
                    return view.submit(run_calls, Authkey.of_managers(), self._first, self.inner_max_num_threads, calls,
                                       level, *draws)
            except NotPicklable as error:
                raise _not_picklable(func.items) or error from error

        call = self._leases.submit(_name_of(func.items), make)
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        if callback is not None:
            call.add_done_callback(callback)
        return call

    def retrieve_result_callback(self, out: Any) -> Any:
        error = out.exception()
        if error is None:
            return out.result()
        note_lines(error)  # joblib drops its traceback
        raise carried(error, OF_GENERATORS)  # joblib's results come from a generator

    def get_nested_backend(self) -> tuple[Any, None]:
        """For parallel work inside a call: threads of the worker, and sequential work inside these."""
        level = (self.nesting_level or 0) + 1
        return (ThreadingBackend if level <= 1 else SequentialBackend)(nesting_level=level), None

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Ends all calls after one has failed, also those that run."""
        if self._leases is not None:
            self._leases.stop(list(self._calls))

    def start_call(self) -> None:
        self._sent.clear()
        self._streams, self._items = seeds.of_call(run_calls), 0

    def stop_call(self) -> None:
        self._sent.clear()

    def terminate(self) -> None:
        self.reset_batch_stats()
        self._leases = None

    def __reduce__(self) -> Any:
        raise TypeError("the backend 'pounce' stays in the notebook: "
                        "inside a call, n_jobs= means threads of its worker")

    # ---- data ----

    def _scatter(self, value: Any) -> Ref:
        assert self._leases is not None
        return self._leases.client.scatter(value)

    def _by_ref(self, arguments: Any) -> Any:
        if isinstance(arguments, dict):
            return {name: self._sent.by_ref(value) for name, value in arguments.items()}
        return tuple(self._sent.by_ref(value) for value in arguments)


def most_workers(asks: Options, classes: Classes) -> int:
    """How many workers the user's calls may have at a time, each with a lease of its own."""
    wanted = asks.resources
    if classes.launcher == "local":
        return max(1, len(os.sched_getaffinity(0)) // max(1, wanted.cpus))
    of_class = [row for row in (classes[name] for name in classes)
                if row.name == wanted.class_ or (not wanted.class_ and row.default)]
    limits = [row.running_jobs.most for row in of_class]
    if wanted.gpus:
        limits += [row.gpus.most // wanted.gpus for row in of_class if row.gpus.most is not None]
        limits += [sum(gpu.total for gpu in classes.gpus if wanted.gpu_type in ("", gpu.type)) // wanted.gpus]
    return max(1, min([limit for limit in limits if limit is not None], default=_UNBOUNDED))


def _name_of(items: Any) -> str:
    function = items[0][0]
    inner = getattr(function, "function", None)
    return str(getattr(function, "__name__", None) or getattr(inner, "__name__", type(function).__name__))


def _not_picklable(items: Any) -> NotPicklable | None:
    """The error in terms of the call, not of the batch that it is in."""
    for function, args, kwargs in items:
        name = _name_of([(function,)])
        parts = [(name, function), *((f"argument {n} of {name}", value) for n, value in enumerate(args)),
                 *((f"argument {word}= of {name}", value) for word, value in kwargs.items())]
        for path, value in parts:
            culprit = serialize.path_of_unpicklable(value, path)
            if culprit is not None:
                where, part, why = culprit
                return NotPicklable(f"{where} is a {type(part).__name__}, which cannot be pickled: {why}",
                                    context={"path": where})
    return None


if not nested_joblib.is_installed():
    register_parallel_backend("pounce", PounceBackend)
