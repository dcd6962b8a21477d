"""``Executor``: a client as the standard library's executors are, for programs that know only those."""

from __future__ import annotations

import concurrent.futures
import itertools
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .client import Client
    from .future import Future
    from .view import View


class Executor(concurrent.futures.Executor):
    """Runs calls on a client's workers. Made by ``Client.get_executor``; shutting it down leaves the client open."""

    def __init__(self, client: Client | View):
        self._client = client
        self._futures: weakref.WeakSet[Future] = weakref.WeakSet()
        self._shut = False
        self._lock = threading.Lock()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """As ``Client.submit``. Raises RuntimeError after ``shutdown``."""
        with self._lock:
            if self._shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
            future = self._client.submit(_call, fn, args, kwargs) if _takes_our_names(kwargs) else self._client.submit(fn, *args, **kwargs)
            self._futures.add(future)
        return future

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], timeout: float | None = None, chunksize: int = 1) -> Iterator[Any]:
        """As the standard library's: submits everything at once, yields in order; `chunksize` items travel together.

        ``Client.map`` is the lazy one.
        """
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        deadline = None if timeout is None else time.monotonic() + timeout
        rows = zip(*iterables, strict=False)
        chunks = iter(lambda: list(itertools.islice(rows, chunksize)), [])
        futures = [self.submit(_call_each, fn, chunk) for chunk in chunks]
        return _in_order(futures, deadline)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """No more calls. `wait` blocks until those that were made have ended; `cancel_futures` cancels what has not started."""
        with self._lock:
            self._shut = True
            futures = list(self._futures)
        if cancel_futures:
            for future in futures:
                future.cancel()
        if wait:
            concurrent.futures.wait(futures)


def _takes_our_names(kwargs: dict[str, Any]) -> bool:
    """pure= and retries= are the client's; here they are the function's own."""
    return bool(kwargs.keys() & {"pure", "retries"})


def _call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return fn(*args, **kwargs)


def _call_each(fn: Callable[..., Any], rows: list[tuple[Any, ...]]) -> list[Any]:
    return [fn(*row) for row in rows]


def _in_order(futures: list[Future], deadline: float | None) -> Iterator[Any]:
    futures.reverse()  # popped when yielded: nothing else keeps a result alive
    try:
        while futures:
            remaining = None if deadline is None else deadline - time.monotonic()
            yield from futures.pop().result(remaining)
    finally:
        for future in futures:
            future.cancel()
