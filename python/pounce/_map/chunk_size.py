"""How many items of a map travel together. Pure: times are passed in."""

from __future__ import annotations

# How long a chunk should take: its overhead is 1 % then, ■ takes effect soon, and no worker ends long after the others.
CHUNK_S = 0.05
CHUNK_MOST = 4096
_GROWS = 16       # the most by which a size grows at once: the first items are only a sample


def next_size(size: int, items: int, seconds: float) -> int:
    """The size after a chunk of `items` that took `seconds`.

    Several chunks are under way, sized as was right when they were sent, so a chunk is judged by its own size.
    """
    if seconds < CHUNK_S / 2:
        fits = int(items * min(CHUNK_S / max(seconds, 1e-9), _GROWS))
        return max(size, min(CHUNK_MOST, fits))
    if seconds > 2 * CHUNK_S:
        return min(size, max(1, int(items * CHUNK_S / seconds)))
    return size
