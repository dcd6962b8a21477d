"""A cell meets the end of its worker's time alive: ``WalltimeReached`` is raised in it while there is time to save."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ... import errors
from .. import interpreter
from .state_notes import tell

_KEPT_S = 30.0  # of the worker's time, for the save; where less than four times that is left, a quarter of it
_SHARE = 0.25
_SAVES = 2.0  # as long as so many saves like the last one
_OF_A_LOOP_S = 10.0  # a loop that leaves its worker by itself does that before, when the next one is requested


class TimeLimit:
    """Of one cell. Thread: the main one.

    Attributes
    ----------
    kept_s : float
        Before the end of the worker's time, for the save; 0: the cell is cut off at the end.
    """

    def __init__(self, save_s: float, saves: bool):
        """`save_s`: how long the last save took. `saves`: the cell is interrupted in time."""
        kept, left = max(_KEPT_S, _SAVES * save_s), interpreter.time_left()
        self.kept_s = (kept if left is None else min(kept, _SHARE * left)) if saves else 0.0
        self._share = _SHARE if left is None else 1.0  # of what is left when the end becomes known
        self._in_code = False
        self._error: errors.WalltimeReached | None = None

    def later(self) -> None:
        """For the rest of the cell, in which a loop leaves its worker by itself."""
        if self.kept_s:
            self.kept_s = min(self.kept_s, _OF_A_LOOP_S)
            self._interrupt_in_time()

    def _interrupt_in_time(self) -> None:
        interpreter.core.interrupt_before_end(self.kept_s, self._share)

    @property
    def reached(self) -> bool:
        return self._error is not None

    @contextmanager
    def over_code(self) -> Iterator[None]:
        """Around the cell's code. The handler stays when that is over, since the signal may come a moment later: the
        next task sets its own."""
        if self.kept_s:
            signal.signal(signal.SIGINT, self._interrupted)
        self._interrupt_in_time()
        self._in_code = True
        try:
            yield
        finally:
            self._in_code = False

    def error_of(self, shell: Any, error: BaseException | None) -> BaseException | None:
        """The cell's error. An await was cancelled, which is not what the user reads."""
        if self._error is None or not isinstance(error, asyncio.CancelledError):
            return error
        shown = self._error.with_traceback(error.__traceback__)
        shell.showtraceback((type(shown), shown, shown.__traceback__), running_compiled_code=True)
        return shown

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        """SIGINT: near the end of the worker's time, once more at half of what was left then, or since the cell is
        stopped."""
        times = interpreter.core.limit_reached()
        if not times or (interpreter.running is not None and interpreter.running.cancel_asked()):
            signal.default_int_handler(number, frame)
        elif not self._in_code:
            return
        elif self._error is None:
            self._error = errors.WalltimeReached(
                f"the time of the worker on {interpreter.node} ends in {interpreter.time_left() or 0:.0f} s: the cell "
                "was stopped so that what it has made is saved",
                "The next cell has it, on the next worker. --time requests more; a loop over pounce.steps() goes on "
                "by itself.")
            raise self._error
        else:
            tell(f"the cell goes on after WalltimeReached: it is cut off in {interpreter.time_left() or 0:.0f} s, "
                 "and the variables are then as before it")
