#!/usr/bin/python3
"""What a %%pounce cell costs beside a cell of the kernel itself, turn about in one kernel; and printing.

    tests/bench/cell.py [PAIRS]       prints one line of JSON; fails on no number

"added" and "printing" are ratios to the kernel's own. Workers are this machine's own processes.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from kernel import Notebook, notebook_at_home

LINES = 100_000


def seconds(notebook: Notebook, source: str) -> float:
    start = time.perf_counter()
    shown = notebook.run(source)
    assert not shown.of("error"), shown
    return time.perf_counter() - start


def quantiles(times: list[float]) -> dict[str, float]:
    at = sorted(times)
    return {"median": 1000 * statistics.median(at), "95 %": 1000 * at[int(0.95 * len(at))]}


def overhead(notebook: Notebook, pairs: int) -> dict:
    local, remote = [], []
    for _ in range(pairs):
        local.append(seconds(notebook, "6 * 7"))
        remote.append(seconds(notebook, "%%pounce\n6 * 7"))
    added = statistics.median(remote) - statistics.median(local)
    return {"here_ms": quantiles(local), "pounce_ms": quantiles(remote), "added": added / statistics.median(local), "goal_added": 1}


def printing(notebook: Notebook) -> dict:
    source = f"for i in range({LINES}): print(i)"
    here, there = [], []
    for _ in range(3):
        here.append(seconds(notebook, source))
        there.append(seconds(notebook, "%%pounce\n" + source))
    rates = [LINES / statistics.median(times) for times in (here, there)]
    return {"lines_a_second": {"here": rates[0], "pounce": rates[1]}, "printing": rates[1] / rates[0], "goal_printing": 0.5}


def main() -> None:
    with notebook_at_home("import pounce") as notebook:
        notebook.run("%%pounce\n1")
        print(json.dumps({**overhead(notebook, int(sys.argv[1]) if len(sys.argv) > 1 else 250), **printing(notebook)}))


main()
