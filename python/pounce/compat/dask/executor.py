"""``ClientExecutor``: a client of this package as a ``concurrent.futures.Executor``, with Dask's keywords."""

from __future__ import annotations

import concurrent.futures
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...errors import NotPicklable
from ..call import Call, left_until
from .durations import seconds
from .future import Future, call_of
from .key import name_of

_KEYWORDS = frozenset(("pure", "workers", "resources", "retries", "priority", "fifo_timeout", "allow_other_workers",
                       "actor", "actors"))


class ClientExecutor(concurrent.futures.Executor):
    """Made by ``Client.get_executor``, with the keywords of ``Client.submit`` for all its calls.

    Raises
    ------
    TypeError
        Another keyword.
    """

    def __init__(self, client: Any, **keywords: Any):
        if unknown := sorted(keywords.keys() - _KEYWORDS):
            raise TypeError(f"unsupported arguments to ClientExecutor: {unknown}")
        self._client, self._keywords = client, keywords
        self._under_way: dict[Call, Future] = {}
        self._shut = False
        self._lock = threading.Lock()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Call:
        """As ``Client.submit``, whose keywords it takes too. Raises RuntimeError after ``shutdown``.

        What cannot be pickled is the exception of the future.
        """
        with self._lock:
            if self._shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
            try:
                future = self._client.submit(fn, *args, **{**self._keywords, **kwargs})
            except NotPicklable as error:
                return _failed(name_of(fn), error)
            call = Call(future.key, call_of(future).inner)  # two with one key are two futures
            self._under_way[call] = future
        call.add_done_callback(self._ended)
        return call

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], timeout: Any = None,
            chunksize: int = 1) -> Iterator[Any]:
        """Submits everything at once, yields in order. Leaving the iteration early ends the others. `chunksize` has no
        effect."""
        within = seconds(timeout)
        deadline = None if within is None else time.monotonic() + within
        return self._in_order([self.submit(fn, *row) for row in zip(*iterables, strict=False)], deadline)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Refuses further calls. `wait` blocks until the earlier ones have ended; without it they are ended, as by
        Dask's."""
        with self._lock:
            self._shut = True
            calls = dict(self._under_way)
        if cancel_futures or not wait:
            self._client.cancel(list(calls.values()))
        if wait:
            concurrent.futures.wait(calls)

    def _ended(self, call: Any) -> None:
        self._under_way.pop(call, None)

    def _in_order(self, calls: list[Call], deadline: float | None) -> Iterator[Any]:
        calls.reverse()  # popped when yielded, as the values are: nothing else keeps a result alive
        try:
            while calls:
                calls[-1].exception(left_until(deadline))
                yield calls.pop().result(0)
        finally:
            futures = [self._under_way.get(call) for call in calls]
            self._client.cancel([future for future in futures if future is not None])


def _failed(name: str, error: Exception) -> Call:
    call = Call(name, None)
    call.set_exception(error)
    return call
