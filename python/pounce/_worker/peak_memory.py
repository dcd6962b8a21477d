"""``PeakMemory``: the most memory that this process has had at a time since the count was last reset.

The kernel counts it all the time. Two system calls of about 1 us together reset and read it, however large the process
is. Short tasks in a row share them: a task that begins within 10 ms of the last one gets the peak since then, which
may include memory that was freed in those 10 ms; and one that ends within 0.2 ms of the last look gets what was seen
then, since so soon no task can have filled much more.
"""

from __future__ import annotations

import os

from .. import _core

_COUNT_ANEW = b"5"  # man 5 proc, /proc/pid/clear_refs
_SHARED_S = 0.01
_SEEN_S = 0.0002


class PeakMemory:
    def __init__(self) -> None:
        try:
            self._file = os.open("/proc/self/clear_refs", os.O_WRONLY | os.O_CLOEXEC)
        except OSError:  # this kernel has no such file
            self._file = -1
        self._shared_until = self._seen_until = 0.0
        self._seen = 0

    def begin(self, now: float) -> None:
        """`now`: on the monotonic clock."""
        if self._file >= 0 and now >= self._shared_until:
            os.write(self._file, _COUNT_ANEW)
            self._shared_until, self._seen_until = now + _SHARED_S, 0.0

    def bytes(self, now: float) -> int:
        """Since ``begin``, or at most 10 ms before it; 0: not known. `now`: on the monotonic clock."""
        if self._file >= 0 and now >= self._seen_until:
            self._seen, self._seen_until = _core.most_memory(), now + _SEEN_S
        return self._seen
