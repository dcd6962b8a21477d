"""``Future``: the result of a task, later; ``DetachedFuture``: of one that outlives its kernel."""

from __future__ import annotations

import concurrent.futures
import contextlib
import inspect
import threading
import time
import types
from collections.abc import Generator
from concurrent.futures._base import FINISHED
from typing import Any

from . import _core, errors
from ._common.ref import awaited
from ._engine.choices import Choice, sooner
from ._engine.detached import DetachedTask
from ._engine.options import Options
from ._engine.outcome import CalledBack, awaitable, carried, of_coroutines
from ._engine.session import Session
from ._engine.task import Task
from ._engine.wait import Eta, Wait, wait_of
from .lease import Lease

_FIRST_HINT_S, _HINT_S = 4.0, 60.0  # in the queue before the first hint; between two hints
_PARTS = ("queue", "boot", "send", "run", "receive")


@errors.public
class Future(CalledBack):
    """The result of one task. Made by ``Client.submit``.

    A ``concurrent.futures.Future``: ``as_completed``, ``wait``, ``add_done_callback`` and ``asyncio.wrap_future`` work,
    and it can be awaited. Any thread may use it. The thread that waits in ``result()`` does the network work itself,
    shows the task's output as it comes and one status line as long as there is no worker; stopping it (■, Ctrl-C)
    cancels the task.
    """

    _hint_again, _sooner = 0.0, ""
    _hint_for: Options | None = None

    def __init__(self, session: Session, task: Task):
        super().__init__()
        self._session, self._task = session, task
        task.settles(self)

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
            ``await`` raises a RuntimeError from a StopIteration, a GeneratorExit and asyncio's CancelledError.
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
        if self._state is FINISHED and self._exception is None:
            return self._result
        if not self.done():
            self._wait(timeout)
        try:
            return super().result(0)
        except concurrent.futures.CancelledError:
            if not self.cancelled():  # the function has raised one
                raise
            raise self._cancelled() from None
        finally:
            del self  # a traceback that ends here would hold the future, and the future the exception

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Waits like ``result`` and returns what it would raise, or None. Blocks; may be called from any thread."""
        if not self.done():
            self._wait(timeout)
        try:
            error = super().exception(0)
        except concurrent.futures.CancelledError:
            raise self._cancelled() from None
        if error is not None and _is_called_by("asyncio.futures", inspect.currentframe()):
            return carried(error, of_coroutines())  # wrap_future: with a StopIteration it never ends before Python 3.12
        return error

    def __await__(self) -> Generator[Any, None, Any]:
        """In a coroutine: ``await future``. The event loop is free meanwhile; cancelling the await ends the task, also
        one that runs."""
        import asyncio

        try:
            return (yield from awaitable(self))
        except asyncio.CancelledError:
            if not self.done():
                self._session.cancel(self._task)
            raise

    # ---- asking ----

    def running(self) -> bool:
        """True while the function runs on a worker. Does not block."""
        return not self.done() and self._session.state(self._task) == "running"

    @property
    def id(self) -> str:
        """Its task's id, as in ``lease.report().tasks`` and the logs."""
        return self._task.id

    @property
    def mlflow_run(self) -> str | None:
        """The id of the MLflow run that was active when the task was submitted: it logs there. None: there was none.
        Does not block."""
        return self._task.mlflow_run or None

    def why(self) -> Wait | None:
        """Why it waits: the reason, the limit with its numbers, how many go first, when Slurm expects it to start.

        Does not block: it is what pounced last reported.

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
        return None if self.done() else self._session.why(self._task)

    def eta(self) -> Eta | None:
        """When it is expected to start: the median, and an interval that is right four times in five. Does not block.

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
    def reports(self) -> list[dict[str, Any]]:
        """What the task and its programs have reported so far, the newest last; 10 000 are kept. Does not block.

        A task that runs again after it was lost goes on with the same list. Empty for a task with a name.

        Examples
        --------
        >>> future = client.submit(lambda: pounce.report(loss=0.5))
        >>> future.result(), future.reports[-1]["loss"]
        (None, 0.5)
        """
        return list(self._task.reports or ())

    @property
    def lease(self) -> Lease | None:
        """The lease that it waits for or runs on; None: there is none yet, or it has ended. Does not block."""
        status = None if self.done() else self._session.lease_status(self._task)
        return None if status is None else Lease(self._session, status)

    def choices(self) -> list[Choice]:
        """What it could request instead of waiting, on the cluster as it is now. Blocks for a few questions to Slurm.

        Returns
        -------
        list of Choice
            First waiting on, last giving up; between them other GPUs, no GPU and, if a limit blocks it, other classes,
            the soonest first. Empty if it does not wait.

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
        if self.done() or self._task.asks is None or self._task.awaits is not None:
            return []
        if self._session.state(self._task) != "waiting":
            return []
        return self._session.choices(self._task, self._task.asks)

    def move(self, **options: Any) -> bool:
        """Has a waiting task request something else. Does not block; it gets a new place in Slurm's queue.

        Parameters
        ----------
        **options
            Resources as for ``Client.options``: ``gpus=0``, ``gpus="a100_3g.20gb"``, ``class_="lion"``; the others stay
            as they are.

        Returns
        -------
        bool
            False: it has a worker by now, or has ended, and nothing changes.

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
        asks = (self._task.asks or Options()).changed(**options)
        return not self.done() and self._session.move(self._task, asks)

    def cancel(self) -> bool:
        """Cancels the task if it has not been sent to a worker; returns whether it is cancelled. Does not block.

        ``Client.cancel`` also interrupts one that runs.
        """
        if not self.done() and self._session.state(self._task) == "waiting":
            self._session.cancel(self._task)
        return self.cancelled()

    def timings(self) -> dict[str, float]:
        """Where the time of the call went, in seconds, each part measured on its own; and the memory that it took.

        Returns
        -------
        dict
            ``queue`` (until the lease's job ran, and for a free worker), ``boot`` (from the job's start until its
            Python could be reached), ``send`` (until the function's first line), ``run`` (on the worker's own clock)
            and ``receive`` (until the result was here and unpickled). The worker's clock is mapped to ours by the
            quickest of several round trips.
            These five follow each other. ``import`` is a part of ``send`` and ``run``: how long the task waited for
            modules to load: those that its worker was loading ahead when it came, and those that it, or the unpickling
            of its arguments, imported in the worker's main thread.
            ``peak_memory``: the most bytes that the worker's Python had in memory at a time, from before the arguments
            were unpickled until the result was pickled. It is the whole process's: what earlier calls left there
            counts, and so do threads that they left running, but not child processes. Workers of one lease are
            processes of their own, and each runs one task at a time. Of a task that begins within 10 ms of another
            one's beginning it may be the most since then; a task of less than 0.2 ms may have had a few MiB more. 0:
            the worker's kernel does not report it.
            ``first_output`` and ``first_loss``, where there were some: from the submission until the first output, and
            the first number in it that looks like a loss, were here. docs/cell.md says what looks like one.

        Raises
        ------
        BadRequest
            The task has not ended, or ended without an outcome from a worker.
        """
        if not self.done():
            raise errors.BadRequest(f"{self._task.name} has not ended yet", "Ask for timings after result().")
        timings = self._task.timings
        if timings is None:
            raise errors.BadRequest(f"{self._task.name} ended without having run to its end",
                                    "Look at exception() instead.")
        figures = timings.figures or _core.RunFigures()
        parts = {part: float(getattr(timings, part)) for part in _PARTS}
        first, submitted = self._task.first, self._task.unpickled - sum(parts.values())
        seen = {"first_output": first.output, "first_loss": first.loss} if first is not None else {}
        return {**parts, "import": figures.imports, "peak_memory": figures.peak_memory,
                **{name: max(0.0, at - submitted) for name, at in seen.items() if at}}

    def __reduce__(self) -> Any:
        """As an argument of another call it arrives as its result."""
        return awaited(self, self._task)

    def __repr__(self) -> str:
        if not self.done():
            state = self._session.state(self._task) or "ending"
        elif self.cancelled():
            state = "cancelled"
        else:
            error = super().exception(0)
            state = "done" if error is None else f"failed: {type(error).__name__}"
        return f"<pounce.Future {self._task.name} {state}>"

    def _wait(self, timeout: float | None) -> None:
        self._session.wait(self._task, timeout, self._hint)

    def _cancelled(self) -> errors.PounceError:
        return self._task.why_cancelled or errors.Cancelled(f"{self._task.name} was cancelled")

    def _hint(self, lease: _core.LeaseStatus | None) -> str:
        """What would start now, for the status line. Fetched rarely, by another thread."""
        asks = self._task.asks
        if lease is None or lease.state != "queued" or asks is None:
            return ""
        if asks is not self._hint_for:  # after a move(): the hint is about the earlier options
            self._hint_for, self._hint_again, self._sooner = asks, 0.0, ""
        now = time.monotonic()
        if now >= self._hint_again:
            first = self._hint_again == 0
            self._hint_again = now + (_FIRST_HINT_S if first else _HINT_S)
            if not first:
                threading.Thread(target=self._find_hint, name="pounce-choices", daemon=True).start()
        return self._sooner

    def _find_hint(self) -> None:
        with contextlib.suppress(errors.PounceError):
            choices, offer = self.choices(), self._task.offer
            self._sooner = "" if offer is not None and offer.knows(choices) else sooner(choices)


