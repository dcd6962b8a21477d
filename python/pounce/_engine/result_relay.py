"""Detached tasks whose worker does not see the results folder: this kernel takes the call there and the outcome back.

The task's session is pounced's own, so it outlives every relay. The call goes under the task's id, again from each
relay: a worker that knows the id runs it once, and answers whoever asks (docs/protocol.md §10).
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

_ANOTHER_S = 2.0  # between two looks whether the relay that there is has gone


class Relay:
    """Serves one detached task, on a thread and a session of its own, until somebody lets it leave."""

    def __init__(self, session: Session, row: _core.DetachedRow, folder: str):
        self._session, self._row, self._folder = session, row, folder
        self._left = threading.Event()
        self._own: Session | None = None
        threading.Thread(target=self._run, name="pounce-relay", daemon=True).start()

    def leave(self) -> None:
        """The task goes on; its outcome waits for the next relay. Blocks until the session is closed."""
        self._left.set()
        if self._own is not None:
            self._own.close()

    def bring(self, ended: _core.Ended) -> None:
        """The outcome goes into the folder as a worker that sees it would have put it there."""
        digest = trouble = ""
        try:
            figures = ended.timings.figures or _core.RunFigures()
            facts = {"ok": ended.ok, "figures": figures._asdict(), "error": ended.error and ended.error._asdict()}
            digest = result_store.write_outcome(self._folder, self._row.task, facts, [ended.pickle, *ended.buffers])
        except OSError as problem:
            trouble = f"the outcome could not be kept in {self._folder}: {problem.strerror}"
        self._tell(ended.ok, digest, trouble)

    def _run(self) -> None:
        with contextlib.suppress(errors.PounceError):  # pounced itself tells what becomes of the task
            while not self._left.is_set():
                try:
                    self._tell(False, "", "")
                except errors.NameTaken:
                    self._left.wait(_ANOTHER_S)
                else:
                    return self._send()

    def _tell(self, ok: bool, digest: str, trouble: str) -> None:
        """Without digest and trouble it asks to be the one who relays."""
        relay = self._session.core.relay_detached
        self._session.ask_detached(lambda request, asked: relay(request, asked, self._row.name, ok, digest, trouble))

    def _send(self) -> None:
        task = self._row.task
        try:
            _, (data, *buffers) = result_store.read(os.path.join(self._folder, f"{task}.call"))
        except errors.PounceError as problem:
            return self._tell(False, "", f"it has not run: {problem.text}")
        own = self._own = self._session.for_relay(task)
        hold = own.core.hold(bytes(data), buffers, False)
        payload, objects = serialize.dumps(((Ref(hold.id, hold.nbytes, hold),), {}))[::2]
        outcome = _Outcome(self)
        with own.news_wait():
            own.submit(outcome, FunctionCache().pickled(run_call), [payload], objects, Options().resources, 0, time.monotonic_ns(), task)
            own.show_at(outcome, _Log(os.path.join(self._folder, f"{task}.log")))
        if self._left.is_set():
            own.close()


class _Outcome(Task):
    """Is brought away as it came: no future waits for it."""

    def __init__(self, relay: Relay):
        super().__init__("a detached task's outcome")
        self._relay = relay

    def end(self, ended: _core.Ended) -> None:
        # What did not come from the worker, or was asked for through pounced, pounced knows better.
        if ended.timings.arrived and (ended.error is None or ended.error.code != "cancelled"):
            with contextlib.suppress(errors.PounceError):
                self._relay.bring(ended)


class _Log:
    """All that the task prints while this relay is there."""

    def __init__(self, path: str):
        self._path = path

    def printed(self, is_error: bool, data: bytes) -> None:
        with contextlib.suppress(OSError), open(self._path, "ab", buffering=0) as file:
            _core.append_to_log(file.fileno(), data)

    def message(self, message: dict[str, Any], buffers: list[Any]) -> None:
        """Displays are for notebooks that wait."""
