"""``wait`` and ``as_completed`` over futures of this package."""

from __future__ import annotations

import concurrent.futures
import queue
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..._engine.outcome import Types, result_of
from ..._map.collections import Completed
from ...errors import BadRequest, Timeout
from .durations import seconds
from .future import Future, call_of, calls_of, flat


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
    if isinstance(timeout, Future):
        raise BadRequest("timeout= is a future", "wait takes the futures as one list: wait([x, y]).")
    futures = flat(fs)
    waited = concurrent.futures.wait(calls_of(futures), seconds(timeout), return_when)
    enough = not waited.not_done or (bool(waited.done) and return_when == "FIRST_COMPLETED") or (
        return_when == "FIRST_EXCEPTION"
        and any(call.cancelled() or call.exception() is not None for call in waited.done))
    if not enough:
        raise Timeout(f"{len(waited.not_done)} of the futures have not ended in time; they go on")
    done = {future for future in futures if call_of(future) in waited.done}
    return DoneAndNotDoneFutures(done, set(futures) - done)


class as_completed(Completed):
    """The futures in the order in which they end: iterate with ``for`` or ``async for``, which may block. ``add`` takes
    more during the iteration.

    Parameters
    ----------
    with_results : bool
        Yields pairs of future and result. The result of a cancelled call is its CancelledError.
    raise_errors : bool
        With results: raise what a call raised. False: the result of a call that failed is the triple of
        ``sys.exc_info()``.
    """

    def __init__(self, futures: Iterable[Future] | None = None, loop: Any = None, with_results: bool = False,
                 raise_errors: bool = True, *, timeout: Any = None):
        self._raise_errors = raise_errors
        super().__init__((), with_results, seconds(timeout))
        self.update(futures or ())

    def add(self, future: Any) -> None:
        if not isinstance(future, Future):
            raise TypeError(f"as_completed takes futures of pounce.compat.dask, not {future!r}")
        super().add(future)  # type: ignore[arg-type]  # it has the one method that this needs

    def update(self, futures: Iterable[Future]) -> None:
        for future in futures:
            self.add(future)

    def count(self) -> int:
        """How many are not returned yet, including those that have ended."""
        return self._left

    def is_empty(self) -> bool:
        return self._left == 0

    def has_ready(self) -> bool:
        return not self._ended.empty()

    def clear(self) -> None:
        """Forgets them all; their calls go on."""
        self._left, self._ended = 0, queue.SimpleQueue()

    def next_batch(self, block: bool = True) -> list[Any]:
        """All that have ended by now; with `block` at least one, if any remain."""
        batch = [next(self)] if block and self._left else []
        while self.has_ready():
            batch.append(next(self))
        return batch

    def batches(self) -> Iterator[list[Any]]:
        while self._left:
            yield self.next_batch()

    def _shown(self, future: Any, ambiguous: Types) -> Any:
        self._left -= 1
        return (future, self._result(future, ambiguous)) if self._with_results else future

    def _result(self, future: Future, ambiguous: Types) -> Any:
        if future.status == "cancelled":
            return _cancelled(future)
        if future.status == "error" and not self._raise_errors:
            error = future.exception()
            return type(error), error, error.__traceback__ if error is not None else None
        return result_of(call_of(future), ambiguous)

    def __repr__(self) -> str:
        done = self._ended.qsize()
        return f"<as_completed: waiting={self._left - done} done={done}>"


def _cancelled(future: Future) -> BaseException | None:
    try:
        return future.exception()
    except concurrent.futures.CancelledError as error:
        return error
