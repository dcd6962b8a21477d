"""Pictures as SVG: bars in rows, bars over time, a grid of weekdays and hours.

Each function takes figures and gives text; nothing here knows what is drawn. A colour is a class of the page's style
(``style.css``), so that a picture follows light, dark and print. An SVG element's ``<title>`` is shown under the mouse,
so no script is needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 720
_ROW, _LABEL, _VALUE = 22, 160, 120  # of a row of bars: its height, and the widths left and right of the bar
_LEFT, _TOP, _PLOT, _FOOT = 56, 24, 190, 30  # of a picture over time
_CELL = 25  # of a grid
_CHARACTERS = 20  # of a label that fits


@dataclass(frozen=True)
class Part:
    """A part of a bar: what it is called, the class of its colour, and how large it is, for each place."""

    name: str
    colour: str
    values: Sequence[float]


def clean(text: str) -> str:
    """What users wrote, as a document can have it: XML has no control characters, and no half characters."""
    return escape("".join(character if _is_plain(character) else " " for character in text))


def _is_plain(character: str) -> bool:
    number = ord(character)
    is_control = number < 32 or 127 <= number < 160 or 0x202A <= number <= 0x202E or 0x2066 <= number <= 0x2069
    return not is_control and not 0xD800 <= number < 0xE000 and number not in (0x2028, 0x2029, 0xFFFE, 0xFFFF)


def short(text: str, most: int = _CHARACTERS) -> str:
    return text if len(text) <= most else text[:most - 1] + "…"


def number(value: float) -> str:
    """1234567 -> "1,234,567", 12.34 -> "12.3", 0.042 -> "0.042": as many digits as are read."""
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def ticks(top: float, most: int = 5) -> list[float]:
    """Round numbers from 0, the last at `top` or above: at most `most` steps of 1, 2 or 5 times a power of 10."""
    if top <= 0:
        return [0.0, 1.0]
    power: float = 10.0 ** math.floor(math.log10(top / most))
    step = next(factor * power for factor in (1, 2, 5, 10, 20) if factor * power * most >= top * (1 - 1e-9))
    return [step * place for place in range(math.ceil(top / step - 1e-9) + 1)]


def rows(labels: Sequence[str], parts: Sequence[Part], notes: Sequence[str], unit: str) -> str:
    """A bar for each label, its parts one behind the other, and a note at its right."""
    totals = [sum(part.values[place] for part in parts) for place in range(len(labels))]
    scale = (WIDTH - _LABEL - _VALUE) / (max(totals, default=0) or 1)
    drawn = []
    for place, label in enumerate(labels):
        y, x = place * _ROW, float(_LABEL)
        drawn.append(f'<text class="label" x="{_LABEL - 8}" y="{y + 15}">{clean(short(label))}'
                     f"<title>{clean(label)}</title></text>")
        for part in parts:
            width = part.values[place] * scale
            if width > 0:
                drawn.append(_box(x, y + 3, width, _ROW - 6, part.colour,
                                  f"{label}: {part.name} {number(part.values[place])} {unit}"))
            x += width
        drawn.append(f'<text class="value" x="{x + 6:.1f}" y="{y + 15}">{clean(notes[place])}</text>')
    return _svg(len(labels) * _ROW, drawn)


def over_time(labels: Sequence[str], parts: Sequence[Part], unit: str, line: Part | None = None) -> str:
    """Bars from left to right, their parts one on the other; `line` lies over them. With many bars they touch, and are
    an area in steps."""
    count = len(labels)
    totals = [sum(part.values[place] for part in parts) for place in range(count)]
    marks = ticks(max([*totals, *(line.values if line else ())], default=0))
    step, scale = (WIDTH - _LEFT) / max(count, 1), _PLOT / marks[-1]
    drawn = [_mark(value, _TOP + _PLOT - value * scale, unit if value == marks[-1] else "") for value in marks]
    gap = min(step * 0.2, 8.0) if count <= 62 else 0.0
    base = [0.0] * count
    for part in parts:
        for place, value in enumerate(part.values):
            if value > 0:
                top = _TOP + _PLOT - (base[place] + value) * scale
                drawn.append(_box(_LEFT + place * step + gap / 2, top, step - gap, value * scale, part.colour,
                                  f"{labels[place]}: {part.name} {number(value)} {unit}"))
            base[place] += value
    if line is not None and count:
        points = " ".join(f"{_LEFT + (place + 0.5) * step:.1f},{_TOP + _PLOT - value * scale:.1f}"
                          for place, value in enumerate(line.values))
        drawn += [f'<polyline class="halo" points="{points}"/>', f'<polyline class="line" points="{points}"/>']
    drawn += _feet(labels, step)
    return _svg(_TOP + _PLOT + _FOOT, drawn)


def _mark(value: float, y: float, unit: str) -> str:
    words = f"{number(value)} {unit}".strip()
    kind, x, base = ("value", _LEFT + 2, y - 3) if unit else ("label", _LEFT - 8, y + 4)
    text = f'<text class="{kind}" x="{x}" y="{base:.1f}">{clean(words)}</text>'
    return f'<path class="rule" d="M{_LEFT} {y:.1f}H{WIDTH}"/>{text}'


def _feet(labels: Sequence[str], step: float) -> list[str]:
    """As many labels as fit; each stands under the middle of its bar."""
    longest = max(map(len, labels), default=0)
    every = max(math.ceil((longest * 6.6 + 12) / step), 1)
    y = _TOP + _PLOT + 18
    middles = [(place, _LEFT + (place + 0.5) * step) for place in range(0, len(labels), every)]
    return [f'<text class="foot" x="{middle:.1f}" y="{y}">{clean(labels[place])}</text>'
            for place, middle in middles if middle + longest * 3.3 <= WIDTH or len(labels) == 1]


def grid(columns: Sequence[str], lines: Sequence[str], cells: Sequence[Sequence[tuple[str, str]]]) -> str:
    """Boxes in lines and columns, each with (the class of its colour, its words under the mouse)."""
    drawn = [f'<text class="label" x="{_LEFT - 8}" y="{row * _CELL + 17}">{clean(line)}</text>'
             for row, line in enumerate(lines)]
    step = (WIDTH - _LEFT) / max(len(columns), 1)
    for row, line in enumerate(cells):
        for place, (colour, words) in enumerate(line):
            drawn.append(_box(_LEFT + place * step + 1, row * _CELL + 1, step - 2, _CELL - 2, colour, words))
    y = len(lines) * _CELL + 16
    drawn += [f'<text class="foot" x="{_LEFT + (place + 0.5) * step:.1f}" y="{y}">{clean(column)}</text>'
              for place, column in enumerate(columns)]
    return _svg(len(lines) * _CELL + 24, drawn)


def legend(entries: Sequence[tuple[str, str]]) -> str:
    """(name, class of the colour) of each."""
    items = "".join(f'<li><svg class="key" viewBox="0 0 12 12"><rect class="{colour}" width="12" height="12"/></svg>'
                    f"{clean(name)}</li>" for name, colour in entries)
    return f'<ul class="legend">{items}</ul>'


def _box(x: float, y: float, width: float, height: float, colour: str, words: str) -> str:
    size = f'width="{max(width, 0.4):.1f}" height="{max(height, 0.4):.1f}"'
    return f'<rect class="{colour}" x="{x:.1f}" y="{y:.1f}" {size}><title>{clean(words)}</title></rect>'


def _svg(height: float, drawn: Sequence[str]) -> str:
    return (f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-hidden="true" '
            f'xmlns="http://www.w3.org/2000/svg">{"".join(drawn)}</svg>')
