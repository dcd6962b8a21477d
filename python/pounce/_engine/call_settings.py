"""What calls get of this process's settings: all that was changed, as one object that each worker is sent once."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .._common.settings.table import RUNS, SETTINGS
from .changed_settings import ours

if TYPE_CHECKING:
    from .._common.cell_protocol import SettingsChange

# A look at all settings takes some hundred microseconds, so most calls of a fast series are looked at in part: so many
# whole looks at once, and so many a second. Calls that a person writes are all looked at.
_AT_ONCE = 20
_A_SECOND = 30


class Looks:
    """The looks of all sessions of this process. Any thread."""

    def __init__(self, look: Callable[[bool], None]):
        """`look`: at all settings; where its argument is true, only at those that are read in some microseconds."""
        self._look = look
        self._turn = threading.Lock()
        self._left, self._counted_at = float(_AT_ONCE), time.monotonic()
        self._none_before = 0.0  # until then it is time for no whole look

    def look(self) -> None:
        """Looks at all if it is time for it."""
        self._look(not self._is_time())

    def _is_time(self) -> bool:
        if time.monotonic() < self._none_before:
            return False
        with self._turn:
            now = time.monotonic()
            self._left = min(_AT_ONCE, self._left + _A_SECOND * (now - self._counted_at))
            self._counted_at = now
            is_time = self._left >= 1
            self._left -= is_time
            self._none_before = now + max(0.0, 1 - self._left) / _A_SECOND
            return is_time


_looks = Looks(ours.look)


class CallSettings:
    """Of one session's calls. Any thread."""

    def __init__(self, hold_object: Callable[..., Any], start: Mapping[str, Any]):
        """`hold_object`: of the session's core. `start`: what its workers start with, by row."""
        self._hold_object, self._start = hold_object, start
        self._turn = threading.Lock()
        self._number = 0  # of the last change in the object
        self._object: Any = None
        self._rows: set[str] = set()  # those that were ever in it: they may change back

    def object(self) -> Any:
        """What a call that is submitted now needs: a handle, which keeps it. None: nothing was changed."""
        _looks.look()
        if ours.number != self._number:
            with self._turn:
                change = ours.seen_since(0)
                if data := self._data(change):
                    self._object = self._hold_object(data, [], False)
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
