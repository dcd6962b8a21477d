#!/usr/bin/python3
"""The picture of what `pounce-bench curve --json` has measured: how fast data of each size goes, by the road that it takes.

    tests/bench/roads_figure.py docs/bench/curve.json >docs/images/roads.svg
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

COLOURS = {"memory, one machine": "#1f6f8b", "bulk lane, TLS 1.3": "#c8553d", "ZeroMQ, CURVE": "#8a8f98"}
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 860, 400, 60, 76, 350
RIGHT = 640
GRID = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30]


def text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" {more}>{words}</text>'


def size_words(mib: int) -> str:
    return f"{mib // 1024} GiB" if mib >= 1024 else f"{mib} MiB"


def curves(measured: dict) -> dict[str, dict[int, float]]:
    """Medians by road and direction, by MiB."""
    found: dict[str, dict[int, float]] = {}
    for table in measured["tables"]:
        for row in table["rows"]:
            found.setdefault(row["name"], {})[int(table["title"].split()[0])] = row["median"]
    return found


def figure(measured: dict) -> str:
    all_curves = curves(measured)
    sizes = sorted({mib for points in all_curves.values() for mib in points})
    rates = [rate for points in all_curves.values() for rate in points.values()]
    low, high = max(g for g in [GRID[0], *GRID] if g <= max(min(rates), GRID[0])), min(g for g in [*GRID, 100] if g >= max(rates))
    x = {mib: LEFT + (RIGHT - LEFT) * place / max(1, len(sizes) - 1) for place, mib in enumerate(sizes)}

    def y(rate: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (math.log(max(rate, low)) - math.log(low)) / (math.log(high) - math.log(low))

    machine = measured["machine"]
    parts = [text(20, 26, "Data to a worker and back, GB/s, by size and road", 'font-size="15"'),
             text(20, 46, f'{machine["cores"]} cores, load {machine["load"]}; unbroken: to its use there; dashed: made there, until it is here')]
    for grid in (g for g in GRID if low <= g <= high):
        parts += [f'<line x1="{LEFT}" x2="{RIGHT}" y1="{y(grid):.1f}" y2="{y(grid):.1f}" stroke="#ddd"/>',
                  text(LEFT - 8, y(grid) + 4, f"{grid:g}", 'text-anchor="end"')]
    parts += [text(x[mib], BOTTOM + 18, size_words(mib), 'text-anchor="middle"') for mib in sizes]
    for place, (road, colour) in enumerate((road, colour) for road, colour in COLOURS.items() if f"{road}: there" in all_curves):
        parts += [f'<rect x="{RIGHT + 20}" y="{TOP + 22 * place}" width="12" height="12" fill="{colour}"/>',
                  text(RIGHT + 38, TOP + 11 + 22 * place, road)]
        for way, dash in (("there", ""), ("back", ' stroke-dasharray="5 4"')):
            points = " ".join(f"{x[mib]:.1f},{y(rate):.1f}" for mib, rate in sorted(all_curves[f"{road}: {way}"].items()))
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
    look = 'font-family="sans-serif" font-size="12" fill="#333"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {look}>',
                      f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>', *parts, "</svg>"])


if __name__ == "__main__":
    print(figure(json.loads(Path(sys.argv[1]).read_text())))
