"""The numbers of open gangs: gangs with equal resources must not share a lease, and a new gang may take over the lease
of a closed one.
"""

from __future__ import annotations

import threading

from .. import _core
from ..errors import BadRequest
from .options import Options

_MOST = _core.MOST["gang"]


class GangNumbers:
    """The numbers of one session's gangs. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: set[Options] = set()

    def take(self, options: Options) -> Options:
        """These options with the lowest free number."""
        with self._lock:
            for number in range(1, _MOST + 1):
                numbered = options.with_resources(gang=number)
                if numbered not in self._taken:
                    self._taken.add(numbered)
                    return numbered
        raise BadRequest(f"{_MOST} gangs like this one are open", "Close some of them.")

    def give_back(self, numbered: Options) -> None:
        with self._lock:
            self._taken.discard(numbered)
