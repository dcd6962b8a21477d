"""The line under a cell that runs on a GPU: how much of it the cell uses, memory, the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Protocol

from ... import _core
from .. import status_line
from ..shell import has_page

_AFTER_S = 5.0  # a shorter cell has none
_STEP_S = 1.0  # between two looks
_LOST_S = 10.0  # no answer comes any more


class Pending(Protocol):
    def now(self) -> Mapping[str, float] | None: ...


class RunningLine:
    """Of one cell. On a page it is an output that is updated, and empty in the end; on a terminal it goes with the
    cell's first output. Elsewhere there is none, and nothing is measured. Thread: the one that waits for the cell."""

    def __init__(self, look: Callable[[], Pending | None]):
        """`look()` asks the worker what its lease uses, and does not block."""
        self._look = look
        self._since = self._next = self._asked = 0.0
        self._pending: Pending | None = None
        self._out: status_line.LiveOutput | None = None
        self._over = not status_line.shows_live()

    def update(self, state: str | None, lease: _core.LeaseStatus | None, in_line: bool = False) -> None:
        """Called about once a second, with the state of the cell's task. `in_line`: its last print has not ended its
        line, as bars do, which would go on below this one: it does not begin now."""
        if self._over or state != "running" or lease is None or not lease.devices:
            return
        now = time.monotonic()
        self._since = self._since or now
        if now - self._since < _AFTER_S or now < self._next or (in_line and self._out is None):
            return
        self._next = now + _STEP_S - 0.05  # the step of the wait is not exact
        used = self._pending.now() if self._pending is not None else None
        if used is not None:
            self._out = self._out or status_line.live_output()
            self._out.show(_core.printable(words_of(lease, used)))
        if used is not None or self._pending is None or now - self._asked > _LOST_S:
            self._pending, self._asked = self._look(), now

    def output_comes(self) -> None:
        """The cell shows something: a line of a terminal makes room for it."""
        if not has_page():
            self.end()

    def end(self) -> None:
        if self._out is not None:
            self._out.clear()
            self._out = None
        self._over = True


def words_of(lease: _core.LeaseStatus, used: Mapping[str, float]) -> str:
    where = ", ".join(filter(None, (lease.node, lease.devices)))
    return "pounce: " + " · ".join(filter(None, (where, _gpus(used), _memory(used), _left(lease))))


def _gpus(used: Mapping[str, float]) -> str:
    """`GPU 83 %, 12.1 of 40.0 GB`; of several GPUs their use one by one, and the memory of all."""
    use = [value for name, value in sorted(used.items()) if name.endswith("_utilization_percentage") and "gpu_" in name]
    names = [name for name in used if name.startswith("gpu_") and name.endswith("_memory_usage_megabytes")]
    held = sum(used[name] for name in names)
    all_of_it = sum(100 * used[name] / share for name in names
                    if (share := used.get(name.replace("megabytes", "percentage"), 0.0)))
    parts = [f"GPU{'s' if len(use) > 1 else ''} {', '.join(f'{value:.0f}' for value in use)} %"] if use else []
    if names:
        parts.append(f"{held / 1000:.1f}{f' of {all_of_it / 1000:.1f}' if all_of_it else ''} GB")
    return ", ".join(parts)


def _memory(used: Mapping[str, float]) -> str:
    held = used.get("system_memory_usage_megabytes")
    return f"memory {held / 1000:.1f} GB" if held is not None else ""


def _left(lease: _core.LeaseStatus) -> str:
    if not lease.end_time:
        return ""
    minutes, seconds = divmod(max(0, int(lease.end_time - time.time())), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min left"
    return f"{minutes} min left" if minutes >= 2 else f"{60 * minutes + seconds} s left"
