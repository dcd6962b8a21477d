"""``PeakMemory``: the most memory that this process has had at a time since the count was last reset.

The kernel counts it all the time. Two system calls of about 1 us together reset and read it, however large the process
is. Short tasks in a row share the reset: a task that begins within 10 ms of the last one gets the peak since then,
which may include memory that was freed in those 10 ms.
"""

from __future__ import annotations

import os
import time

from .. import _core

_COUNT_ANEW = b"5"  # man 5 proc, /proc/pid/clear_refs
_SHARED_S = 0.01


class PeakMemory:
    def __init__(self) -> None:
        try:
            self._file = os.open("/proc/self/clear_refs", os.O_WRONLY | os.O_CLOEXEC)
        except OSError:  # this kernel has no such file
            self._file = -1
        self._shared_until = 0.0

    def begin(self) -> None:
        now = time.monotonic()
        if self._file >= 0 and now >= self._shared_until:
            os.write(self._file, _COUNT_ANEW)
            self._shared_until = now + _SHARED_S

    def bytes(self) -> int:
        """Since ``begin``, or at most 10 ms before it; 0: not known."""
        return _core.most_memory() if self._file >= 0 else 0
