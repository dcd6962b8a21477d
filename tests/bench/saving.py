#!/usr/bin/python3
"""What saving costs a notebook that never leaves its worker: the same cells one after the other, saved and not, turn about.

    tests/bench/saving.py [ROUNDS]      prints one line of JSON; fails on no number

Workers are this machine's own processes. Each cell changes 16 MB in place, takes a while, and appends to a list; beside that
lie 20,000 strings that no cell reads.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from kernel import Notebook, notebook_at_home

CELLS = 60
BEGIN = """%%pounce
import numpy as np
a, history = np.random.default_rng(1).random(2_000_000), []
texts = {number: f"text {number}" * 3 for number in range(20_000)}
"""
CELL = """%%pounce
a *= 1.000001
history.append(float(np.sort(a)[::1000].mean()))
"""
NO_SAVING = "from pounce.cell.notebook_state import NotebookState; NotebookState.make_folder = lambda self, root: None"
IDLE_S = 3.0  # between the turns: what is saved then is no part of a turn


def turn(notebook: Notebook) -> list[float]:
    time.sleep(IDLE_S)
    taken = []
    for _ in range(CELLS):
        start = time.perf_counter()
        shown = notebook.run(CELL)
        taken.append(time.perf_counter() - start)
        assert not shown.of("error"), shown
    return taken


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    with contextlib.ExitStack() as stack:
        both = {name: stack.enter_context(notebook_at_home(f"import pounce\n{more}")) for name, more in (("saved", ""), ("not", NO_SAVING))}
        for notebook in both.values():
            assert not notebook.run(BEGIN).of("error")
        times: dict[str, list[list[float]]] = {name: [] for name in both}
        for number in range(rounds):
            for name in sorted(both, reverse=bool(number % 2)):
                times[name].append(turn(both[name]))
    whole = {name: [sum(cells) for cells in turns] for name, turns in times.items()}
    more = statistics.median(a / b for a, b in zip(whole["saved"], whole["not"], strict=True)) - 1
    medians = {name: statistics.median(cell for turn in turns for cell in turn) for name, turns in times.items()}
    print(json.dumps({"cells": CELLS, "rounds": rounds, "turn_s": {name: round(statistics.median(at), 3) for name, at in whole.items()},
                      "more": round(more, 4), "goal_more": 0.03, "cell_ms": {name: round(1e3 * at, 1) for name, at in medians.items()},
                      "turns_s": {name: [round(one, 3) for one in at] for name, at in whole.items()}}))


main()
