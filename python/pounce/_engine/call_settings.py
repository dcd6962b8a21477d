"""What calls get of this process's settings: all that was changed, as one object that each worker is sent once."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .changed_settings import ours

# A look at all settings takes some hundred microseconds, so a fast series of calls is not looked at call by call: looks
# may take this share of the time, and this many seconds at once. Calls that a person writes are all looked at.
_SHARE = 0.03
_AT_ONCE_S = 0.05


class CallSettings:
    """Of one session's calls. Any thread."""

    def __init__(self, hold: Callable[..., Any]):
        """`hold`: of the session's core."""
        self._hold = hold
        self._turn = threading.Lock()
        self._number = 0  # of the last change in the object
        self._object: Any = None
        self._left_s, self._counted_at = _AT_ONCE_S, time.monotonic()

    def for_disk(self) -> bytes:
        """The pickled settings for a task with a name, whose call lies in a file: without the environment, which may
        hold secrets. Empty: nothing was changed."""
        change = ours.since(0)
        rows = {name: options for name, options in change.rows.items() if name != "environment"}
        return pickle.dumps(replace(change, rows=rows), 5) if rows else b""

    def object(self) -> Any:
        """What a call that is submitted now needs: a Hold, which keeps it. None: nothing was changed."""
        with self._turn:
            began = time.monotonic()
            self._left_s = min(_AT_ONCE_S, self._left_s + _SHARE * (began - self._counted_at))
            self._counted_at = began
            if self._left_s > 0:
                self._look()
                self._left_s -= time.monotonic() - began
            return self._object

    def _look(self) -> None:
        number = ours.look()
        if number != self._number:
            self._object = self._hold(pickle.dumps(ours.since(0), 5), [], False)
            self._number = number
