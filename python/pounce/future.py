"""``Future``: the result of a task, later."""

from __future__ import annotations

import concurrent.futures
import contextlib
import time
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from . import errors, serialize

if TYPE_CHECKING:
    from ._session import Session
    from .waiting import Wait

_PARTS = ("queue", "boot", "send", "run", "receive")


class Future(concurrent.futures.Future):  # type: ignore[type-arg]
    """The result of one task. Made by ``Client.submit``.

    A ``concurrent.futures.Future``: ``as_completed``, ``wait``, ``add_done_callback`` and ``asyncio.wrap_future`` work, and
    it can be awaited. Any thread may use it. The thread that waits in ``result()`` does the network work itself, shows
    the task's output as it comes and one status line as long as there is no worker; stopping it (■, Ctrl-C) cancels the
    task.
    """

    def __init__(self, session: Session, task: bytes, name: str):
        super().__init__()
        self._session = session
        self._task = task
        self._name = name
        self._over = False  # as done(), without its lock
        self._timings: tuple[int, ...] | None = None
        self._why_cancelled: errors.PounceError | None = None

    # ---- waiting ----

    def result(self, timeout: float | None = None) -> Any:
        """Waits for the task's end and returns what the function returned.

        Arrays are writable and the caller's own: nothing else uses their memory.

        Parameters
        ----------
        timeout : float, seconds, optional
            How long to wait at most; the task goes on when it is over. None: as long as it takes.

        Raises
        ------
        Exception
            What the function raised, of its own type, with the remote traceback; a note names node and device.
        Timeout
            The task has not ended within `timeout`. A ``TimeoutError``.
        Cancelled
            It was cancelled. A ``concurrent.futures.CancelledError``.
        WorkerCrashed, OutOfMemory, JobCancelled, WalltimeReached, NodeFailed, LostError, ...
            It was lost; ``context`` has the evidence.

        Examples
        --------
        >>> client.submit(pow, 2, 10).result(timeout=60)
        1024
        """
        if not self._over and not self.done():
            self._wait(timeout)
        try:
            return super().result(0)
        except concurrent.futures.CancelledError:
            raise self._cancelled() from None

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Waits like ``result`` and returns what it would raise, or None. Blocks; may be called from any thread."""
        if not self._over and not self.done():
            self._wait(timeout)
        try:
            return super().exception(0)
        except concurrent.futures.CancelledError:
            raise self._cancelled() from None

    def __await__(self) -> Generator[Any, None, Any]:
        """In a coroutine: ``await future``. The event loop is free meanwhile; cancelling the await ends the task, also one that runs."""
        import asyncio

        try:
            return (yield from asyncio.wrap_future(self))
        except asyncio.CancelledError:
            if not self.done():
                self._session.cancel(self)
            raise

    # ---- asking ----

    def running(self) -> bool:
        """True while the function runs on a worker. Does not block."""
        return not self.done() and self._session.state(self) == "running"

    def why(self) -> Wait | None:
        """Why it waits: the reason in words, the limit with its numbers, how many go first, when Slurm expects it to start.

        Does not block: it is what pounced last told.

        Returns
        -------
        Wait or None
            None: it does not wait, it runs or has ended.

        Examples
        --------
        >>> future = client.submit(pow, 2, 10)
        >>> future.result(), future.why()
        (1024, None)
        """
        return None if self.done() else self._session.why(self)

    def cancel(self) -> bool:
        """Cancels the task if it has not been sent to a worker; returns whether it is cancelled. Does not block.

        ``Client.cancel`` also interrupts one that runs.
        """
        if not self.done() and self._session.state(self) == "waiting":
            self._session.cancel(self)
        return self.cancelled()

    def timings(self) -> dict[str, float]:
        """Where the time of the call went, in seconds, each part measured on its own.

        Returns
        -------
        dict
            ``queue`` (until the lease's job ran, and for a free worker), ``boot`` (from the job's start until its Python
            could be talked to), ``send`` (until the function's first line), ``run`` (on the worker's own clock) and
            ``receive`` (until the result was here and unpickled). The worker's clock is mapped to ours by the quickest of
            several round trips.

        Raises
        ------
        BadRequest
            The task has not ended, or ended without an outcome from a worker.
        """
        if not self.done():
            raise errors.BadRequest(f"{self._name} has not ended yet", "Ask for timings after result().")
        if self._timings is None:
            raise errors.BadRequest(f"{self._name} ended without having run to its end", "Look at exception() instead.")
        return {part: ns / 1e9 for part, ns in zip(_PARTS, self._timings, strict=True)}

    def __repr__(self) -> str:
        if not self.done():
            state = self._session.state(self) or "ending"
        elif self.cancelled():
            state = "cancelled"
        else:
            error = super().exception(0)
            state = "done" if error is None else f"failed: {type(error).__name__}"
        return f"<pounce.Future {self._name} {state}>"

    # ---- the session's ----

    def _wait(self, timeout: float | None) -> None:
        self._session.wait(self, timeout)

    def _end(self, ok: bool, error: tuple[Any, ...] | None, raised: bool, pickle: Any, buffers: list[Any], stamps: tuple[int, ...]) -> None:
        """Its end has come: unpickles it and sets the result, whichever thread that happens on."""
        if error is not None and error[0] == "cancelled":
            self._why_cancelled = errors.make(*error)
            super().cancel()
            super().set_running_or_notify_cancel()
            self._over = True
            return
        value: Any = None
        failure: BaseException | None = None
        try:
            if ok:
                value = serialize.loads(pickle, buffers)
            else:
                assert error is not None
                failure = _raised(pickle, error) if raised else errors.make(*error)
        except BaseException as problem:
            failure = errors.TaskRaised(
                f"the result of {self._name} could not be unpickled here: {type(problem).__name__}: {problem}",
                "Import what it needs in this notebook too, or return plain data.",
            )
            failure.__cause__ = problem
        queue, boot, send, run, receive, arrived = stamps
        if arrived:
            self._timings = (queue, boot, send, run, receive + time.monotonic_ns() - arrived)
        if failure is None:
            self.set_result(value)
        else:
            self.set_exception(failure)
        self._over = True

    def _wait_over(self, seconds: float | None) -> None:
        """Waits without pumping: the thread that unpickles the end also tells of it."""
        with contextlib.suppress(concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
            super().exception(seconds)

    def _cancelled(self) -> errors.PounceError:
        return self._why_cancelled or errors.Cancelled(f"{self._name} was cancelled")


def _raised(pickle: Any, error: tuple[Any, ...]) -> BaseException:
    """The function's own exception, as if it had been raised here; or its words, if its class is not known here."""
    code, text, remedy, context = error
    where = ", ".join(filter(None, (context.get("node"), context.get("devices")))) or "the worker"
    try:
        exception = serialize.loads(pickle)
    except Exception:
        return errors.make(code, f"on {where}: {text}\n{context.get('traceback', '')}", remedy, context)
    if hasattr(exception, "add_note"):
        exception.add_note(f"raised on {where}")
    else:  # Python 3.10 has no notes
        exception.__cause__ = errors.make(code, f"raised on {where}: {text}", remedy, context)
    return exception
