#!/usr/bin/python3
"""The picture of what tests/bench/seats.py has measured: what people's time went to.

    tests/bench/seats_figure.py docs/bench/seats.json >docs/images/seats.svg

Not waits by cell: who has a GPU for good runs many cells and waits for none, and who never gets one waits with a single cell.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

WAYS = {"reserved": "a GPU is kept to the end", "minute": "given back after an idle minute", "parked": "pounce: given to who waits"}
PARTS = {"runs a cell": "#1f6f8b", "thinks": "#9cc3cf", "waits for a GPU": "#c8553d"}
WIDTH, LEFT, BAR_W, BAR_H, STEP, TOP = 860, 205, 400, 20, 28, 70


def text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" {more}>{words}</text>'


def shares(run: dict) -> list[float]:
    running = run["busy_s"] / (run["people"] * run["seconds"])
    return [running, 1 - running - run["waiting"], run["waiting"]]


def bar(run: dict, y: float) -> list[str]:
    parts, x = [text(LEFT - 10, y + 15, WAYS[run["way"]], 'text-anchor="end"')], float(LEFT)
    for share, colour in zip(shares(run), PARTS.values(), strict=True):
        parts.append(f'<rect x="{x:.1f}" y="{y}" width="{BAR_W * share:.1f}" height="{BAR_H}" fill="{colour}"/>')
        if share >= 0.04:
            parts.append(text(x + BAR_W * share / 2, y + 15, f"{100 * share:.0f} %", 'text-anchor="middle" fill="white"'))
        x += BAR_W * share
    told = f'{run["cells"]} cells, {run["served"]} of {run["people"]} people had a GPU'
    return [*parts, text(x + 10, y + 15, told)]


def figure(measured: dict) -> str:
    parts, y = [text(20, 26, "What twelve people who edit and run spend their time on", 'font-size="15"')], TOP
    for place, (words, colour) in enumerate(PARTS.items()):
        x = LEFT + 130 * place
        parts += [f'<rect x="{x}" y="38" width="12" height="12" fill="{colour}"/>', text(x + 18, 49, words)]
    for gpus in sorted({run["gpus"] for run in measured["runs"]}):
        parts.append(text(20, y + 12, f"{gpus} GPUs", 'font-weight="bold"'))
        y += 22
        for run in (run for run in measured["runs"] if run["gpus"] == gpus):
            parts += bar(run, y)
            y += STEP
        y += 10
    look = 'font-family="sans-serif" font-size="12" fill="#333"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" {look}>',
                      f'<rect width="{WIDTH}" height="{y}" fill="white"/>', *parts, "</svg>"])


if __name__ == "__main__":
    print(figure(json.loads(Path(sys.argv[1]).read_text())))
