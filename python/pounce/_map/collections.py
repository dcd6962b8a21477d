"""Several calls at once: their results together, in the order in which they end, or as a stream over an iterable."""

from __future__ import annotations

import collections
import concurrent.futures
import math
import queue
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, NoReturn, Protocol, TypeAlias

from .. import errors
from .._common import task_end
from .._common.random_streams import Streams, for_each
from .._common.submitted_functions import for_each_item
from .._engine import seeds
from .._engine.outcome import OF_ITERATORS, Types, awaitable, carried, of_async_iterators, of_coroutines, result_of
from .chunk_size import next_size

_CHUNKS_AHEAD = 4  # for each worker: one runs, the others are on their way

Future: TypeAlias = "concurrent.futures.Future[Any]"
Rows: TypeAlias = "list[tuple[Any, ...]]"  # the arguments of each item of a chunk
# What a chunk needs for its random numbers: the streams that its items' are derived from, and its first item's number.
Draws: TypeAlias = "tuple[Streams | None, int]"
# Seconds, the values up to the first failure, that failure.
Outcome: TypeAlias = "tuple[float, list[Any], BaseException | None]"

NO_DRAWS: Draws = (None, 0)


class Submits(Protocol):
    """A client, or a view of one."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any: ...

    def cancel(self, futures: Any) -> None: ...


def gather(futures: Any, skip: bool, timeout: float | None) -> Any:
    """The results in the shape of `futures`: a list for a list or a map, a dict for a dict, a value for one future."""
    return _gathered(futures, skip, math.inf if timeout is None else time.monotonic() + timeout)


def _gathered(futures: Any, skip: bool, deadline: float) -> Any:
    if isinstance(futures, concurrent.futures.Future):
        return futures.result(_left_until(deadline))
    if isinstance(futures, dict):
        return {key: _gathered(one, skip, deadline) for key, one in futures.items()
                if not (skip and _failed(one, deadline))}
    if isinstance(futures, Results):
        return futures.remaining(skip, deadline)
    if isinstance(futures, (list, tuple, set, frozenset)):
        kind = next(kind for kind in (list, tuple, set, frozenset) if isinstance(futures, kind))
        # Not a generator: Python turns a StopIteration that passes through one into a RuntimeError.
        return kind([_gathered(one, skip, deadline) for one in futures if not (skip and _failed(one, deadline))])
    return futures


async def gather_async(futures: Any, skip: bool, timeout: float | None) -> Any:
    """As `gather`; the event loop is free meanwhile. The first failure is raised when it comes."""
    import asyncio

    deadline = math.inf if timeout is None else time.monotonic() + timeout
    waiting = [awaitable(one) for one in _each(futures, concurrent.futures.Future)]
    if waiting:
        until = asyncio.ALL_COMPLETED if skip else asyncio.FIRST_EXCEPTION
        done, late = await asyncio.wait(waiting, timeout=timeout, return_when=until)
        failed = [one for one in done if one.cancelled() or one.exception() is not None]
        if failed and not skip:
            await failed[0]
        if late:
            raise errors.Timeout(f"{len(late)} of the futures have not ended in time; they go on")
    for results in _each(futures, Results):
        await results.come(skip, deadline)
    try:
        return gather(futures, skip, 0)
    except of_coroutines() as error:
        raise carried(error, of_coroutines()) from error


def _each(futures: Any, kind: type) -> Iterator[Any]:
    if isinstance(futures, kind):
        yield futures
    elif isinstance(futures, (dict, list, tuple, set, frozenset)):
        for one in futures.values() if isinstance(futures, dict) else futures:
            yield from _each(one, kind)


def _failed(future: Any, deadline: float) -> bool:
    return isinstance(future, concurrent.futures.Future) and _failure(future, deadline) is not None


def _failure(future: Any, deadline: float) -> BaseException | None:
    try:
        return future.exception(_left_until(deadline))
    except concurrent.futures.CancelledError as cancelled:
        return cancelled


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
        """One more; allowed during an iteration."""
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
        return self._shown(future, OF_ITERATORS)

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
                    future = self._ended.get_nowait()
                except queue.Empty:
                    pass
                else:
                    return self._shown(future, of_async_iterators())
                try:
                    await asyncio.wait_for(came.wait(), _left_until(self._deadline))
                except (TimeoutError, asyncio.TimeoutError):
                    raise self._too_late() from None
        finally:
            self._wake = None

    def _too_late(self) -> errors.Timeout:
        return errors.Timeout(f"{self._left} of the futures have not ended in time; they go on")

    def _shown(self, future: Future, ambiguous: Types) -> Any:
        self._left -= 1
        return (future, result_of(future, ambiguous)) if self._with_results else future


class Results:
    """The results of ``map``, in order, computed as they are consumed. Iterate with ``for`` or ``async for``.

    The input is read a few chunks ahead of the output: an endless one is fine, and memory stays small.
    """

    def __init__(self, client: Submits, function: Callable[..., Any], rows: Iterator[tuple[Any, ...]],
                 chunksize: int | None, timeout: float | None, count: int, expect: Callable[[int], int]):
        self._client, self._run, self._rows = client, _of_rows(function), rows
        self._streams = seeds.of_call(function)  # the items' streams are derived from these
        self._size = chunksize or 1
        self._adapts = chunksize is None
        self._deadline = math.inf if timeout is None else time.monotonic() + timeout
        self._ahead: collections.deque[tuple[Future, Rows, int]] = collections.deque()  # with the first item's number
        self._items = 0  # submitted so far
        self._ready: collections.deque[Any] = collections.deque()
        self._exhausted = False
        self._broken: BaseException | None = None  # what the input raised: raised after the results before it
        self._expect_tasks = expect
        self._count = count  # of rows that have not been read, as far as known
        self._expected = 0   # chunks that were announced to the client
        self._fill()

    def _fill(self) -> None:
        ahead = _CHUNKS_AHEAD * max(1, self._expect(math.ceil(self._count / self._size)))
        while not self._exhausted and len(self._ahead) < ahead:
            chunk = self._next_chunk()
            if chunk:
                self._count = max(0, self._count - len(chunk))
                with seeds.given(None):
                    self._ahead.append((self._submit(chunk, self._items), chunk, self._items))
                self._items += len(chunk)

    def _next_chunk(self) -> Rows:
        chunk = []
        try:
            for row in self._rows:
                chunk.append(row)
                if len(chunk) == self._size:
                    return chunk
        except Exception as problem:
            self._broken = problem
        self._exhausted = True
        return chunk

    def _submit(self, chunk: Rows, first: int) -> Future:
        return self._client.submit(self._run, chunk, *self._draws(first))

    def _draws(self, first: int) -> tuple[Draws, ...]:
        """The arguments for the random numbers of the chunk whose first item has the number `first`."""
        return () if self._streams is None else ((self._streams, first),)

    def _outcome(self, future: Future) -> Outcome:
        """The outcome of a chunk that did not fail as a whole."""
        return future.result()

    def _expect(self, chunks: int) -> int:
        """Announces chunks that are still to be read: a pool grows for them too. Returns the number of workers."""
        more, self._expected = chunks - self._expected, chunks
        return self._expect_tasks(more)

    def _receive(self, deadline: float, skip: bool = False) -> None:
        """Takes the results of the next chunk; with `skip` without failed items."""
        future, rows, first = self._ahead[0]
        failure = _failure(future, min(deadline, self._deadline))
        seconds, values, error = self._outcome(future) if failure is None else (math.inf, [], failure)
        self._ahead.popleft()
        if self._adapts and failure is None:
            self._size = next_size(self._size, len(rows), seconds)
        self._ready.extend(values)
        if error is None:
            self._fill()
        elif skip:
            self._go_on(rows[len(values) + 1 :], first + len(values) + 1, error)
        else:
            self._ready.append(Raised(error))
            self._cancel()

    def _go_on(self, rows: Rows, first: int, error: BaseException) -> None:
        """Sends the items after a failed one. None if the worker was lost: which of them ran is unknown then."""
        lost = isinstance(error, errors.PounceError) and not isinstance(error, errors.TaskRaised)
        if rows and not lost:
            with seeds.given(None):
                self._ahead.appendleft((self._client.submit(self._run, rows, *self._draws(first)), rows, first))
        else:
            self._fill()

    def remaining(self, skip: bool, deadline: float) -> list[Any]:
        """All results that are still to come. A Timeout loses none: the call can be repeated."""
        while self._ahead:
            self._receive(deadline, skip)
        values = []
        while self._ready:
            value = self._ready.popleft()
            if not isinstance(value, Raised):
                values.append(value)
            elif not skip:
                value.again()
        self._end()
        return values

    def _end(self) -> None:
        """After the last result: raises what the input raised."""
        broken, self._broken = self._broken, None
        if broken is not None:
            raise broken

    async def come(self, skip: bool, deadline: float) -> None:
        """Waits until `remaining` need not."""
        while self._ahead:
            await self._next_has_come(deadline)
            self._receive(0.0, skip)

    async def _next_has_come(self, deadline: float) -> None:
        import asyncio

        future, _, _ = self._ahead[0]
        await asyncio.wait([awaitable(future)], timeout=_left_until(min(deadline, self._deadline)))

    def _cancel(self) -> None:
        self._exhausted, self._broken = True, None
        if self._expected:
            self._expect(0)
        for future, _, _ in self._ahead:
            if not future.done():
                self._client.cancel(future)
        self._ahead.clear()

    def close(self) -> None:
        """Cancels what was sent ahead. An abandoned iteration does this when it is garbage-collected."""
        self._cancel()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        while not self._ready:
            if not self._ahead:
                self._end()
                raise StopIteration
            self._receive(math.inf)
        return self._next_ready(OF_ITERATORS)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        while not self._ready:
            if not self._ahead:
                self._end()
                raise StopAsyncIteration
            await self._next_has_come(math.inf)
            self._receive(0.0)
        return self._next_ready(of_async_iterators())

    def _next_ready(self, ambiguous: Types) -> Any:
        value = self._ready.popleft()
        if not isinstance(value, Raised):
            return value
        try:
            value.again(ambiguous)
        finally:
            del value  # its error's traceback holds this frame

    def __del__(self) -> None:
        if getattr(self, "_ahead", None):
            self._cancel()


def _of_rows(function: Callable[..., Any]) -> Callable[..., Outcome]:
    def run_rows(rows: Rows, draws: Draws = NO_DRAWS) -> Outcome:
        return run_chunk(function, rows, draws)

    return run_rows


def run_chunk(function: Callable[..., Any], rows: Rows, draws: Draws = NO_DRAWS) -> Outcome:
    """On the worker: (seconds, the values up to the first failure, that failure)."""
    next_stream = for_each(*draws)
    start, values = time.monotonic(), []
    original = for_each_item(function) if len(rows) > 1 else lambda: function
    for row in rows:
        next_stream()
        try:
            values.append(original()(*row))
        except BaseException as error:
            if not values or (isinstance(error, KeyboardInterrupt) and task_end.is_to_end()):
                raise  # fails the chunk as any task fails
            return time.monotonic() - start, values, _travelling(error)
    return time.monotonic() - start, values, None


def _travelling(error: BaseException) -> Any:
    from .._common import exceptions, traceback_lines

    trace = traceback_lines.below(error.__traceback__, "pounce") or error.__traceback__
    return exceptions.Travelling(error.with_traceback(trace))


class Raised:
    """An item's failure, in its place."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException):
        self.error = error

    def again(self, ambiguous: Types = ()) -> NoReturn:
        try:
            raise carried(self.error, ambiguous)
        finally:
            del self  # its error's traceback holds this frame
