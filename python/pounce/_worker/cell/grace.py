"""When the work of cells that follow each other at once is saved, and how long the next cell waits for that.

Between two such cells there is no idle time. A save then begins when it is expected to cost at most 2 % of the time
that the cells have run since the last one; after one that had to stop, when they have run for twice as long. So a
worker that dies costs at most a hundred times as long as a save takes. It costs ten minutes at most: what cells have
made in that time is saved before the next one begins, however long that takes.
"""

from __future__ import annotations

import math
import time

from .. import interpreter

_SHARE = 0.02            # of the cells' time: how long the next one waits for a save at most
_MOST_UNSAVED_S = 600.0  # of the cells' time; after that a save is not stopped
_LEAST_S, _MOST_S = 0.005, 0.1  # what is expected of a save after one that succeeded
_SLOWER = 1.25           # than that one
_LEAST_QUIET_S, _MOST_QUIET_S = 0.03, 1.0


class Pace:
    """Pure: `ran_s` is how long cells have run since the last save that succeeded."""

    def __init__(self) -> None:
        self._expected_s = _LEAST_S  # what the next save takes
        self.quiet_s = _LEAST_QUIET_S  # idle time after which no cell follows at once

    def patience_s(self, ran_s: float) -> float:
        """How long a cell waits for a save at most. One that was begun only because no cell came stops at once."""
        if ran_s >= _MOST_UNSAVED_S:
            return math.inf
        return _SHARE * ran_s if self.is_due(ran_s) else 0.0

    def is_due(self, ran_s: float) -> bool:
        """Whether a save begins although the next cell may follow at once."""
        return ran_s >= _MOST_UNSAVED_S or _SHARE * ran_s >= self._expected_s

    def saved(self, took_s: float) -> None:
        """A large save is no reason to put off the next one for long, which may be small."""
        self._expected_s = min(max(_SLOWER * took_s, _LEAST_S), _MOST_S)
        self.quiet_s = _LEAST_QUIET_S

    def stopped(self, patience_s: float) -> None:
        """A save had to stop for a cell that has waited so long. Cells may follow each other with such a pause."""
        self._expected_s = max(self._expected_s, 2 * patience_s)
        self.quiet_s = min(2 * self.quiet_s, _MOST_QUIET_S)


class Grace:
    """Whether a save has to stop for a waiting task."""

    def __init__(self, patience_s: float):
        self._seconds = patience_s
        self._until = math.inf

    def __call__(self) -> bool:
        if not interpreter.core.wanted() or interpreter.core.ending():
            return False
        now = time.monotonic()
        self._until = min(self._until, now + self._seconds)
        return now >= self._until
