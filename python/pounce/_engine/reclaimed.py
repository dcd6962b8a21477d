"""What a session remembers of idle workers that were given back because another request waited for their resources."""

from __future__ import annotations

import time

from .. import _core


class Reclaimed:
    """By the request that a worker served: the next such call tells the user."""

    def __init__(self) -> None:
        self.ends: dict[int, _core.GivenBack] = {}  # how the last worker of each request ended

    def add(self, end: _core.GivenBack) -> None:
        self.ends[end.request] = end

    def forget(self, request: int | None) -> None:
        if request is not None:
            self.ends.pop(request, None)

    def words(self, request: int | None) -> str:
        """The notice for the user; empty: its worker did not go, or nothing was requested yet."""
        end = self.ends.get(request) if request is not None else None
        if end is None:
            return ""
        if end.gpus > 1:
            what, them = f"the {end.gpus} GPUs", "them"
        else:
            what, them = "the GPU" if end.gpus else "the worker", "it"
        clock = time.strftime("%H:%M", time.localtime(end.at))
        return f"{what} {'were' if end.gpus > 1 else 'was'} given back at {clock}: somebody waited for {them}"
