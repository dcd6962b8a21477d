"""A cell's loop that was left between two steps and continues on another worker."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

_WHY = {"somebody waits": "somebody waits for what its worker holds", "time": "the time of its worker ends"}


@dataclass(frozen=True)
class Loop:
    """`left` is the worker's report. `stays`: the loop may not be left again."""

    left: dict[str, Any]
    stays: bool = False

    def words(self) -> str:
        done, total = self.left["steps"]["position"], self.left["total"]
        of = f" of {total}" if total else ""
        return f"the loop was left after {done}{of} steps, since {_WHY[self.left['why']]}"

    def that_stays(self) -> Loop:
        return replace(self, stays=True)
