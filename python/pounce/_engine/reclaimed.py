"""What a session remembers of workers that went while they were idle, since somebody waited for what they held."""

from __future__ import annotations

import time


class Reclaimed:
    """By the request that a worker served: the next call of that kind is told."""

    def __init__(self) -> None:
        self._ends: dict[int, dict[str, str]] = {}  # of a request's last worker

    def __bool__(self) -> bool:
        return bool(self._ends)

    def add(self, request: int, end: dict[str, str]) -> None:
        self._ends[request] = {"at": str(time.time()), **end}

    def forget(self, request: int | None) -> None:
        if request is not None:
            self._ends.pop(request, None)

    def words(self, request: int | None) -> str:
        """Empty: its worker did not go, or nothing was asked for yet."""
        end = self._ends.get(request) if request is not None else None
        if end is None:
            return ""
        gpus = int(end.get("gpus", 0))
        what, them = ("the worker", "it") if gpus == 0 else ("the GPU", "it") if gpus == 1 else (f"the {gpus} GPUs", "them")
        clock = time.strftime("%H:%M", time.localtime(float(end["at"])))
        return f"{what} {'were' if gpus > 1 else 'was'} given back at {clock}: somebody waited for {them}"
