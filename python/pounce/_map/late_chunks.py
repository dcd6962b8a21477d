"""Which chunk of a map runs for so long that a free worker gets it too. Pure: times are passed in."""

from __future__ import annotations

import collections

# When enough chunks have ended to know the usual time, and how much longer is late: the defaults of Spark 3's
# speculation (spark.speculation.quantile and spark.speculation.multiplier, "Configuration" in its documentation). The
# paper on MapReduce calls this backup tasks (Dean and Ghemawat, OSDI 2004, section 3.6).
ENDED_PART = 0.75    # of the chunks that were sent
TIMES_USUAL = 1.5
LEAST_S = 1.0        # a shorter run is not worth a second worker, nor the interruption of the first
_LATELY = 256        # the number of recent chunks that give the usual time


class LateChunks:
    """The chunks of one map, by number. They may differ in size, since the time of an item is compared."""

    def __init__(self) -> None:
        self._sent = self._ended = 0
        self._items: dict[int, int] = {}      # of each chunk that has not ended
        self._since: dict[int, float] = {}    # of each running chunk that was not copied
        self._item_s: collections.deque[float] = collections.deque(maxlen=_LATELY)

    def sent(self, chunk: int, items: int) -> None:
        self._sent += 1
        self._items[chunk] = items

    def began(self, chunk: int, now: float) -> None:
        self._since[chunk] = now

    def copied(self, chunk: int) -> None:
        """A chunk is copied once at most."""
        self._since.pop(chunk, None)

    def ended(self, chunk: int, seconds: float | None) -> None:
        """`seconds` on the worker; None: it failed, which says nothing about the other chunks."""
        self._ended += 1
        self._since.pop(chunk, None)
        items = self._items.pop(chunk)
        if seconds is not None:
            self._item_s.append(seconds / items)

    def latest(self, now: float) -> int | None:
        """The chunk that is furthest beyond its time; None: none is late."""
        if not self._since or not self._item_s or self._ended < ENDED_PART * self._sent:
            return None
        item_s = TIMES_USUAL * _median(self._item_s)
        beyond = {chunk: (now - since) / max(LEAST_S, item_s * self._items[chunk])
                  for chunk, since in self._since.items()}
        chunk = max(beyond, key=beyond.__getitem__)
        return chunk if beyond[chunk] > 1 else None


def _median(values: collections.deque[float]) -> float:
    """By hand: a kernel has not imported the module statistics, and a file beside the notebook may have that name."""
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
