#!/usr/bin/python3
"""The picture of what tests/bench/growth.py has measured: cost as work grows, both axes logarithmic but for pounced's memory.

    tests/bench/growth_figure.py docs/bench/growth.json >docs/images/growth.svg
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

WIDTH, HEIGHT, LEFT, TOP, PLOT_W, PLOT_H, GAP = 900, 300, 60, 60, 210, 180, 85
COLOURS = ["#1f6f8b", "#c8553d", "#7a9e3b"]
PLOTS = [  # rows, the horizontal axis, title, curves
    ("tasks", "tasks", "µs of a processor for a task", {"client_us": "client", "worker_us": "worker", "pounced_us": "pounced"}),
    ("workers", "workers", "µs of a processor for a task", {"client_us": "client", "pounced_us": "pounced"}),
    ("clients", "clients", "MB of pounced", {"pounced_mb": "pounced"}),
]


def text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" {more}>{words}</text>'


def plot(left: float, rows: list[dict], across: str, title: str, curves: dict[str, str]) -> list[str]:
    is_linear = across == "clients"
    scale = (lambda value: value) if is_linear else math.log10
    values = [row[curve] for row in rows for curve in curves]
    low, high = (0.0, max(values) * 1.1) if is_linear else (math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))))
    first, last = scale(rows[0][across]), scale(rows[-1][across])
    x = lambda value: left + PLOT_W * (scale(value) - first) / (last - first)
    y = lambda value: TOP + PLOT_H * (1 - (scale(value) - low) / (high - low))
    parts = [text(left, TOP - 14, title), f'<rect x="{left}" y="{TOP}" width="{PLOT_W}" height="{PLOT_H}" fill="none" stroke="#ccc"/>']
    marks = [0, 10, 20, 30] if is_linear else [10**power for power in range(int(low), int(high) + 1)]
    parts += [text(left - 8, y(mark) + 4, f"{mark:g}", 'text-anchor="end"') for mark in marks if mark <= (high if is_linear else 10**high)]
    for row in (rows[0], rows[len(rows) // 2], rows[-1]):
        parts.append(text(x(row[across]), TOP + PLOT_H + 18, f"{row[across]:,}", 'text-anchor="middle"'))
    parts.append(text(left + PLOT_W / 2, TOP + PLOT_H + 36, across, 'text-anchor="middle"'))
    for number, ((curve, name), colour) in enumerate(zip(curves.items(), COLOURS if len(curves) != 2 else COLOURS[::2])):
        points = " ".join(f"{x(row[across]):.1f},{y(row[curve]):.1f}" for row in rows)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(text(left + 8, y(rows[0][curve]) + (18 if number == 1 and len(curves) > 2 else -8), name, f'fill="{colour}"'))
    return parts


def figure(measured: dict) -> str:
    parts = [text(20, 24, "What pounce costs as work grows", 'font-size="15"')]
    for place, (rows, across, title, curves) in enumerate(PLOTS):
        parts += plot(LEFT + place * (PLOT_W + GAP), measured[rows], across, title, curves)
    look = 'font-family="sans-serif" font-size="12" fill="#333"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {look}>',
                      f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>', *parts, "</svg>"])


if __name__ == "__main__":
    print(figure(json.loads(Path(sys.argv[1]).read_text())))
