"""Whether the task that runs here is to end: a KeyboardInterrupt is that end then, and not its function's own error."""

from __future__ import annotations

from collections.abc import Callable

is_to_end: Callable[[], bool] = lambda: False  # on a worker, its interpreter says
