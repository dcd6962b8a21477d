"""Whether the task that runs here is to end: a KeyboardInterrupt is that end then, and not its function's own error."""

from __future__ import annotations

from collections.abc import Callable


def _outside_a_worker() -> bool:
    return False


is_to_end: Callable[[], bool] = _outside_a_worker  # a worker's interpreter puts its own here
