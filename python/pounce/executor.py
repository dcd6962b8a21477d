"""``Executor``: a client as the standard library's executors are, for programs that know only those."""

from __future__ import annotations

import concurrent.futures
import contextlib
import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ._common.random_streams import Streams, for_each
from ._common.submitted_functions import for_each_item
from ._engine import seeds
from .errors import NotPicklable, public

if TYPE_CHECKING:  # workers import this module too
    from ._map.collections import Submits
    from .future import Future


_under_way: set[Future] = set()  # of all executors
_exiting = False


def _finish() -> None:
    """At the program's end waits for what was submitted, as the standard library's executors do, and refuses more."""
    global _exiting
    _exiting = True
    for future in list(_under_way):
        with contextlib.suppress(concurrent.futures.CancelledError):
            future.exception()


try:
    # Before the exit handlers, which close the clients.
    threading._register_atexit(_finish)  # type: ignore[attr-defined]
except RuntimeError:
    _exiting = True
os.register_at_fork(after_in_child=_under_way.clear)  # they are the parent's


@public
class Executor(concurrent.futures.Executor):
    """Runs calls on a client's workers. Made by ``Client.get_executor``; shutting it down leaves the client open.

    A program that ends while calls are under way waits for them, unless their client was closed.
    """

    def __init__(self, client: Submits, failed: Callable[[Callable[..., Any], Exception], Future]):
        self._client = client
        self._failed = failed  # makes a future of a call that was not sent
        self._futures: weakref.WeakSet[Future] = weakref.WeakSet()
        self._shut = False
        self._lock = threading.Lock()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """As ``Client.submit``. Raises RuntimeError after ``shutdown``, and once the interpreter is shutting down.

        What cannot be pickled is the exception of the future: a ``NotPicklable``, which is a ``pickle.PicklingError``.
        """
        with self._lock:
            if self._shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if _exiting:
                raise RuntimeError("cannot schedule new futures after interpreter shutdown")
            try:
                if kwargs.keys() & {"pure", "retries"}:  # the client's own keywords; here they are the function's
                    future = self._client.submit(_call, fn, args, kwargs)
                else:
                    future = self._client.submit(fn, *args, **kwargs)
            except NotPicklable as error:
                return self._failed(fn, error)
            self._futures.add(future)
        _under_way.add(future)
        future.add_done_callback(_under_way.discard)
        return future

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], timeout: float | None = None,
            chunksize: int = 1) -> Iterator[Any]:
        """As the standard library's: submits everything at once, yields in order; `chunksize` items travel together.

        ``Client.map`` is the lazy one.
        """
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        deadline = None if timeout is None else time.monotonic() + timeout
        rows = zip(*iterables, strict=False)
        chunks = iter(lambda: list(itertools.islice(rows, chunksize)), [])
        streams = seeds.of_call(fn)
        with seeds.given(None):
            if streams is None:
                futures = [self.submit(_call_each, fn, chunk) for chunk in chunks]
            else:
                futures = [self.submit(_call_each, fn, chunk, streams, n * chunksize) for n, chunk in enumerate(chunks)]
        return _in_order(futures, deadline)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Refuses further calls. `wait` blocks until the earlier ones have ended; `cancel_futures` cancels those that
        have not started, also those that a worker has already (their end comes a moment later).
        """
        with self._lock:
            self._shut = True
            futures = list(self._futures)
        if cancel_futures:
            from .future import cancel_if_queued

            for future in futures:
                cancel_if_queued(future)
        if wait:
            concurrent.futures.wait(futures)


def _call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return fn(*args, **kwargs)


def _call_each(fn: Callable[..., Any], rows: list[tuple[Any, ...]], streams: Streams | None = None,
               first: int = 0) -> list[Any]:
    function, next_stream = for_each_item(fn), for_each(streams, first)
    values = []
    for row in rows:
        next_stream()
        values.append(function()(*row))
    return values


def _in_order(futures: list[Future], deadline: float | None) -> Iterator[Any]:
    futures.reverse()  # popped when yielded, as the values are: nothing else keeps a result alive
    try:
        while futures:
            remaining = None if deadline is None else deadline - time.monotonic()
            values = futures.pop().result(remaining)
            values.reverse()
            while values:
                yield values.pop()
    finally:
        for future in futures:
            future.cancel()
