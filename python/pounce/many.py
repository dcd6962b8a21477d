"""Several calls at once: their results in one piece, in the order in which they end, or as a stream over any iterable."""

from __future__ import annotations

import collections
import concurrent.futures
import math
import queue
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from . import errors

if TYPE_CHECKING:
    from .client import Client
    from .future import Future
    from .view import View

_CHUNK_S = 0.05           # a chunk is to take this long: its overhead is 1 % then, and ■ is answered soon
_CHUNK_MOST = 4096
_CHUNKS_AHEAD = 4         # for each worker: one runs, the others are on their way


def gather(futures: Any, skip: bool, timeout: float | None) -> Any:
    """The results, in the shape of the question: a list for a list, a dict for a dict, a value for one future."""
    return _gathered(futures, skip, math.inf if timeout is None else time.monotonic() + timeout)


def _gathered(futures: Any, skip: bool, deadline: float) -> Any:
    if isinstance(futures, concurrent.futures.Future):
        return futures.result(_left_until(deadline))
    if isinstance(futures, dict):
        return {key: _gathered(one, skip, deadline) for key, one in futures.items() if not (skip and _failed(one, deadline))}
    if isinstance(futures, (list, tuple, set, frozenset)):
        kind = tuple if isinstance(futures, tuple) else list
        return kind(_gathered(one, skip, deadline) for one in futures if not (skip and _failed(one, deadline)))
    return futures


async def gather_async(futures: Any, skip: bool, timeout: float | None) -> Any:
    """As `gather`; the event loop is free meanwhile. The first failure is raised when it comes."""
    import asyncio

    waiting = [asyncio.wrap_future(one) for one in _each(futures)]
    if waiting:
        until = asyncio.ALL_COMPLETED if skip else asyncio.FIRST_EXCEPTION
        done, late = await asyncio.wait(waiting, timeout=timeout, return_when=until)
        failed = [one for one in done if one.cancelled() or one.exception() is not None]
        if failed and not skip:
            await failed[0]
        if late:
            raise errors.Timeout(f"{len(late)} of the futures have not ended in time; they go on")
    return gather(futures, skip, 0)


def _each(futures: Any) -> Iterator[Future]:
    if isinstance(futures, concurrent.futures.Future):
        yield futures  # type: ignore[misc]
    elif isinstance(futures, (dict, list, tuple, set, frozenset)):
        for one in futures.values() if isinstance(futures, dict) else futures:
            yield from _each(one)


def _failed(future: Any, deadline: float) -> bool:
    if not isinstance(future, concurrent.futures.Future):
        return False
    try:
        return future.exception(_left_until(deadline)) is not None
    except concurrent.futures.CancelledError:
        return True


def _left_until(deadline: float) -> float | None:
    return None if deadline == math.inf else max(0.0, deadline - time.monotonic())


class Completed:
    """Futures in the order in which they end: iterate with ``for`` or ``async for``. Made by ``as_completed``."""

    def __init__(self, futures: Iterable[Future], with_results: bool, timeout: float | None):
        self._left = 0
        self._ended: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._with_results = with_results
        self._deadline = math.inf if timeout is None else time.monotonic() + timeout
        self._wake: Callable[[], object] | None = None
        for future in futures:
            self.add(future)

    def add(self, future: Future) -> None:
        """One more, also while somebody iterates."""
        self._left += 1
        future.add_done_callback(self._put)

    def _put(self, future: Any) -> None:
        self._ended.put(future)
        wake = self._wake
        if wake is not None:
            wake()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._left == 0:
            raise StopIteration
        try:
            future = self._ended.get(timeout=_left_until(self._deadline))
        except queue.Empty:
            raise self._too_late() from None
        return self._shown(future)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        if self._left == 0:
            raise StopAsyncIteration
        import asyncio

        loop, came = asyncio.get_running_loop(), asyncio.Event()
        self._wake = lambda: loop.call_soon_threadsafe(came.set)
        try:
            while True:
                came.clear()
                try:
                    return self._shown(self._ended.get_nowait())
                except queue.Empty:
                    pass
                try:
                    await asyncio.wait_for(came.wait(), _left_until(self._deadline))
                except (TimeoutError, asyncio.TimeoutError):
                    raise self._too_late() from None
        finally:
            self._wake = None

    def _too_late(self) -> errors.Timeout:
        return errors.Timeout(f"{self._left} of the futures have not ended in time; they go on")

    def _shown(self, future: Future) -> Any:
        self._left -= 1
        return (future, future.result()) if self._with_results else future


