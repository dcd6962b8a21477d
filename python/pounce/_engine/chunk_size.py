"""How many items of a map travel together. A decision alone: times are handed in."""

from __future__ import annotations

CHUNK_S = 0.05    # a chunk is to take this long: its overhead is 1 % then, ■ is answered soon, and no worker has a long rest to itself
CHUNK_MOST = 4096
_GROWS = 16       # times at once: the first items of many are a sample


def next_size(size: int, items: int, seconds: float) -> int:
    """After a chunk of `items` that took so long.

    Several chunks are under way, with as many items as were right when they were sent: what a chunk tells is of its own size.
    """
    if seconds < CHUNK_S / 2:
        fits = int(items * min(CHUNK_S / max(seconds, 1e-9), _GROWS))
        return max(size, min(CHUNK_MOST, fits))
    if seconds > 2 * CHUNK_S:
        return min(size, max(1, int(items * CHUNK_S / seconds)))
    return size
