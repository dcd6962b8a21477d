"""Tasks with a name: they outlive the kernel that submitted them, and any later one finds them by name."""

from __future__ import annotations

import contextlib
import math
import os
import re
import secrets
import shutil
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from . import errors, kept, serialize
from .choices import Choice
from .courier import Courier
from .future import Future
from .waiting import Eta, Limit, Wait

if TYPE_CHECKING:
    from ._session import Session

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SLICE_S = 0.2  # between two looks at the log
_ASK_S = 2.0    # and at pounced, which may have been started anew and have forgotten whom to tell


class Row(NamedTuple):
    """What pounced knows of a named task."""

    name: str
    task: str
    state: str
    reason: str
    lease: str
    job: int
    node: str
    carried: bool
    ok: bool
    digest: str
    size: int
    submit_time_s: int
    end_time_s: int
    error: tuple[Any, ...] | None
    class_name: str = ""
    slurm_reason: str = ""
    ahead: int = -1
    start_estimate_s: int = 0
    limit: tuple[Any, ...] | None = None
    eta: tuple[Any, ...] | None = None


def checked(name: Any) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise errors.BadRequest(f"name= takes up to 64 letters, digits and . _ - with no sign in front, not {name!r}")
    return name


class NamedFuture(Future):
    """The result of a task that has a name. Made by ``Client.options(name=...).submit`` and by ``Client.attach``.

    A ``Future`` as any other, but for this: the task does not need it. It goes on when the kernel ends, when its client is
    closed and when waiting for it is interrupted (■, Ctrl-C); ``cancel()`` ends it. The worker keeps what it returned or
    raised as a file, for 7 days, and gives its GPU back at once. Where the two share no folder, which is said, this kernel
    fetches the outcome instead; if there is none then, the worker waits 15 min for a later kernel to ``attach``.
    """

    def __init__(self, session: Session, row: Row, later: bool = False):
        super().__init__(session, b"", row.name)
        self._row = row
        self._folder = os.path.join(session.results, row.name)
        self._courier: Courier | None = None
        self._carrying = threading.Lock()
        self._showing = threading.Lock()
        self._shown = len(self._log_from(0)) if later else 0  # a later kernel is shown what comes from now on
        session.follow(self)
        self._heard(row)

    # ---- asking ----

    @property
    def name(self) -> str:
        return self._name

    @property
    def state(self) -> str:
        """``"waiting"`` for a lease, ``"running"``, ``"done"`` or ``"forgotten"``, as pounced last said. Does not block."""
        return self._row.state

    def running(self) -> bool:
        """True while the function runs on a worker. Does not block."""
        return not self.done() and self._row.state == "running"

    def why(self) -> Wait | None:
        """As ``Future.why``; its state is the task's: ``"waiting"``."""
        row = self._row
        if row.state != "waiting":
            return None
        return Wait(row.state, row.reason, row.slurm_reason, row.class_name, row.job, row.ahead if row.ahead >= 0 else None,
                    float(row.start_estimate_s) or None, Limit(*row.limit) if row.limit else None, Eta(*row.eta) if row.eta else None)

    def choices(self) -> list[Choice]:
        """Not for a task with a name: it waits without this kernel. ``pouncectl why`` shows what would start sooner."""
        raise errors.BadRequest("a task with a name waits without this kernel, which does not know its choices", "See pouncectl why.")

    def move(self, **options: Any) -> bool:
        """Not for a task with a name: cancel it and submit it anew."""
        raise errors.BadRequest(f"{self._name} has a name, and keeps what it asks for", "Cancel it and submit it anew.")

    @property
    def lease(self) -> None:
        """None: its lease is not this client's, and goes back when the task has ended. ``pouncectl leases`` shows it."""
        return None

    def log(self) -> str:
        """All that the task has printed so far, both streams as they came. Reads a file.

        Examples
        --------
        >>> future = client.options(name="sums").submit(pow, 2, 10)
        >>> future.result(), future.log()
        (1024, '')
        >>> future.forget()
        """
        return self._log_from(0).decode("utf-8", "replace")

    def timings(self) -> dict[str, float]:
        """``run`` only: what a later kernel can know. Raises ``BadRequest`` before the task has ended."""
        if self._timings is None:
            raise errors.BadRequest(f"{self._name} has not run to its end", "Ask for timings after result().")
        return {"run": self._timings[3] / 1e9}

    def __repr__(self) -> str:
        reason = f" ({self._row.reason})" if self._row.reason else ""
        return f"<pounce.NamedFuture {self._name} {self._row.state}{reason}>"

    # ---- ending ----

    def cancel(self) -> bool:
        """Ends the task, also one that runs (KeyboardInterrupt); returns whether it is cancelled. Blocks for pounced's answer."""
        if not self.done():
            self._end_at_pounced(forget=False)
        return self.cancelled()

    def forget(self) -> None:
        """Cancels the task if it has not ended and removes what is kept of it; its name is free again. Blocks likewise."""
        self._end_at_pounced(forget=True)

    def _end_at_pounced(self, forget: bool) -> None:
        end = self._session.core.end_name
        for row in self._session.ask_names(lambda request, asked: end(request, asked, self._name, forget)):
            self._heard(row)
        self._wait_over(None)  # another thread may have its end in hand

    # ---- the session's ----

    def _wait(self, timeout: float | None) -> None:
        """The notifier brings the end; this thread shows what the task prints."""
        now = time.monotonic()
        deadline = math.inf if timeout is None else now + timeout
        ask = now + _ASK_S
        while not self._over:
            self._wait_over(min(_SLICE_S, max(0.0, deadline - now)))
            if self._over:
                break
            self._show_log()
            now = time.monotonic()
            if now >= deadline:
                raise errors.Timeout(f"{self._name} has not ended within {timeout:g} s; it goes on")
            if now >= ask:
                ask = now + _ASK_S
                with contextlib.suppress(errors.DaemonUnavailable):
                    self._session.names(self._name, _ASK_S)

    def _heard(self, row: Row) -> None:
        """pounced's word, on any thread; the first that tells of the end decides it."""
        if row.task != self._row.task or self._over:
            return
        self._row = row
        self._have_carried(row.carried)
        if row.state not in ("done", "forgotten") or not self._session.unfollow(self):
            return
        self._show_log()
        if row.state == "forgotten":
            self._end(False, ("result_gone", f"{self._name} was forgotten", "", {}), False, b"", [], (0,) * 6)
        elif not row.digest:
            assert row.error is not None
            self._end(False, row.error, False, b"", [], (0,) * 6)
        else:
            self._end_with_outcome(row.digest)

    def _have_carried(self, carried: bool) -> None:
        with self._carrying:
            courier, self._courier = self._courier, None
            if carried:
                if courier is None:
                    print(f"pounce: {self._name}: {self._row.reason}", file=sys.stderr, flush=True)
                self._courier = courier or Courier(self._session, self._row, self._folder)
            elif courier is not None:
                threading.Thread(target=courier.leave, name="pounce-courier-left", daemon=True).start()

    def _end_with_outcome(self, digest: str) -> None:
        stamps, error, raised = (0,) * 6, None, False
        pickle: bytes | bytearray = b""
        buffers: list[Any] = []
        try:
            facts, (pickle, *buffers) = kept.read(os.path.join(self._folder, f"{digest}.outcome"), digest)
            stamps = (0, 0, 0, int(facts["run_ns"]), 0, time.monotonic_ns())
            error = None if facts["ok"] else tuple(facts["error"])
            raised = error is not None and len(pickle) > 0
        except errors.PounceError as problem:
            error = (problem.code, problem.text, problem.remedy, problem.context)
        self._end(error is None, error, raised, pickle, buffers, stamps)

    def _left(self) -> None:
        """The client is closed: this future ends, the task does not."""
        with self._carrying:
            if self._courier is not None:
                self._courier.leave()
        if self._session.unfollow(self):
            text, remedy = f"The client was closed; {self._name} goes on.", f"pounce.Client().attach({self._name!r}) finds it again."
            self._end(False, ("closed", text, remedy, {}), False, b"", [], (0,) * 6)

    def _log_from(self, start: int) -> bytes:
        try:
            with open(os.path.join(self._folder, f"{self._row.task}.log"), "rb") as file:
                file.seek(start)
                return file.read()
        except OSError:  # forgotten
            return b""

    def _show_log(self) -> None:
        with self._showing:
            data = self._log_from(self._shown)
            self._shown += len(data)
            if data and sys.stdout is not None:
                sys.stdout.write(data.decode("utf-8", "replace"))
                sys.stdout.flush()


