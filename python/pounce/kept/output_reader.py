"""Reads a cell's kept output from its beginning while a worker writes it (src/worker/interpreter/kept_output.h)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

_MOST_LINE = 4096


@dataclass(frozen=True)
class Output:
    """One piece. `kind`: "stdout", "stderr", "message" (JSON, then its buffers) or "missing"."""

    kind: str
    parts: tuple[bytes, ...] = ()
    lines: int = 0  # of what is missing
    displays: int = 0

    def message(self) -> dict[str, Any]:
        return dict(json.loads(self.parts[0]))

    def text(self) -> str:
        return self.parts[0].decode("utf-8", "replace")

    def words(self) -> str:
        """Of what is missing."""
        counts = [f"{count} {unit}{'s' if count > 1 else ''}"
                  for count, unit in ((self.lines, "line"), (self.displays, "display")) if count]
        return f"{' and '.join(counts)} of this cell's output {'is' if self._one() else 'are'} not kept"

    def _one(self) -> bool:
        return self.lines + self.displays == 1


class OutputReader:
    """One reader's place in the output of one cell."""

    def __init__(self, folder: str):
        self._folder = folder
        self._number = 0  # of the file that is read
        self._file: BinaryIO | None = None
        self._lines = self._displays = 0  # read so far, or known to be missing
        self._gap: Output | None = None  # what is missing before the next piece

    def unread(self) -> Iterator[Output]:
        """What has been kept since the last call, with what is missing."""
        while True:
            following = self._following()  # looked for first: a file is whole when the next one is there
            if self._file is not None:
                yield from self._pieces(self._file)
            if following is None:
                return
            self._turn_to(following)

    def missing_at_the_end(self, totals: dict[str, int]) -> Iterator[Output]:
        """Behind the last piece. `totals`: how many lines and displays there were, as far as that is known."""
        self._note_missing(totals)
        if self._gap is not None:
            yield self._gap
        self._gap = None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = None

    def _following(self) -> int | None:
        try:
            names = os.listdir(self._folder)
        except OSError:
            return None
        numbers = [int(name[:-4]) for name in names if name.endswith(".out") and name[:-4].isdigit()]
        return min((number for number in numbers if number > self._number), default=None)

    def _turn_to(self, number: int) -> None:
        self.close()
        self._number = number
        try:
            self._file = open(os.path.join(self._folder, f"{number:08}.out"), "rb")  # noqa: SIM115
            before = json.loads(self._file.readline(_MOST_LINE) or b"{}")
        except (OSError, ValueError):  # it was removed meanwhile, or is not whole: the next one counts it
            return
        self._note_missing(before)

    def _note_missing(self, before: dict[str, int]) -> None:
        lines = max(0, before.get("lines", 0) - self._lines)
        displays = max(0, before.get("displays", 0) - self._displays)
        self._lines += lines
        self._displays += displays
        if lines or displays:
            gap = self._gap or Output("missing")
            self._gap = Output("missing", (), gap.lines + lines, gap.displays + displays)

    def _pieces(self, file: BinaryIO) -> Iterator[Output]:
        while True:
            place = file.tell()
            try:
                piece = _piece(file)
            except (OSError, ValueError):
                piece = None
            if piece is None:
                file.seek(place)
                return
            if piece.kind == "message":
                self._displays += 1
            else:
                self._lines += piece.parts[0].count(b"\n")
            yield from self._behind_gap(piece)

    def _behind_gap(self, piece: Output) -> Iterator[Output]:
        """A piece, with the gap before it. Text may begin in the middle of a line, which then counts as missing."""
        gap, self._gap = self._gap, None
        if gap is not None and gap.lines and piece.kind != "message" and b"\n" in piece.parts[0]:
            gap = Output("missing", (), gap.lines + 1, gap.displays)
            piece = Output(piece.kind, (piece.parts[0].partition(b"\n")[2],))
        if gap is not None:
            yield gap
        if piece.parts[0]:
            yield piece


def _piece(file: BinaryIO) -> Output | None:
    """None: it is not there, or not whole yet."""
    line = file.readline(_MOST_LINE)
    if not line.endswith(b"\n"):
        return None
    head = json.loads(line)
    parts = tuple(file.read(size) for size in head["sizes"])
    if [len(part) for part in parts] != head["sizes"]:
        return None
    return Output(head["kind"], parts)
