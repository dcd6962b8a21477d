"""``%pounce timings``: the parts of the last cells as bars, in text and in HTML without a script."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import asdict

from ... import _core
from ...errors import BadRequest
from .records import CellTimings

_SHOWN = 10
_WIDTH = 64  # of a bar: with the margin a line fits into a terminal of 80 columns
_MARGIN = " " * 10
_HEAD = ("queue", "start", "import", "data", "compile", "output", "loss", "total")
_LETTERS = {"queue": "q", "start": "s", "import": "i", "data": "d", "compile": "c", "first output": "o",
            "first loss": "l", "rest": "-"}
_COLOURS = {"queue": "#9e9e9e", "start": "#6d8fb3", "import": "#c58f3d", "data": "#4f9d69", "compile": "#a8577e",
            "first output": "#3b6fd4", "first loss": "#d4553b", "rest": "#dddddd"}
_NOTHING = "no cell of this notebook has run on a worker yet"


class TimingsTable:
    """Of the last ten of `records`."""

    def __init__(self, records: Sequence[CellTimings]):
        self._records = records[-_SHOWN:]

    def __repr__(self) -> str:
        if not self._records:
            return _NOTHING
        lines = [_MARGIN + "".join(f"{word:>8}" for word in _HEAD)]
        for record in self._records:
            lines += [_numbers(record), _MARGIN + _bar(record, self._longest())]
        return "\n".join([*lines, *self._words()])

    def _repr_html_(self) -> str:
        if not self._records:
            return f"<i>{_NOTHING}</i>"
        rows = "".join(_html_row(record, self._longest()) for record in self._records)
        legend = " ".join(f'<span style="background-color: {colour}">&nbsp;&nbsp;</span> {html.escape(part)}'
                          for part, colour in _COLOURS.items())
        return (f'<table>{rows}</table><div>{legend}</div>'
                + "".join(f"<div>{html.escape(line)}</div>" for line in self._words()[1:]))

    def _longest(self) -> float:
        return max(record.total for record in self._records)

    def _words(self) -> list[str]:
        """What the letters mean, and how long cold and warm cells took to show something."""
        letters = ", ".join(f"{letter} {part}" for part, letter in _LETTERS.items() if part not in _UNTIL)
        lines = [f"{letters}, o to the first output, l from there to the first loss"]
        for word, cold in (("cold", True), ("warm", False)):
            times = sorted(record.first_output for record in self._records
                           if record.cold is cold and record.first_output is not None)
            if times:
                lines.append(f"{word}: first output after {_seconds(times[len(times) // 2])} s "
                             f"(median of {len(times)})")
        return lines


_UNTIL = ("first output", "first loss")


def table_of(words: Sequence[str], records: Sequence[CellTimings]) -> TimingsTable | str:
    """What `%pounce timings` with these words shows."""
    if not words:
        return TimingsTable(records)
    if list(words) == ["--json"]:
        return json.dumps([asdict(record) for record in records[-_SHOWN:]])
    word = next(word for word in words if word != "--json") if set(words) != {"--json"} else words[1]
    raise BadRequest(f"%pounce timings takes --json or nothing, not {word}")


def _numbers(record: CellTimings) -> str:
    measured = (record.queue, record.start, record.imports, record.data, record.compile, record.first_output,
                record.first_loss, record.total)
    kind = "cold" if record.cold else "warm"
    words = filter(None, (_core.printable(record.loss), _rank(record)))
    return "".join([f"{record.cell:>4} {kind} ", *(f"{_seconds(seconds):>8}" for seconds in measured),
                    *(f"  {word}" for word in words)])


def _rank(record: CellTimings) -> str:
    """Whose times they are, of a cell that several ranks have run."""
    return f"rank 0 of {record.ranks}" if record.ranks > 1 else ""


def _seconds(seconds: float | None) -> str:
    """Three digits; `-`: there is none."""
    if not seconds:
        return "-"
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.1f}" if seconds < 1000 else f"{seconds:.0f}"


def _bar(record: CellTimings, longest: float) -> str:
    """Each part ends where its end is on the common scale, so rounding does not add up."""
    bar, at = "", 0.0
    for part, seconds in record.parts().items():
        at += seconds
        bar += _LETTERS[part] * (round(_WIDTH * at / longest) - len(bar))
    return bar or "|"


def _html_row(record: CellTimings, longest: float) -> str:
    spans = "".join(
        f'<div title="{part}: {seconds:.3f} s" style="width: {100 * seconds / longest:.2f}%; '
        f'background-color: {_COLOURS[part]}; height: 1em; float: left"></div>'
        for part, seconds in record.parts().items() if seconds)
    marks = [f"first output {_seconds(record.first_output)} s"] if record.first_output is not None else []
    if record.first_loss is not None:
        marks.append(f"first loss {_seconds(record.first_loss)} s ({html.escape(_core.printable(record.loss))})")
    marks += filter(None, [f"total {_seconds(record.total)} s", _rank(record)])
    kind = "cold" if record.cold else "warm"
    return (f'<tr><td>{record.cell}</td><td>{kind}</td><td style="width: 400px; min-width: 400px">{spans}</td>'
            f'<td style="text-align: left">{", ".join(marks)}</td></tr>')
