"""What calls get of this process's settings: all that was changed, as one object that each worker is sent once."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from .._common.settings.table import SETTINGS
from .changed_settings import ours

if TYPE_CHECKING:
    from .._common.cell_protocol import SettingsChange

# A look at all settings takes some hundred microseconds of the processor, so in a fast series of calls most of them are
# looked at in part: whole looks may take this share of the time, and this many seconds at once. Calls that a person
# writes are all looked at.
_SHARE = 0.03
_AT_ONCE_S = 0.02
_MOST_S = 0.002  # a look counts as this much at most: the first one, and one that finds much, cost more once


class Looks:
    """The looks of all sessions of this process. Any thread."""

    def __init__(self, look: Callable[[bool], None]):
        """`look`: at all settings; where its argument is true, only at those that are read in some microseconds."""
        self._look = look
        self._turn = threading.Lock()
        self._left_s, self._counted_at = _AT_ONCE_S, time.monotonic()
        self._not_before = 0.0

    def look(self) -> None:
        """Looks at all if there is time for it."""
        now = time.monotonic()
        if now >= self._not_before:
            self._counted(now)
        else:
            self._look(True)

    def _counted(self, now: float) -> None:
        """A busy machine makes looks longer, not dearer, so the processor's time is counted."""
        with self._turn:
            self._left_s = min(_AT_ONCE_S, self._left_s + _SHARE * (now - self._counted_at))
            began = time.thread_time()
            self._look(False)
            self._left_s -= min(time.thread_time() - began, _MOST_S)
            self._counted_at = now
            if self._left_s <= 0:
                self._not_before = now - self._left_s / _SHARE


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
            return self._data(ours.since(0), {"environment"})

    def _data(self, change: SettingsChange, but: Collection[str] = ()) -> bytes:
        self._rows |= {row for row, options in change.rows.items() if not self._is_fresh(row, options)}
        rows = {row: change.rows[row] for row in self._rows if row in change.rows and row not in but}
        return pickle.dumps((change.kernel, change.number, rows), 5) if rows else b""

    def _is_fresh(self, row: str, options: dict[str, tuple[int, bytes]]) -> bool:
        """Whether workers have it so when they start."""
        if "" not in options:
            return False
        value = pickle.loads(options[""][1])
        return value == self._start[row] if row in self._start else SETTINGS[row].fresh(value)
