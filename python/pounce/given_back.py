"""What a session remembers of workers that went while they were idle, since somebody waited for what they held."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .future import Future


class GivenBack:
    """By what was asked for: the next call of that kind is told."""

    def __init__(self) -> None:
        self._wants: dict[tuple[Any, ...], int] = {}  # by resources
        self._ends: dict[int, dict[str, str]] = {}  # of a want's last worker

    def asked(self, resources: tuple[Any, ...], want: Callable[[], int | None]) -> None:
        if resources not in self._wants and (number := want()) is not None:
            self._wants[resources] = number

    def heard(self, want: int, end: dict[str, str]) -> None:
        self._ends[want] = {"at": str(time.time()), **end}

    def ended(self, future: Future | None, ok: bool) -> None:
        """One that has just run shows that a worker of its kind lives."""
        if self._ends and ok and future is not None and future._asks is not None:
            self.forget(future._asks.as_tuple())

    def forget(self, resources: tuple[Any, ...]) -> None:
        self._ends.pop(self._wants.get(resources, -1), None)

    def words(self, resources: tuple[Any, ...]) -> str:
        """Empty: the worker with these resources did not go."""
        if not self._ends:
            return ""
        end = self._ends.get(self._wants.get(resources, -1))
        if end is None:
            return ""
        gpus = int(end.get("gpus", 0))
        what, them = ("the worker", "it") if gpus == 0 else ("the GPU", "it") if gpus == 1 else (f"the {gpus} GPUs", "them")
        clock = time.strftime("%H:%M", time.localtime(float(end["at"])))
        return f"{what} {'were' if gpus > 1 else 'was'} given back at {clock}: somebody waited for {them}"
