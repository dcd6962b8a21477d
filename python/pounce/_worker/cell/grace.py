"""How long an arriving task waits for a save."""

from __future__ import annotations

import math
import time

from .. import interpreter

_LEAST_S, _SHARE = 0.03, 0.005  # at least this long; or this share of the run time of cells whose work is not saved


class Grace:
    """Whether a save has to stop for a waiting task: a short save comes first, and a save after long cells may take
    longer."""

    def __init__(self, ran_s: float):
        self._seconds = max(_LEAST_S, _SHARE * ran_s)
        self._until = math.inf

    def __call__(self) -> bool:
        if not interpreter.core.wanted() or interpreter.core.ending():
            return False
        now = time.monotonic()
        self._until = min(self._until, now + self._seconds)
        return now >= self._until