class Results:
    """The results of ``map``, in order, made while they are asked for. Iterate with ``for`` or ``async for``.

    The input is read a few chunks ahead of the output: an endless one is fine, and memory stays small.
    """

    def __init__(self, client: Client | View, function: Callable[..., Any], rows: Iterator[tuple[Any, ...]],
                 chunksize: int | None, timeout: float | None):
        self._client, self._run, self._rows = client, _of_rows(function), rows
        self._size = chunksize or 1
        self._grows = chunksize is None
        self._deadline = math.inf if timeout is None else time.monotonic() + timeout
        self._ahead: collections.deque[Future] = collections.deque()
        self._ready: collections.deque[Any] = collections.deque()
        self._exhausted = False
        self._fill()

    def _fill(self) -> None:
        while not self._exhausted and len(self._ahead) < _CHUNKS_AHEAD:
            chunk = []
            for row in self._rows:
                chunk.append(row)
                if len(chunk) == self._size:
                    break
            else:
                self._exhausted = True
            if chunk:
                self._ahead.append(self._client.submit(self._run, chunk))

    def _take(self, future: Future, took: tuple[float, list[Any], BaseException | None]) -> None:
        seconds, values, error = took
        if self._grows and seconds < _CHUNK_S / 2:
            self._size = min(_CHUNK_MOST, self._size * 2)
        self._ready.extend(values)
        if error is not None:
            self._ready.append(_Raise(error))
            self._cancel()
        else:
            self._fill()

    def _cancel(self) -> None:
        self._exhausted = True
        for future in self._ahead:
            self._client.cancel(future)
        self._ahead.clear()

    def close(self) -> None:
        """Cancels what was sent ahead. An iteration that is left early does this by itself when it is collected."""
        self._cancel()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        while not self._ready:
            if not self._ahead:
                raise StopIteration
            future = self._ahead[0]
            took = future.result(_left_until(self._deadline))
            self._ahead.popleft()
            self._take(future, took)
        return self._next_ready()

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        import asyncio

        while not self._ready:
            if not self._ahead:
                raise StopAsyncIteration
            future = self._ahead[0]
            await asyncio.wait([asyncio.wrap_future(future)], timeout=_left_until(self._deadline))
            took = future.result(0)
            self._ahead.popleft()
            self._take(future, took)
        return self._next_ready()

    def _next_ready(self) -> Any:
        value = self._ready.popleft()
        if isinstance(value, _Raise):
            raise value.error
        return value

    def __del__(self) -> None:
        if getattr(self, "_ahead", None):
            self._cancel()


def _of_rows(function: Callable[..., Any]) -> Callable[[list[tuple[Any, ...]]], tuple[float, list[Any], BaseException | None]]:
    def run_rows(rows: list[tuple[Any, ...]]) -> tuple[float, list[Any], BaseException | None]:
        return run_chunk(function, rows)

    return run_rows


def run_chunk(function: Callable[..., Any], rows: list[tuple[Any, ...]]) -> tuple[float, list[Any], BaseException | None]:
    """On the worker: (seconds, the values up to the first failure, that failure)."""
    start, values = time.monotonic(), []
    for row in rows:
        try:
            values.append(function(*row))
        except Exception as error:
            if not values:
                raise  # as any task's
            return time.monotonic() - start, values, _portable(error)
    return time.monotonic() - start, values, None


def _portable(error: Exception) -> Exception:
    import cloudpickle
    from tblib import pickling_support

    try:
        pickling_support.install(error)
        cloudpickle.dumps(error)
        return error
    except Exception:
        return errors.TaskRaised(f"{type(error).__name__}: {error}")


class _Raise:
    __slots__ = ("error",)

    def __init__(self, error: BaseException):
        self.error = error
