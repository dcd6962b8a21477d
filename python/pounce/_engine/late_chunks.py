"""Which chunk of a map runs for so long that a free worker is given it too. A decision alone: times are handed in."""

from __future__ import annotations

import collections

# When others of the same work have shown what is usual, and how much longer is late: the defaults of Spark 3's speculation
# (spark.speculation.quantile and spark.speculation.multiplier, "Configuration" in its documentation). It does what the paper on
# MapReduce calls backup tasks (Dean and Ghemawat, OSDI 2004, section 3.6).
ENDED_PART = 0.75    # of the chunks that were sent
TIMES_USUAL = 1.5
LEAST_S = 1.0        # what runs for less is not worth a second worker, nor the interruption of the first
_LATELY = 256        # chunks, by which the usual is known


class LateChunks:
    """Of one map. Chunks have numbers; they need not be of the same size, as the time of an item is what is compared."""

    def __init__(self) -> None:
        self._sent = self._ended = 0
        self._items: dict[int, int] = {}      # of chunks that have not ended
        self._since: dict[int, float] = {}    # of those that run and were not copied
        self._item_s: collections.deque[float] = collections.deque(maxlen=_LATELY)

    def sent(self, chunk: int, items: int) -> None:
        self._sent += 1
        self._items[chunk] = items

    def began(self, chunk: int, now: float) -> None:
        self._since[chunk] = now

    def copied(self, chunk: int) -> None:
        """One copy of a chunk is all that there is."""
        self._since.pop(chunk, None)

    def ended(self, chunk: int, seconds: float | None) -> None:
        """`seconds` on the worker; None: it failed, which says nothing of the others."""
        self._ended += 1
        self._since.pop(chunk, None)
        items = self._items.pop(chunk)
        if seconds is not None:
            self._item_s.append(seconds / items)

    def latest(self, now: float) -> int | None:
        """The one that is furthest beyond its time; None: none is."""
        if not self._since or not self._item_s or self._ended < ENDED_PART * self._sent:
            return None
        item_s = TIMES_USUAL * _median(self._item_s)
        beyond = {chunk: (now - since) / max(LEAST_S, item_s * self._items[chunk]) for chunk, since in self._since.items()}
        chunk = max(beyond, key=beyond.__getitem__)
        return chunk if beyond[chunk] > 1 else None


def _median(values: collections.deque[float]) -> float:
    """Not the module statistics': a notebook's kernel has not imported it, and a file beside the notebook may have that name."""
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
