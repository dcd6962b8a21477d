"""``Future``: the result of a task, later."""

from __future__ import annotations

import concurrent.futures
import contextlib
import threading
import time
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from . import errors, serialize
from .choices import Choice, sooner
from .options import Options

if TYPE_CHECKING:
    from ._session import Session
    from .lease import Lease
    from .waiting import Eta, Wait

_FIRST_HINT_S, _HINT_S = 4.0, 60.0  # of waiting in the queue; between two
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
        self._why_given_up = ""
        self._asks: Options | None = None  # of a task without a name
        self._hint_again, self._sooner = 0.0, ""

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

    def eta(self) -> Eta | None:
        """When it is expected to start: the median and the ends of an interval that holds four times in five. Does not block.

        Returns
        -------
        Eta or None
            None: it does not wait, or nothing can be said of its start; ``why()`` tells the reason of the wait.

        Examples
        --------
        >>> future = client.submit(pow, 2, 10)
        >>> future.result(), future.eta()
        (1024, None)
        """
        wait = self.why()
        return wait.eta if wait is not None else None

    @property
    def lease(self) -> Lease | None:
        """The lease that it waits for or runs on; None: there is none yet, or it has ended. Does not block."""
        return None if self.done() else self._session.lease_of(self)

    def choices(self) -> list[Choice]:
        """What it could ask for instead of waiting, computed against the cluster now. Blocks for a handful of questions to Slurm.

        Returns
        -------
        list of Choice
            First waiting on, last giving up; between them other GPUs, no GPU and, where a limit is in the way, other classes, the
            soonest first. Empty where it does not wait.

        Raises
        ------
        DaemonUnavailable, SlurmUnreachable
            pounced does not answer within 30 s, or Slurm does not answer it.

        Examples
        --------
        >>> future = client.submit(pow, 2, 10)
        >>> future.result(), future.choices()
        (1024, [])
        """
        if self.done() or self._asks is None or self._session.state(self) != "waiting":
            return []
        return self._session.choices(self, self._asks)

    def move(self, **options: Any) -> bool:
        """Has it ask for something else while it still waits. Does not block; its place in Slurm's queue is a new one then.

        Parameters
        ----------
        **options
            Resources as for ``Client.options``: ``gpus=0``, ``gpus="a100_3g.20gb"``, ``class_="lion"``; the others stay as they are.

        Returns
        -------
        bool
            False: it has a worker by now, or has ended, and stays what it is.

        Raises
        ------
        BadRequest
            An option that does not exist, or is not one of resources.

        Examples
        --------
        >>> future = client.submit(pow, 2, 10)
        >>> future.result(), future.move(cpus=2)
        (1024, False)
        """
        for word in ("name", "env", "wait_policy"):
            if word in options:
                raise errors.BadRequest(f"move changes what a task asks for; {word}= is no resource")
        asks = (self._asks or Options()).changed(**options)
        return not self.done() and self._move(asks)

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

    def _move(self, asks: Options) -> bool:
        moved = self._session.move(self, asks)
        if moved:
            self._asks = asks
            self._hint_again, self._sooner = 0.0, ""
        return moved

    def _give_up(self, why: str) -> None:
        self._why_given_up = why
        self._session.cancel(self)

    def _tell(self, text: str) -> None:
        self._session.tell(self, text)

    def _called(self) -> str:
        return "the cell" if self._name == "run_cell" else self._name

    def _hint(self, lease: tuple[Any, ...] | None) -> str:
        """For the status line: what would start now. Asked for behind the wait, and rarely."""
        if lease is None or lease[1] != "queued" or self._asks is None:
            return ""
        now = time.monotonic()
        if now >= self._hint_again:
            first = self._hint_again == 0
            self._hint_again = now + (_FIRST_HINT_S if first else _HINT_S)
            if not first:
                threading.Thread(target=self._find_hint, name="pounce-choices", daemon=True).start()
        return self._sooner

    def _find_hint(self) -> None:
        with contextlib.suppress(errors.PounceError):
            self._sooner = sooner(self.choices())

    def _wait(self, timeout: float | None) -> None:
        self._session.wait(self, timeout)

    def _end(self, ok: bool, error: tuple[Any, ...] | None, raised: bool, pickle: Any, buffers: list[Any], stamps: tuple[int, ...]) -> None:
        """Its end has come: unpickles it and sets the result, whichever thread that happens on."""
        if error is not None and error[0] == "cancelled":
            given_up = self._why_given_up and errors.Cancelled(f"{self._called()}: {self._why_given_up}")
            self._why_cancelled = given_up or errors.make(*error)
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
