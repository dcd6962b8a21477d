"""``Task``: one call, from its submission to its end, as a session knows it. Users hold a ``Future`` of it."""

from __future__ import annotations

import collections
import concurrent.futures
import contextvars
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from .. import _core, errors
from .._common import report, serialize
from .choices import Choice
from .dependencies import Dependencies
from .mutations import Watched
from .options import Options
from .passed_on import PassedOn
from .progress.first_output import FirstOutput
from .progress.running_line import RunningLine

if TYPE_CHECKING:
    from .._record.store import Record

_LATEST = 32  # names whose last values are kept
_NO_VALUES: dict[str, Any] = {}  # never changed


class Offer(Protocol):
    """What a task could have instead of waiting, shown to the user."""

    def knows(self, choices: Sequence[Choice], /) -> bool:
        """The choices as they are now. Returns whether they are shown. Any thread."""

    def update(self, state: str | None, /) -> None:
        """Called about once a second, with the task's state, by the thread that waits for it."""


class Task:
    """Settles one future and then releases it, so that a result lives only as long as the user's future."""

    __slots__ = ("_future", "_timings", "_unpickled", "args", "asks", "awaits", "first", "function", "given_up",
                 "heard", "id", "keeps", "kwargs", "latest", "may_end", "mlflow_run", "name", "objects", "offer",
                 "over", "passed_on", "place", "record", "reports", "running_line", "sends_again", "spared",
                 "submit_copy", "watched", "why_cancelled", "why_given_up", "worker")

    def __init__(self, name: str, asks: Options | None = None):
        self.id = ""  # the core's, once it is submitted
        self.name = name
        self.worker: int | None = None  # the number of the worker on its lease that must run it; None: any
        self.asks = asks  # None: this kernel cannot change its resources
        self.mlflow_run = ""  # the id of the run that it logs into; empty: none that is known here
        self.awaits: Dependencies | None = None  # the futures among its arguments, until it is sent
        self.record: Record | None = None  # of this call, so that its run can be repeated
        # Until its end: what a job script would run. None: it was not submitted, or has ended.
        self.function: Callable[..., Any] | None = None
        self.args: tuple[Any, ...] = ()
        self.kwargs = _NO_VALUES
        self.keeps: Sequence[Any] = ()  # handles of results that it was sent with: other tasks may take the same
        self.passed_on: PassedOn | None = None  # until its end, if other tasks take its result
        self.over = False  # as the future's done(), without its lock
        self._timings: Any = None  # a _core.Timings, packed where it came so
        self._unpickled = 0.0  # when its result was unpickled
        self.objects: Sequence[str] = ()  # that it was sent with, where files are among them
        self.sends_again: Callable[[str], bool] | None = None  # sends the file at that path as data; False: it cannot
        # Of a task that may run twice: whether this is its end, and how to submit its copy with what it was sent with.
        self.may_end: Callable[[_core.Ended], bool] | None = None
        self.submit_copy: Callable[[Task], None] | None = None
        self.watched: Sequence[Watched] = ()  # data that it needs, if changes of data are checked
        self.given_up = False  # it was cancelled, perhaps while it was sent again
        self.spared: Callable[[], bool] | None = None  # whether an interrupt of this kernel does not cancel it
        self.why_given_up = ""  # set by code that cancels it for the user
        self.why_cancelled: errors.PounceError | None = None
        self.reports: collections.deque[dict[str, Any]] | None = None  # None: it has made none
        self.latest: dict[str, Any] = _NO_VALUES  # of each name in its reports the last value
        self.first: FirstOutput | None = None  # None: it has shown nothing yet
        self.offer: Offer | None = None  # under a cell that a notebook waits for
        self.running_line: RunningLine | None = None  # under a cell
        self.place: contextvars.Context | None = None  # of the code that waits for it
        self.heard: Callable[[], object] | None = None  # called after each report, by any thread; returns at once
        self._future: concurrent.futures.Future[Any] | None = None

    @property
    def timings(self) -> _core.Timings | None:
        """When it ran; None: it has not run to its end."""
        if self._timings is None:
            return None
        timings = _core.timings(self._timings) if type(self._timings) is bytes else self._timings
        receive: float = timings.receive + self._unpickled - timings.arrived
        return timings._replace(receive=receive)

    @property
    def unpickled(self) -> float:
        """When its result was, on the monotonic clock."""
        return self._unpickled

    def settles(self, future: concurrent.futures.Future[Any]) -> None:
        self._future = future

    def shows(self) -> FirstOutput:
        """Where its output is noted."""
        if self.first is None:
            self.first = FirstOutput()
        return self.first

    def reported(self, values: dict[str, Any]) -> None:
        self.shows().reported(values)
        if self.reports is None:
            self.reports = collections.deque(maxlen=report.KEPT)
        self.reports.append(values)
        older = [(name, value) for name, value in self.latest.items() if name not in values]
        self.latest = {**dict(older[-_LATEST:]), **values}
        heard = self.heard
        if heard is not None:
            heard()

    def called(self) -> str:
        return "the cell" if self.name == "run_cell" else self.name

    def is_sent_again(self, ended: _core.Ended) -> bool:
        """Whether this is not its end, since its worker does not see a file."""
        return self.sends_again is not None and ended.error is not None and ended.error.code == "file_not_here"

    def end(self, ended: _core.Ended) -> None:
        """Takes its end, on any thread."""
        if self.sends_again is not None and self.is_sent_again(ended):
            threading.Thread(target=self._send_again, args=(ended, self.sends_again), name="pounce-file",
                             daemon=True).start()
        elif self.may_end is None or self.may_end(ended):
            self.finish(ended)

    def finish(self, ended: _core.Ended) -> None:
        """Unpickles the end and sets the result."""
        future, error = self._future, ended.error
        assert future is not None
        if error is not None and error.code == "cancelled":
            given_up = self.why_given_up and errors.Cancelled(f"{self.called()}: {self.why_given_up}")
            self.end_cancelled(given_up or errors.of(error))
            return
        value: Any = None
        failure: BaseException | None = None
        try:
            if ended.ok:
                passed_on = self.passed_on
                value = serialize.loads(ended.pickle, ended.buffers) if passed_on is None else passed_on.loads(ended)
            else:
                failure = _raised(ended.pickle, error) if ended.raised and error else errors.of(error)
        except BaseException as problem:
            failure = errors.TaskRaised(
                f"the result of {self.name} could not be unpickled here: {type(problem).__name__}: {problem}",
                "Import what it needs in this notebook too, or return plain data.",
            )
            failure.__cause__ = problem
        if self.watched:
            failure = self._changed_data(failure) or failure
        if ended.timings:
            self._timings, self._unpickled = ended.timings, time.monotonic()
        try:
            if failure is None:
                future.set_result(value)
            else:
                future.set_exception(failure)
        finally:
            self._let_go()

    def end_cancelled(self, why: errors.PounceError) -> None:
        """Ends it as cancelled, without an outcome."""
        future = self._future
        if future is not None:
            self.why_cancelled = why
            concurrent.futures.Future.cancel(future)
            future.set_running_or_notify_cancel()
            self._let_go()

    def end_failed(self, failure: BaseException) -> None:
        """Ends it as failed, without an outcome: it was not sent."""
        future = self._future
        if future is not None:
            future.set_exception(failure)
            self._let_go()

    def _changed_data(self, failure: BaseException | None) -> BaseException | None:
        """The error that its data was changed, which replaces its result or failure: neither can be trusted."""
        for each in self.watched:
            if changed := each.changed(self.called()):
                changed.__cause__ = failure
                return changed
        return None

    def _send_again(self, ended: _core.Ended, again: Callable[[str], bool]) -> None:
        """Reads a file here that its worker does not see, which takes a while, and sends the task again."""
        problem: _core.Error | None = ended.error
        try:
            assert problem is not None
            if self.given_up:
                problem = _core.Error("cancelled", "the task was cancelled before it ran")
            elif again(problem.path):
                return
        except errors.PounceError as error:
            problem = errors.record_of(error)
        except BaseException as error:
            problem = _core.Error("internal", f"{self.name} could not be sent again: {type(error).__name__}: {error}")
        self.sends_again = None
        self.end(ended._replace(error=problem))

    def _let_go(self) -> None:
        self.over = True
        self._future = self.sends_again = self.submit_copy = self.function = self.heard = self.awaits = None
        self.args, self.kwargs = (), _NO_VALUES
        self.passed_on = self.record = None
        self.watched = self.keeps = ()

    def wait_over(self, seconds: float | None) -> None:
        """Waits without pumping the engine: another thread unpickles its end and settles the future."""
        future = self._future
        if future is not None:
            concurrent.futures.wait([future], seconds)


def _raised(pickle: Any, error: _core.Error) -> BaseException:
    """The function's own exception, as if raised here; or its text, if its class cannot be loaded here."""
    from .._common import exceptions

    context = error.context
    where = ", ".join(filter(None, (context.get("node"), context.get("devices")))) or "the worker"
    try:
        exception = exceptions.loads(pickle)
    except Exception:
        return errors.of(error._replace(text=f"on {where}: {error.text}\n{context.get('traceback', '')}"))
    exceptions.add_note(exception, f"raised on {where}")
    if sys.version_info < (3, 11) and exception.__cause__ is None:  # that Python shows no notes
        exception.__cause__ = errors.of(error._replace(text=f"raised on {where}: {error.text}"))
    return exception
