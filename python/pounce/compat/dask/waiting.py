"""``wait`` and ``as_completed`` over futures of this package."""

from __future__ import annotations

import concurrent.futures
import queue
import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..._engine.outcome import OF_ITERATORS, result_of
from ...errors import Timeout
from .future import Future, call_of, calls_of, seconds


class DoneAndNotDoneFutures(NamedTuple):
    done: set[Future]
    not_done: set[Future]


def wait(fs: Any, timeout: Any = None, return_when: str = "ALL_COMPLETED") -> DoneAndNotDoneFutures:
    """Blocks until all have ended, or the first, or one has failed (``FIRST_COMPLETED``, ``FIRST_EXCEPTION``).

    Raises
    ------
    Timeout
        A ``TimeoutError``, as Dask's wait raises one; the calls go on.
    """
    futures = [fs] if isinstance(fs, Future) else list(fs)
    waited = concurrent.futures.wait(calls_of(futures), seconds(timeout), return_when)
    enough = not waited.not_done or (bool(waited.done) and return_when == "FIRST_COMPLETED") or (
        return_when == "FIRST_EXCEPTION"
        and any(call.cancelled() or call.exception() is not None for call in waited.done))
    if not enough:
        raise Timeout(f"{len(waited.not_done)} of the futures have not ended in time; they go on")
    done = {future for future in futures if call_of(future) in waited.done}
    return DoneAndNotDoneFutures(done, set(futures) - done)


class as_completed:
    """The futures in the order in which they end. ``add`` takes more during the iteration. Only iterating blocks."""

    def __init__(self, futures: Iterable[Future] | None = None, loop: Any = None, with_results: bool = False,
                 raise_errors: bool = True, *, timeout: Any = None):
        within = seconds(timeout)
        self._deadline = None if within is None else time.monotonic() + within
        self._with_results, self._raise_errors = with_results, raise_errors
        self._remaining = 0
        self._ended: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self.update(futures or ())

    def add(self, future: Future) -> None:
        self._remaining += 1
        future.add_done_callback(self._ended.put)

    def update(self, futures: Iterable[Future]) -> None:
        for future in futures:
            self.add(future)

    def count(self) -> int:
        """How many are not returned yet, including those that have ended."""
        return self._remaining

    def is_empty(self) -> bool:
        return self._remaining == 0

    def has_ready(self) -> bool:
        return not self._ended.empty()

    def clear(self) -> None:
        """Forgets them all; their calls go on."""
        self._remaining, self._ended = 0, queue.SimpleQueue()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._remaining == 0:
            raise StopIteration
        return self._shown(self._get(True))

    def next_batch(self, block: bool = True) -> list[Any]:
        """All that have ended by now; with `block` at least one, if any remain."""
        batch = [next(self)] if block and self._remaining else []
        while self.has_ready():
            batch.append(self._shown(self._get(False)))
        return batch

    def batches(self) -> Iterator[list[Any]]:
        while self._remaining:
            yield self.next_batch()

    def _get(self, block: bool) -> Future:
        seconds_left = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
        try:
            return self._ended.get(block, seconds_left)
        except queue.Empty:
            raise Timeout(f"{self._remaining} of the futures have not ended in time; they go on") from None

    def _shown(self, future: Future) -> Any:
        self._remaining -= 1
        if not self._with_results:
            return future
        if self._raise_errors:
            return future, result_of(call_of(future), OF_ITERATORS)
        return future, future.result() if future.status == "finished" else self._failure(future)

    @staticmethod
    def _failure(future: Future) -> BaseException | None:
        try:
            return future.exception()
        except concurrent.futures.CancelledError as error:
            return error
