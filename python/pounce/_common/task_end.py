"""Whether the task that runs here has to end: a KeyboardInterrupt then means that, not an error of its function."""

from __future__ import annotations

from collections.abc import Callable


def _outside_a_worker() -> bool:
    return False


is_to_end: Callable[[], bool] = _outside_a_worker  # a worker's interpreter sets its own
