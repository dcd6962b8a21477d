#!/usr/bin/python3
"""The picture of what tests/bench/seats.py has measured: how many cells had begun after how long.

    tests/bench/seats_figure.py docs/bench/seats.json >docs/images/seats.svg
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

WAYS = {"reserved": ("#b0413e", "a GPU is kept to the end"), "minute": ("#c98a1b", "given back after an idle minute"),
        "parked": ("#1f6f8b", "pounce: given to who waits")}
WIDTH, HEIGHT, LEFT, TOP, PANEL_W, PANEL_H, GAP = 860, 330, 56, 62, 350, 190, 56
LEAST_S = 0.1
TICKS = {0.1: "0.1 s", 1: "1 s", 10: "10 s", 60: "1 min", 300: "5 min"}


def x_of(seconds: float, most: float) -> float:
    return PANEL_W * math.log(max(seconds, LEAST_S) / LEAST_S) / math.log(most / LEAST_S)


def line(run: dict, most: float) -> str:
    """Steps: a cell that never began is no step."""
    waits = sorted(run["waits"])
    begun = waits[: len(waits) - run["never_begun"]] if run["never_begun"] else waits
    points, y = [f"0,{PANEL_H}"], PANEL_H
    for number, wait in enumerate(begun, 1):
        x = x_of(wait, most)
        points.append(f"{x:.1f},{y:.1f}")
        y = PANEL_H * (1 - number / len(waits))
        points.append(f"{x:.1f},{y:.1f}")
    return " ".join([*points, f"{PANEL_W},{y:.1f}"])


def text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" {more}>{words}</text>'


def panel(runs: list[dict], left: float, most: float) -> list[str]:
    parts = [f'<g transform="translate({left},{TOP})">',
             text(0, -14, f'{runs[0]["people"]} people, {runs[0]["gpus"]} GPUs', 'font-weight="bold"')]
    for share in (0, 50, 100):
        y = PANEL_H * (1 - share / 100)
        parts += [f'<line x1="0" x2="{PANEL_W}" y1="{y}" y2="{y}" stroke="#ddd"/>', text(-8, y + 4, f"{share} %", 'text-anchor="end"')]
    for seconds, words in TICKS.items():
        if seconds <= most:
            x = x_of(seconds, most)
            parts += [f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{PANEL_H}" stroke="#eee"/>', text(x, PANEL_H + 18, words, 'text-anchor="middle"')]
    for run in runs:
        colour, _ = WAYS[run["way"]]
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2.5" points="{line(run, most)}"/>')
    return [*parts, "</g>"]


def figure(measured: dict) -> str:
    most = 60 * measured["minutes"]
    gpus = sorted({run["gpus"] for run in measured["runs"]})
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" fill="#333">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             text(LEFT, 24, "Cells that had begun, by how long they waited for a GPU", 'font-size="15"')]
    for place, number in enumerate(gpus):
        runs = [run for run in measured["runs"] if run["gpus"] == number]
        parts += panel(runs, LEFT + place * (PANEL_W + GAP), most)
    for place, (colour, words) in enumerate(WAYS.values()):
        x, y = LEFT + 260 * place, HEIGHT - 22
        parts += [f'<line x1="{x}" x2="{x + 24}" y1="{y - 4}" y2="{y - 4}" stroke="{colour}" stroke-width="3"/>', text(x + 32, y, words)]
    return "\n".join([*parts, "</svg>"])


if __name__ == "__main__":
    print(figure(json.loads(Path(sys.argv[1]).read_text())))
