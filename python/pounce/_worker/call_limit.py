"""A call meets the end of its worker's time alive: ``WalltimeReached`` is raised in its function while it can still
return what it has, or clean up. Cells have a limit of their own (``cell/time_limit.py``)."""

from __future__ import annotations

# signal's own functions call _signal and then look for an enum's name, which costs microseconds.
import _signal  # type: ignore[import-not-found]
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from .. import errors
from .kernel_calls import CELLS, is_of

_BEFORE_END_S = 30.0  # as the C++ part has it for a call without a name
_SHARE = 0.25  # at most, of the time that is left
_STEP_S = 1.0
_LATE_S = 120.0  # Slurm may end a job so long after its time


class CallLimit:
    """Of the call that runs. The C++ part sends SIGINT in time. Thread: the main one.

    Attributes
    ----------
    error : WalltimeReached or None
        What was raised in the function.
    """

    def __init__(self, core: Any, node: str, time_left: Callable[[], float | None], cancelled: Callable[[], bool]):
        self._core, self._node, self._time_left, self._cancelled = core, node, time_left, cancelled
        self._in_function = self._runs_again = False
        self._handler = self._interrupted  # each access makes another object
        self.error: errors.WalltimeReached | None = None

    def job_begins(self) -> None:
        """Takes SIGINT's handler, which an earlier task may have changed: cancel needs it too."""
        self.error = None
        if _signal.getsignal(_signal.SIGINT) is not self._handler:
            _signal.signal(_signal.SIGINT, self._handler)

    def function_begins(self, function: Callable[..., Any], has_name: bool = False, runs_again: bool = False) -> None:
        """`runs_again`: pounced runs it on the next worker when it is lost with this one."""
        self._in_function, self._runs_again = not is_of(function, CELLS), runs_again
        if has_name:
            self._core.interrupt_before_end(_BEFORE_END_S, _SHARE)

    def function_ends(self) -> None:
        self._in_function = False

    def is_met_by(self, error: BaseException) -> bool:
        """Whether the call ends with what was raised here. This waits for the end where a job that goes first takes the
        worker's place, whose reason pounced tells the caller; and where pounced itself runs the call again, which it
        does for what is lost and has no outcome."""
        if error is not self.error:
            return False
        until = time.monotonic() + (self._time_left() or 0.0) + _LATE_S
        while (self._runs_again or self._core.preempted()) and time.monotonic() < until:
            time.sleep(_STEP_S)  # a cancel, or the order to end, raises KeyboardInterrupt here
        return True

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        """SIGINT: near the end of the worker's time, once more at half of what was left then, or since the task is
        cancelled."""
        if not self._core.limit_reached() or self._cancelled():
            _signal.default_int_handler(number, frame)
        if not self._in_function:
            return
        seconds = self._time_left() or 0.0
        if self.error is None:
            why = "makes room for a job that goes first" if self._core.preempted() else "reaches its time limit"
            self.error = errors.WalltimeReached(
                f"the worker on {self._node} {why} in {seconds:.0f} s: the call was interrupted while "
                "it can still return what it has",
                "Catch WalltimeReached and return that, or request more with time=.")
            raise self.error
        print(f"pounce: the call goes on after WalltimeReached: it is cut off in {seconds:.0f} s", file=sys.stderr)
