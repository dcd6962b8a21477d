"""Runs the callbacks of widgets that cells made here, in the main thread: between two cells, and in a cell where it
awaits, between two of its ``pounce.steps()`` and at its end.

Between two cells the events come as a task, whose output is theirs. While a cell runs they come beside it, and what
their callbacks show goes back the same way: it belongs to the page's message, not to the cell.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import comm

from ..._common.cell_protocol import CallbacksReply
from .. import interpreter, steps
from . import comms, publish, quiet, shell
from .callback_reads import reads_of
from .cell_streams import streams
from .comm_events import KIND, CommEvent, Json, left_of, unpacked

_absent = object()


class Callbacks:
    def __init__(self, of: Any, saved: Any):
        """Of this shell, whose variables are in `saved`, a SavedNamespace."""
        self._shell, self._saved = of, saved
        self._loop = asyncio.get_event_loop_policy().get_event_loop()
        self._lock = threading.Lock()  # guards what follows
        self._waiting: list[tuple[str, CommEvent]] = []  # each with the session that it came from
        self._taken: dict[str, int] = {}  # the last event of each road that is here, or was

    def begin(self) -> None:
        steps.between = self.run_waiting

    @staticmethod
    def revive() -> None:
        """Widgets that were restored answer from now on."""
        comms.revive()

    def names(self) -> dict[str, str]:
        return comms.names_of_widgets(self._shell.user_ns)

    # ---- while a cell runs ----

    def take(self, asked: Any) -> bool:
        """Whether this message beside the tasks was an event. The thread that reads them."""
        event = unpacked(asked.text)
        if event is None:
            return False
        if self._is_new(event):
            self._put(asked.session, event)
            self._loop.call_soon_threadsafe(self.run_waiting)
        return True

    def _is_new(self, event: CommEvent) -> bool:
        with self._lock:
            is_new = event.number > self._taken.get(event.road, 0)
            self._taken[event.road] = max(event.number, self._taken.get(event.road, 0))
        return is_new

    def _put(self, session: str, event: CommEvent) -> None:
        with self._lock:
            self._waiting.append((session, event))
            ahead, self._waiting = self._waiting, []
            left = _merged([one for _, one in ahead])
            self._waiting = [(session, left[one.number]) for session, one in ahead if one.number in left]
            gone = [(session, one) for session, one in ahead if one.number not in left]
        for session, one in gone:
            _tell(session, one, {"done": True})

    def run_waiting(self) -> None:
        """Runs what came beside the cell."""
        if threading.current_thread() is not threading.main_thread():
            return
        while True:
            with self._lock:
                if not self._waiting:
                    return
                session, event = self._waiting.pop(0)
            message, comms.Comm.kernel.message = comms.Comm.kernel.message, _message_of(event)
            try:
                with _Apart(session, event).shows():
                    handle(event)
            finally:
                comms.Comm.kernel.message = message
                _tell(session, event, {"done": True})

    # ---- between two cells ----

    def run(self, events: Sequence[CommEvent]) -> CallbacksReply:
        """Runs events that have not come otherwise."""
        names = self._shell.user_ns
        before = dict(names)
        streams.back()
        self.run_waiting()  # of a cell that has just ended
        gone = []
        left = _merged([event for event in events if self._is_new(event)])
        for event in left.values():
            publish.send(KIND, {"number": event.number, "begins": True})
            self._restore_for(event)
            comms.Comm.kernel.message = _message_of(event)
            if not shell.run_callback(functools.partial(handle, event)):
                gone.append(event.number)
        self.revive()
        self._saved.callbacks_ran()
        own = [name for name in names if not name.startswith("_") and name not in self._shell.user_ns_hidden]
        return CallbacksReply(gone, [name for name in own if names[name] is not before.get(name, _absent)],
                              [name for name in before if name not in names])

    def _restore_for(self, event: CommEvent) -> None:
        """Restores what its callbacks may read."""
        here = comm.get_comm_manager().comms.get(event.comm)
        widget = getattr(getattr(here, "_msg_callback", None), "__self__", None)
        waiting = self._saved.waiting() if widget is not None else ()
        if waiting:
            self._saved.load(reads_of(widget, self._shell.user_ns) & waiting)
            self.revive()


def handle(event: CommEvent) -> bool:
    """Whether the comm is here."""
    manager = comm.get_comm_manager()
    if event.comm not in manager.comms:
        return False
    content = {"comm_id": event.comm, "data": event.data}
    message = {"header": event.header, "msg_id": _message_of(event), "msg_type": event.kind, "parent_header": {},
               "metadata": event.metadata, "content": content, "buffers": [memoryview(one) for one in event.buffers]}
    getattr(manager, event.kind)(None, None, message)
    return True


def _message_of(event: CommEvent) -> str:
    return str(event.header.get("msg_id", ""))


def _merged(events: Sequence[CommEvent]) -> dict[int, CommEvent]:
    """Those that remain, by their numbers."""
    left = {}
    for place, event in enumerate(events):
        data: Json | None = event.data
        if event.kind == "comm_msg":
            data = left_of(event.comm, event.data, [(one.comm, one.data) for one in events[place + 1:]])
        if data is not None:
            left[event.number] = replace(event, data=data)
    return left


class _Apart:
    """What a callback shows, beside the cell that it interrupts."""

    def __init__(self, session: str, event: CommEvent):
        self._session, self._event = session, event
        self._stream, self._text = "", ""

    @contextlib.contextmanager
    def shows(self) -> Iterator[None]:
        with quiet.apart(self._printed, self._shown):
            yield
        self._flush()

    def _printed(self, name: str, text: str) -> None:
        if name != self._stream:
            self._flush()
        self._stream, self._text = name, self._text + text
        if text.endswith("\n"):
            self._flush()

    def _flush(self) -> None:
        if self._text:
            _tell(self._session, self._event, {"printed": [self._stream == "stderr", self._text]})
            self._text = ""

    def _shown(self, text: bytes, buffers: Sequence[bytes]) -> None:
        self._flush()
        packed = [base64.b64encode(buffer).decode("ascii") for buffer in buffers]
        _tell(self._session, self._event, {"message": json.loads(text), "buffers": packed})


def _tell(session: str, event: CommEvent, what: Json) -> None:
    text = json.dumps({"type": KIND, "content": {"number": event.number, **what}})
    interpreter.core.answer_look(session, event.number, text.encode())

