"""Detached tasks whose worker does not see the results folder: this kernel sends the call and brings the outcome back.

The task's session is pounced's own, so it outlives every relay. Each relay sends the call again under the task's id:
the worker runs it once, and answers every relay (docs/protocol.md §10).
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import Any

from .. import _core, errors
from .._common import result_store, serialize
from .._common.ref import Ref
from .._worker.kernel_calls import run_call
from .function_cache import FunctionCache
from .options import Options
from .session import Session
from .task import Task

_ANOTHER_S = 2.0  # between two attempts to replace another relay


class Relay:
    """Serves one detached task, on a thread and a session of its own, until `leave`."""

    def __init__(self, session: Session, row: _core.DetachedRow, folder: str):
        self._session, self._row, self._folder = session, row, folder
        self._leaving = threading.Event()
        self._own: Session | None = None
        threading.Thread(target=self._run, name="pounce-relay", daemon=True).start()

    def leave(self) -> None:
        """The task goes on; its outcome waits for the next relay. Blocks until the session is closed."""
        self._leaving.set()
        if self._own is not None:
            self._own.close()

    def bring(self, ended: _core.Ended) -> None:
        """Puts the outcome into the folder, as a worker that sees the folder would have."""
        digest = trouble = ""
        try:
            figures = _core.timings(ended.timings).figures or _core.RunFigures()
            facts = {"ok": ended.ok, "figures": figures._asdict(), "error": ended.error and ended.error._asdict()}
            digest = result_store.write_outcome(self._folder, self._row.task, facts, [ended.pickle, *ended.buffers])
        except OSError as problem:
            trouble = f"the outcome could not be kept in {self._folder}: {problem.strerror}"
        self._tell(ended.ok, digest, trouble)

    def _run(self) -> None:
        with contextlib.suppress(errors.PounceError):  # pounced reports the task's end itself
            while not self._leaving.is_set():
                try:
                    self._tell(False, "", "")
                except errors.NameTaken:
                    self._leaving.wait(_ANOTHER_S)
                else:
                    return self._send()

    def _tell(self, ok: bool, digest: str, trouble: str) -> None:
        """Reports the outcome. Without digest and trouble it applies to be the task's relay."""
        relay = self._session.core.relay_detached
        report = self._row.name, ok, digest, trouble
        self._session.ask_detached(lambda request, connection: relay(request, connection, *report))

    def _send(self) -> None:
        task = self._row.task
        try:
            _, (data, *buffers) = result_store.read(os.path.join(self._folder, f"{task}.call"))
        except errors.PounceError as problem:
            return self._tell(False, "", f"it has not run: {problem.text}")
        own = self._own = self._session.for_relay(task)
        handle = own.core.hold_object(bytes(data), buffers, False)
        payload, objects = serialize.dumps(((Ref(handle.id, handle.nbytes, handle),), {}))[::2]
        outcome = _Outcome(self)
        with own.events_held_back():
            own.submit(outcome, FunctionCache().pickled(run_call), [payload], objects, Options().resources, 0,
                       time.monotonic_ns(), task)
            own.show_at(outcome, _Log(os.path.join(self._folder, f"{task}.log")))
        if self._leaving.is_set():
            own.close()


class _Outcome(Task):
    """Passes the outcome on as it came: no future waits for it."""

    def __init__(self, relay: Relay):
        super().__init__("a detached task's outcome")
        self._relay = relay

    def end(self, ended: _core.Ended) -> None:
        # Ends that are not the worker's, and cancellations, pounced knows already.
        if ended.timings and (ended.error is None or ended.error.code != "cancelled"):
            with contextlib.suppress(errors.PounceError):
                self._relay.bring(ended)


class _Log:
    """Writes what the task prints while this relay is there."""

    def __init__(self, path: str):
        self._path = path

    def printed(self, is_error: bool, data: bytes) -> None:
        with contextlib.suppress(OSError), open(self._path, "ab", buffering=0) as file:
            _core.append_to_log(file.fileno(), data)

    def message(self, message: dict[str, Any], buffers: list[Any]) -> None:
        """Dropped: displays are for waiting notebooks."""
