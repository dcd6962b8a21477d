"""In the kernel's list of comms: one for each comm that a worker has."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from ..._worker.cell.comm_events import Json, left_of
from .own_subshell import OwnSubshell

_CAPTURED = "msg_id"  # of an Output: nbclient takes one that is empty as the end of what it has captured
PassOn = Callable[["StandIn", str, Json, Json], None]


class Arrivals:
    """What the page has sent and no handler has begun with, in order. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards what follows
        self._waiting: deque[tuple[str, Json]] = deque(maxlen=1000)

    def note(self, comm: str, data: Json) -> None:
        with self._lock:
            self._waiting.append((comm, data))

    def left(self, comm: str, data: Json) -> Json | None:
        """What of this message later ones do not replace. Its handler begins."""
        with self._lock:
            if (comm, data) not in self._waiting:  # this kernel does not tell what arrives
                return data
            ahead = list(self._waiting)
            place = ahead.index((comm, data))
            lost = ahead[:place]  # no handler begins with an older one of this comm
            self._waiting = deque([*(one for one in lost if one[0] != comm), *ahead[place + 1:]], maxlen=1000)
            return left_of(comm, data, ahead[place + 1:])


class StandIn:
    """
    Attributes
    ----------
    session : Session
        The one that reaches its worker.
    what : str
        The class of the widget, or the name of the comm's target.
    """

    _closed = False

    def __init__(self, opened: Json, session: Any, arrivals: Arrivals, subshell: OwnSubshell,
                 pass_on: PassOn):
        self.comm_id, self.target_name = str(opened["comm_id"]), str(opened.get("target_name", ""))
        self.session = session
        state = opened["data"].get("state", {}) if isinstance(opened["data"], dict) else {}
        self.what = str(state.get("_model_name", self.target_name)).removesuffix("Model")
        self.told = False  # the user knows that its worker has gone
        self._shows = set(state)
        self._arrivals, self._subshell, self._pass_on = arrivals, subshell, pass_on

    def synchronised(self, opened: Json) -> Json:
        """The content of a message after which the page has the state that the widget is restored with."""
        state = {name: value for name, value in opened.get("state", {}).items() if name != _CAPTURED}
        return {"comm_id": self.comm_id, "data": {"method": "update", **opened, "state": state}}

    def inert(self, why: str) -> Json:
        """The content of a message after which the page shows that nothing answers the widget. Empty: it cannot."""
        state = {name: value for name, value in (("disabled", True), ("tooltip", why)) if name in self._shows}
        data = {"method": "update", "state": state, "buffer_paths": []}
        return {"comm_id": self.comm_id, "data": data} if state else {}

    # ---- called by the kernel ----

    def _reply_subshell_for(self, data: Any, default: str | None) -> str | None:
        """A message for it has arrived. ipykernel 7.4 calls this before, on another thread, and gets the subshell."""
        self._arrivals.note(self.comm_id, data)
        return self._subshell.instead_of(default)

    def handle_msg(self, message: Json) -> None:
        with self._subshell.handles():
            left = self._arrivals.left(self.comm_id, message["content"]["data"])
            if left is not None:
                self._pass_on(self, "comm_msg", left, message)

    def handle_close(self, message: Json) -> None:
        with self._subshell.handles():
            self._arrivals.left(self.comm_id, message["content"].get("data", {}))
            self._pass_on(self, "comm_close", message["content"].get("data", {}), message)

    def close(self, *_: Any, **__: Any) -> None:
        self._closed = True
