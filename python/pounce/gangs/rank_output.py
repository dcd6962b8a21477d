"""What a rank other than 0 prints: kept until the run has ended, then shown folded, under the rank's number."""

from __future__ import annotations

import collections
import html
import sys
from typing import Any

from .. import _core
from .._engine.shell import has_page

_KEPT = 200  # the newest lines
_PLAIN = 10  # how many of them are shown where nothing can be folded


class RankOutput:
    """A ``Sink``."""

    def __init__(self, rank: int):
        self._rank = rank
        self._lines: collections.deque[str] = collections.deque(maxlen=_KEPT)
        self._open = ""
        self._count = 0

    def printed(self, is_error: bool, data: bytes) -> None:
        *whole, self._open = (self._open + data.decode(errors="replace")).split("\n")
        self._count += len(whole)
        self._lines.extend(line.rpartition("\r")[2] for line in whole)

    def message(self, message: dict[str, Any], buffers: list[Any]) -> None:
        """Dropped: only rank 0 shows figures and bars."""

    def last_lines(self) -> list[str]:
        """The last lines, for the error of a failed rank."""
        lines = [*self._lines, self._open] if self._open else [*self._lines]
        return lines[-_PLAIN:]

    def show(self) -> None:
        if self._open:
            self.printed(False, b"\n")
        if not self._lines:
            return
        lines = [_core.printable(line) for line in self._lines]
        if not has_page():
            shown = lines[-_PLAIN:]
            left_out = [f"… {self._count - len(shown)} lines before"] if self._count > len(shown) else []
            sys.stdout.write("".join(f"[rank {self._rank}] {line}\n" for line in [*left_out, *shown]))
            return
        from IPython.display import HTML, display

        text = html.escape("\n".join(lines))
        title = f"rank {self._rank}: {self._count} line{'s' if self._count > 1 else ''}"
        display(HTML(f"<details><summary>{title}</summary><pre>{text}</pre></details>"))
