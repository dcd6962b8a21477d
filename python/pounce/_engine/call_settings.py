"""What calls get of this process's settings: all that was changed, as one object that each worker is sent once."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from .._common.cell_protocol import SettingsChange
from .._common.settings.table import RUNS, SETTINGS
from .changed_settings import ours

# A look at all settings takes some hundred microseconds, so a fast series of calls is not looked at call by call: looks
# may take this share of the time, and this many seconds at once. Calls that a person writes are all looked at.
_SHARE = 0.03
_AT_ONCE_S = 0.02


class Looks:
    """The looks of all sessions of this process. Any thread."""

    def __init__(self, look: Callable[[], None]):
        self._look = look
        self._turn = threading.Lock()
        self._left_s, self._counted_at = _AT_ONCE_S, time.monotonic()
        self._not_before = 0.0

    def look(self) -> None:
        """Looks if there is time for it."""
        now = time.monotonic()
        if now >= self._not_before:
            self._counted(now)

    def _counted(self, began: float) -> None:
        with self._turn:
            self._left_s = min(_AT_ONCE_S, self._left_s + _SHARE * (began - self._counted_at))
            self._look()
            self._counted_at = time.monotonic()
            self._left_s -= self._counted_at - began
            if self._left_s <= 0:
                self._not_before = self._counted_at - self._left_s / _SHARE


_looks = Looks(ours.look)


class CallSettings:
    """Of one session's calls. Any thread."""

    def __init__(self, hold: Callable[..., Any], start: Mapping[str, Any]):
        """`hold`: of the session's core. `start`: what its workers start with, by row."""
        self._hold, self._start = hold, start
        self._turn = threading.Lock()
        self._number = 0  # of the last change in the object
        self._object: Any = None
        self._rows: set[str] = set()  # those that were ever in it: they may change back

    def object(self) -> Any:
        """What a call that is submitted now needs: a Hold, which keeps it. None: nothing was changed."""
        _looks.look()
        if ours.number != self._number:
            with self._turn:
                change = ours.seen_since(0)
                if data := self._data(change):
                    self._object = self._hold(data, [], False)
                self._number = change.number
        return self._object

    def for_disk(self) -> bytes:
        """The pickled settings for a task with a name, whose call lies in a file: without the environment, which may
        hold secrets. Empty: nothing was changed."""
        with self._turn:
            return self._data(ours.without_secrets(ours.since(0)))

    def _data(self, change: SettingsChange) -> bytes:
        self._rows |= {row for row, options in change.rows.items() if not self._is_fresh(row, options)}
        rows = {row: change.rows[row] for row in self._rows - {RUNS} if row in change.rows}
        return pickle.dumps((change.kernel, change.number, rows), 5) if rows else b""

    def _is_fresh(self, row: str, options: dict[str, tuple[int, bytes]]) -> bool:
        """Whether workers have it so when they start."""
        if "" not in options:
            return False
        value = pickle.loads(options[""][1])
        return value == self._start[row] if row in self._start else SETTINGS[row].fresh(value)