def submit(session: Session, name: str, parts: list[Any], resources: tuple[Any, ...], retries: int) -> NamedFuture:
    """Puts the call where the worker will find it, and has pounced run it. `parts`: a pickle and its buffers."""
    task = secrets.token_hex(16)
    prepared = os.path.join(session.results, f".{task}")
    _see(session.results)
    os.mkdir(prepared, 0o700)
    try:
        kept.write_call(prepared, task, parts)
        os.close(os.open(os.path.join(prepared, f"{task}.log"), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        ask = session.core.name_task
        (row,) = session.ask_names(lambda request, asked: ask(request, asked, name, task, resources, retries))
    finally:
        shutil.rmtree(prepared, ignore_errors=True)  # if it has not become the task's folder
    return NamedFuture(session, row)


def _see(folder: str) -> None:
    if not os.path.isdir(folder):
        raise errors.NotShared(f"this kernel does not see {folder}, where pounced keeps named tasks")


def attach(session: Session, name: str) -> NamedFuture:
    (row,) = session.names(name)
    _see(session.results)
    future = NamedFuture(session, row, later=True)
    if not future.done():
        session.names(name)  # its end may have been told before we followed it
    return future


def parts_of(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    data, buffers, objects = serialize.dumps((function, args, kwargs))
    if objects:
        raise errors.BadRequest("a pounce.Ref cannot be an argument of a task with a name", "Pass the value itself.")
    return [data, *buffers]
