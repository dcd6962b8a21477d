"""``Future`` with Dask's interface: a value that is computed on a worker, or was scattered, under a key."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Generator
from typing import Any

from ... import Ref
from ..._engine.outcome import awaitable
from ...errors import BadRequest
from .. import not_offered
from ..call import Call, cancelled_call
from .durations import seconds

_INSTEAD = {
    "retry": "Submit it again; submit(retries=) allows more runs.",
    "executor": "Client.get_executor() makes one.",
    "bind_client": "A future belongs to the client that made it.",
}


class Future:
    """Made by ``Client.submit``, ``map`` and ``scatter``. Any thread may use it; it can be awaited.

    A call goes on after its future is dropped: stop it with ``cancel()``.
    """

    def __init__(self, key: str, call: Call, client: Any, stop: Callable[[list[Call]], None], ref: Ref | None = None):
        self.key, self.client = key, client
        self._call, self._stop, self._ref = call, stop, ref

    @property
    def status(self) -> str:
        """``"pending"``, ``"finished"``, ``"error"`` or ``"cancelled"``. Does not block."""
        if not self._call.done():
            return "pending"
        if self._call.cancelled():
            return "cancelled"
        return "finished" if self._call.exception() is None else "error"

    def done(self) -> bool:
        return self._call.done()

    def cancelled(self) -> bool:
        return self._call.cancelled()

    def result(self, timeout: Any = None) -> Any:
        """Waits for its end and returns what the function returned.

        Parameters
        ----------
        timeout : float (seconds), timedelta or str such as "10s", optional

        Raises
        ------
        Exception
            What the function raised, of its own type.
        Timeout
            A ``TimeoutError``; the call goes on.
        Cancelled
            A ``concurrent.futures.CancelledError``.
        WorkerCrashed, OutOfMemory, WalltimeReached, ...
            In place of Dask's KilledWorker: why the worker is gone.
        """
        error = None
        try:
            error = self._call.exception(seconds(timeout))
            if error is not None:
                raise error  # from here, so that a traceback is short
            return self._call.result(0)
        finally:
            del self, error  # a traceback that ends here would hold them

    def exception(self, timeout: Any = None) -> BaseException | None:
        """Waits like ``result`` and returns what it would raise, or None."""
        return self._call.exception(seconds(timeout))

    def traceback(self, timeout: Any = None) -> Any:
        """The traceback of ``exception()``, with the worker's lines; None: there is none. Blocks likewise."""
        error = self.exception(timeout)
        return None if error is None else error.__traceback__

    @property
    def type(self) -> type | None:
        """The type of the result; None: there is none."""
        return type(self._call.result()) if self.status == "finished" else None

    def add_done_callback(self, fn: Callable[[Future], Any]) -> None:
        """Calls `fn` with this future when it has ended or was cancelled, on one of pounce's threads."""
        self._call.add_done_callback(lambda _: fn(self))

    def cancel(self, reason: str | None = None, msg: str | None = None) -> None:
        """Ends the call and drops its result, also one that is there already. Does not block.

        From now on the status is ``"cancelled"``. A running call is interrupted (KeyboardInterrupt), which Dask does
        not do.
        """
        self._stop([self._call])
        self._call = cancelled_call(self.key)

    def release(self) -> None:
        """The same call is a new one from now on. The result lives as long as its future."""
        self.client.forget(self)

    def __await__(self) -> Generator[Any, None, Any]:
        return (yield from awaitable(self._call))

    def __getattr__(self, name: str) -> Any:
        not_offered.name_of_object("Future", name, _INSTEAD)

    def __reduce__(self) -> Any:
        """As an argument of a call, at any depth, it arrives as its value."""
        reduced: Any = value_of(self).__reduce__()
        return reduced

    def __repr__(self) -> str:
        kind = self.type
        of_type = "" if kind is None else f"type: {kind.__module__}.{kind.__qualname__}, "
        return f"<Future: {self.status}, {of_type}key: {self.key}>"


def call_of(future: Future) -> Call:
    """For the modules of this package."""
    return future._call


def value_of(future: Future) -> Any:
    """What replaces it as an argument of a call, likewise. Raises ``Cancelled`` if its result was dropped."""
    if future._call.inner is None and future._call.cancelled():
        future._call.result(0)
    return future._call.inner if future._ref is None else future._ref


def calls_of(futures: Any) -> list[Call]:
    """The calls of one future, or of several, likewise."""
    return [call_of(future) for future in flat(futures)]


def flat(futures: Any) -> list[Future]:
    """One future, or several, or those in the graph of a collection of Dask's, as a list."""
    if isinstance(futures, Future):
        return [futures]
    if hasattr(futures, "__dask_graph__"):
        return [each for each in dict(futures.__dask_graph__()).values() if isinstance(each, Future)]
    if isinstance(futures, concurrent.futures.Future):
        raise BadRequest("this is a future of pounce itself, not of pounce.compat.dask",
                         "Give it to pounce.Client's own functions.")
    return [future for one in futures for future in flat(one)]