@errors.public
class DetachedFuture(Future):
    """The result of a task that has a name. Made by ``Client.options(name=...).submit`` and by ``Client.attach``.

    A ``Future`` like any other, except that the task does not need it. It goes on when the kernel ends, when its client
    is closed and when waiting for it is interrupted (■, Ctrl-C); ``cancel()`` ends it. The worker keeps what it
    returned or raised as a file, for 7 days, and gives its GPU back at once. If the two share no folder, a notice says
    so, and this kernel fetches the outcome instead; if no kernel is there, the worker waits 15 min for a later one to
    ``attach``.
    """

    _task: DetachedTask

    def __init__(self, session: Session, task: DetachedTask):
        super().__init__(session, task)
        task.follow()

    # ---- asking ----

    @property
    def name(self) -> str:
        return self._task.name

    @property
    def state(self) -> str:
        """``"waiting"`` for a lease, ``"running"``, ``"done"`` or ``"forgotten"``. Does not block."""
        return self._task.row.state

    def running(self) -> bool:
        """True while the function runs on a worker. Does not block."""
        return not self.done() and self._task.row.state == "running"

    def why(self) -> Wait | None:
        """As ``Future.why``; its state is the task's: ``"waiting"``."""
        row = self._task.row
        return wait_of(row) if row.state == "waiting" else None

    def choices(self) -> list[Choice]:
        """Not for a task with a name: it waits without this kernel. ``pouncectl why`` shows what would start sooner."""
        raise errors.BadRequest("a task with a name waits without this kernel, which does not know its choices",
                                "See pouncectl why.")

    def move(self, **options: Any) -> bool:
        """Not for a task with a name: cancel it and submit it anew."""
        raise errors.BadRequest(f"{self.name} has a name, and keeps what it asks for", "Cancel it and submit it anew.")

    @property
    def lease(self) -> None:
        """None: its lease is not this client's. It ends with the task; ``pouncectl leases`` shows it."""
        return None

    def log(self) -> str:
        """What the task has printed so far, both streams as they came. Reads a file.

        If a task prints more than 8 MiB only the end is kept; the first line then says how much is missing.

        Examples
        --------
        >>> future = client.options(name="sums").submit(pow, 2, 10)
        >>> future.result(), future.log()
        (1024, '')
        >>> future.forget()
        """
        return self._task.log.whole().decode("utf-8", "replace")

    def timings(self) -> dict[str, float]:
        """``run`` and ``peak_memory`` only: what a later kernel can know. Raises ``BadRequest`` before the task has
        ended."""
        timings = self._task.timings
        if timings is None:
            raise errors.BadRequest(f"{self.name} has not run to its end", "Ask for timings after result().")
        figures = timings.figures or _core.RunFigures()
        return {"run": timings.run, "peak_memory": figures.peak_memory}

    def __repr__(self) -> str:
        row = self._task.row
        return f"<pounce.DetachedFuture {row.name} {row.state}{f' ({row.reason})' if row.reason else ''}>"

    # ---- ending ----

    def cancel(self) -> bool:
        """Ends the task, also a running one (KeyboardInterrupt); returns whether it is cancelled. Blocks."""
        if not self.done():
            self._task.end_at_pounced(forget=False)
        return self.cancelled()

    def forget(self) -> None:
        """Cancels the task if it has not ended and removes what is kept of it; its name is free again. Blocks."""
        self._task.end_at_pounced(forget=True)

    def _wait(self, timeout: float | None) -> None:
        self._task.wait(timeout)


def _is_called_by(module: str, frame: types.FrameType | None) -> bool:
    caller = frame and frame.f_back
    return caller is not None and caller.f_globals.get("__name__") == module


def engine_of(future: Future) -> tuple[Session, Task]:
    """A future's session and task. For the modules of this package, not for users."""
    return future._session, future._task


def cancel_if_queued(future: Future) -> None:
    """Cancels the task unless it runs; if it was sent to a worker, that decides. Also for this package only."""
    if isinstance(future, DetachedFuture):
        if future.state == "waiting":
            future.cancel()
    elif not future.done():
        future._session.cancel(future._task, only_if_queued=True)
