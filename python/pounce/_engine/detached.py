"""Detached tasks: they have a name, outlive the kernel that submitted them, and a later kernel finds them by name."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import sys
import threading
import time
from typing import Any

from .. import _core, errors
from .._common import result_store, serialize
from .._common.mlflow_work import CallRuns
from .._common.random_streams import Streams
from .._common.ref import Awaited
from .result_relay import Relay
from .session import Session
from .task import Task
from .task_log import TaskLog

_SLICE_S = 0.2  # between two looks at the log
_ASK_S = 2.0    # between two questions to pounced, which forgets its followers when it is restarted


class DetachedTask(Task):
    """A detached task while this kernel waits for or follows it: shows its log, reads its outcome from its folder."""

    def __init__(self, session: Session, row: _core.DetachedRow, later: bool = False):
        super().__init__(row.name)
        self.id = row.task
        self.row = row  # as pounced last said
        self._session = session
        self._folder = os.path.join(session.results, row.name)
        self._relay: Relay | None = None
        self._relaying = threading.Lock()
        self._showing = threading.Lock()
        self._later = later
        self.log = TaskLog(os.path.join(self._folder, f"{row.task}.log"))
        if later:
            self.log.unread()  # a later kernel is shown what comes from now on

    def follow(self) -> None:
        """From now on the session passes on what pounced says. May settle the future at once."""
        self._session.follow(self)
        self.update(self.row)
        if self._later and not self.over:
            self._session.names(self.name)  # its end may have been announced before we followed it

    def end_at_pounced(self, forget: bool) -> None:
        end = self._session.core.cancel_detached
        for row in self._session.ask_detached(lambda request, connection: end(request, connection, self.name, forget)):
            self.update(row)
        self.wait_over(None)  # another thread may be handling its end

    def wait(self, timeout: float | None) -> None:
        """The notifier thread brings the end; this thread shows what the task prints."""
        now = time.monotonic()
        deadline = math.inf if timeout is None else now + timeout
        ask = now + _ASK_S
        while not self.over:
            self.wait_over(min(_SLICE_S, max(0.0, deadline - now)))
            if self.over:
                break
            self._show_log()
            now = time.monotonic()
            if now >= deadline:
                raise errors.Timeout(f"{self.name} has not ended within {timeout:g} s; it goes on")
            if now >= ask:
                ask = now + _ASK_S
                with contextlib.suppress(errors.DaemonUnavailable):
                    self._session.names(self.name, _ASK_S)

    def update(self, row: _core.DetachedRow) -> None:
        """What pounced reports, on any thread; the first report of the end decides."""
        if row.task != self.row.task or self.over:
            return
        self.row = row
        self._have_relayed(row.relayed)
        if row.state not in ("done", "forgotten") or not self._session.unfollow(self):
            return
        self._show_log()
        if row.state == "forgotten":
            self.end(_failed(_core.Error("result_gone", f"{self.name} was forgotten")))
        elif not row.digest:
            self.end(_failed(row.error))
        else:
            self._end_with_outcome(row.digest)

    def _have_relayed(self, relayed: bool) -> None:
        with self._relaying:
            relay, self._relay = self._relay, None
            if relayed:
                if relay is None:
                    print(_core.printable(f"pounce: {self.name}: {self.row.reason}"), file=sys.stderr, flush=True)
                self._relay = relay or Relay(self._session, self.row, self._folder)
            elif relay is not None:
                threading.Thread(target=relay.leave, name="pounce-relay-left", daemon=True).start()

    def _end_with_outcome(self, digest: str) -> None:
        try:
            facts, (pickle, *buffers) = result_store.read(os.path.join(self._folder, f"{digest}.outcome"), digest)
            error = None if facts["ok"] else _core.Error(**facts["error"])
            raised = error is not None and len(pickle) > 0
            figures = _core.RunFigures(**facts["figures"])
            timings = _core.Timings(run=figures.run_end - figures.run_start, arrived=time.monotonic(), figures=figures)
            ended = _core.Ended(self.id, error is None, error, raised, pickle, buffers, timings)
        except errors.PounceError as problem:
            ended = _failed(errors.record_of(problem))
        except (KeyError, TypeError):
            ended = _failed(_core.Error("version_mismatch",
                                        f"the outcome of {self.name} was written by another version of pounce"))
        self.end(ended)

    def left(self) -> None:
        """The client is closed: this future ends, the task does not."""
        with self._relaying:
            if self._relay is not None:
                self._relay.leave()
        if self._session.unfollow(self):
            self.end(_failed(_core.Error("closed", f"The client was closed; {self.name} goes on.",
                                         f"pounce.Client().attach({self.name!r}) finds it again.")))

    def _show_log(self) -> None:
        with self._showing:
            data = self.log.unread()
            if data and sys.stdout is not None:
                sys.stdout.write(data.decode("utf-8", "replace"))
                sys.stdout.flush()


def _failed(error: _core.Error | None) -> _core.Ended:
    return _core.Ended(ok=False, error=error)


def submit(session: Session, name: str, parts: list[Any], resources: _core.Resources, retries: int) -> DetachedTask:
    """Puts the call where the worker will find it, and has pounced run it. `parts`: a pickle and its buffers."""
    task = os.urandom(16).hex()
    prepared = os.path.join(session.results, f".{task}")
    _see(session.results)
    try:
        _prepare(prepared, task, parts)
        ask, call = session.core.submit_detached, (name, task, resources, retries)
        (row,) = session.ask_detached(lambda request, connection: ask(request, connection, *call))
    finally:
        shutil.rmtree(prepared, ignore_errors=True)  # unless it has become the task's folder
    return DetachedTask(session, row)


def _prepare(folder: str, task: str, parts: list[Any]) -> None:
    try:
        os.mkdir(folder, 0o700)
        result_store.write_call(folder, task, parts)
        log = os.path.join(folder, f"{task}.log")
        os.close(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError as problem:  # a full disk, for one
        remedy = "Make room there, or name another state_folder in pounced's configuration."
        raise errors.DaemonUnavailable(f"{os.path.dirname(folder)} cannot be written: {problem.strerror}",
                                       remedy) from problem


def _see(folder: str) -> None:
    if not os.path.isdir(folder):
        raise errors.NotShared(f"this kernel does not see {folder}, where pounced keeps detached tasks")


def attach(session: Session, name: str) -> DetachedTask:
    (row,) = session.names(name)
    _see(session.results)
    return DetachedTask(session, row, later=True)


def parts_of(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], streams: Streams | None = None,
             settings: bytes = b"", runs: CallRuns | None = None, retries: int = 0) -> list[Any]:
    more = streams, settings, runs, retries
    call = function, args, kwargs, *(more if any(more) else ())
    data, buffers, objects = serialize.dumps(call, submitted=True)
    if any(type(each) is Awaited for each in objects):
        text = "a future cannot be an argument of a task with a name, which waits without this kernel"
        raise errors.BadRequest(text, "Pass its result().")
    if objects:
        raise errors.BadRequest("a pounce.Ref cannot be an argument of a task with a name", "Pass the value itself.")
    return [data, *buffers]
