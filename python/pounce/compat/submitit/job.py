"""``Job``: one submitted function, which any later kernel can find by its id."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ... import DetachedFuture
from ...errors import BadRequest, PounceError, Timeout
from ...shared_client import shared_client
from .. import not_offered
from .paths import Paths, folder_of

_STATES = {"waiting": "PENDING", "running": "RUNNING"}
_INSTEAD = {
    "get_info": "`pouncectl status` shows it, job.state its state.",
    "awaitable": "Await job.future.",
    "submission": "Keep the function and its arguments.",
    "watcher": "pounce tells of a job's end by itself.",
}


class Job:
    """A pounce task with the name ``job_id``: it goes on without this kernel, and its result is kept for 7 days.

    ``Job(folder, job_id)`` is the same job in a later kernel. Its output is shown while the user waits for it, and is
    in files of `folder` too.

    Raises
    ------
    NoSuchName
        There is no such job, or it was forgotten; lists the existing ones.
    """

    num_tasks = 1
    task_id = None

    def __init__(self, folder: str | os.PathLike[str], job_id: str, tasks: Iterable[int] = (0,), *,
                 _future: DetachedFuture | None = None, _waits: bool = False):
        self.job_id = job_id
        self.paths = Paths(folder_of(folder, job_id), job_id)
        self._cancel_at_deletion = False
        self._lock = threading.Lock()    # between submission and cancellation
        self._given = threading.Event()  # set when it is submitted, or cancelled before
        self._callbacks: list[Callable[[Job], None]] = []
        self._future: DetachedFuture | None = None
        self._error: BaseException | None = None
        self._in_batch = False
        if not _waits:
            self.start(lambda: _future or shared_client().attach(job_id))
            if self._error is not None:
                raise self._error

    @property
    def future(self) -> DetachedFuture:
        """The pounce future: ``name``, ``why()``, ``log()``, ``forget()``; it can be awaited.

        Raises
        ------
        BadRequest
            The job is not submitted yet: it waits for the end of ``with executor.batch()``, or for others of its array.
        """
        if self._error is not None:
            raise self._error
        if self._future is None:
            raise BadRequest(f"{self.job_id} is not submitted yet",
                             "Ask after `with executor.batch()`, or wait: job.wait().")
        return self._future

    # ---- its end ----

    def result(self) -> Any:
        """What the function returned. Blocks. Raises what it raised, of its own type, or why the job was lost."""
        self._until_given()
        return self.future.result()

    def results(self) -> list[Any]:
        """The results of its tasks, of which there is one. Blocks."""
        return [self.result()]

    def exception(self) -> BaseException | None:
        """What ``result`` would raise, or None. Blocks."""
        self._until_given()
        if self._error is not None:
            return self._error
        try:
            return self.future.exception()
        except concurrent.futures.CancelledError as error:
            return error

    def wait(self) -> None:
        """Blocks until it has ended in any way."""
        self.exception()

    def done(self, force_check: bool = False) -> bool:
        """Does not block."""
        return self._error is not None or (self._future is not None and self._future.done())

    @property
    def state(self) -> str:
        """``"PENDING"``, ``"RUNNING"``, ``"COMPLETED"``, ``"FAILED"`` or ``"CANCELLED"``. Does not block."""
        if self._error is not None:
            return "FAILED" if isinstance(self._error, PounceError) and self._error.code != "cancelled" else "CANCELLED"
        if self._future is None:
            return "PENDING"
        if not self._future.done():
            return _STATES.get(self._future.state, "RUNNING")
        if self._future.cancelled():
            return "CANCELLED"
        return "COMPLETED" if self._future.exception() is None else "FAILED"

    def cancel(self, check: bool = True) -> None:
        """Ends it, also if it runs. Blocks for pounced's answer."""
        with self._lock:
            future = self._future
            if future is None and self._error is None:
                self._error = concurrent.futures.CancelledError(f"{self.job_id} was cancelled")
        if future is not None:
            future.cancel()
        else:
            self._end_unsubmitted()

    def cancel_at_deletion(self, value: bool = True) -> Job:
        """Sets whether the job is cancelled when this object is deleted."""
        self._cancel_at_deletion = value
        return self

    def __del__(self) -> None:
        if getattr(self, "_cancel_at_deletion", False) and not self.done():
            with contextlib.suppress(Exception):
                self.cancel()

    # ---- its output ----

    def stdout(self) -> str | None:
        """What it has printed so far; None: nothing yet.

        Reads the file; without one, pounce's own log, which has both streams.
        """
        return self._read(self.paths.stdout) or (self._future.log() if self._future is not None else "") or None

    def stderr(self) -> str | None:
        """Likewise; None also if both streams go to one file."""
        return self._read(self.paths.stderr) or None

    @staticmethod
    def _read(path: Any) -> str:
        try:
            return str(path.read_text(errors="replace"))
        except OSError:
            return ""

    # ---- its tasks ----

    def task(self, task_id: int) -> Job:
        if task_id != 0:
            raise BadRequest(f"a job has one task, 0, not {task_id}", "map_array makes several jobs.")
        return self

    # ---- for the executor ----

    def start(self, submit: Callable[[], DetachedFuture]) -> None:
        """Calls `submit`; an error of it ends the job. Blocks as `submit` does; the job may be cancelled meanwhile."""
        if self._error is not None:
            return
        try:
            future = submit()
        except Exception as error:
            with self._lock:
                self._error = self._error or error
            self._end_unsubmitted()
            return
        with self._lock:
            self._future = future
            is_cancelled = self._error is not None
        if is_cancelled:
            future.cancel()
        self._given.set()
        future.add_done_callback(lambda _: self._tell())

    def _end_unsubmitted(self) -> None:
        self._given.set()
        self._tell()

    def when_done(self, callback: Callable[[Job], None]) -> None:
        """Calls `callback` when the job has ended, at once if it has already, on any thread."""
        self._callbacks.append(callback)
        if self.done():
            self._tell()

    def _tell(self) -> None:
        while self._callbacks:
            with contextlib.suppress(IndexError):  # another thread was faster
                self._callbacks.pop()(self)

    def _until_given(self) -> None:
        if self._in_batch:
            raise BadRequest(f"{self.job_id} is not submitted yet", "Ask for it after `with executor.batch()`.")
        self._given.wait()

    def in_batch(self, is_in: bool) -> None:
        """Sets whether the batch that it was submitted in is still open."""
        self._in_batch = is_in

    def __getattr__(self, name: str) -> Any:
        not_offered.name_of_object("Job", name, _INSTEAD)

    def __repr__(self) -> str:
        return f"Job<job_id={self.job_id}, state={self.state}>"


def completed(jobs: Iterable[Job], timeout: float | None) -> Iterator[Job]:
    """The jobs in the order in which they end."""
    deadline = None if timeout is None else time.monotonic() + timeout
    ended: queue.SimpleQueue[Job] = queue.SimpleQueue()
    waited = list(jobs)
    for job in waited:
        job.when_done(ended.put)
    for remaining in range(len(waited), 0, -1):
        try:
            yield ended.get(timeout=None if deadline is None else max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise Timeout(f"{remaining} of the jobs have not ended within {timeout:g} s; they go on") from None
