#!/usr/bin/python3
"""Variables of a worker that does not see the notebook's folder: how fast they are brought and given, and what cells wait for meanwhile.

    tests/bench/state_transfer.py [ROUNDS [MB]]      prints one line of JSON; fails on no number. Takes root

Kernel and worker are this machine's own processes, so the connection between them is as fast as one can be: what is measured is
encryption, digests and the disk.
"""

from __future__ import annotations

import ast
import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from kernel import Notebook, notebook_at_home

MEASURED = """import os, time, pounce
from pounce.cell import intake, state_transfer
brought, given = [], []  # begin, end, bytes

def _fetch(self, *args, do=intake.Intake._fetch):
    before, begun = self.nbytes, time.time()
    try:
        return do(self, *args)
    finally:
        brought.append((begun, time.time(), self.nbytes - before))

def _give(self, state, request, lacks, do=state_transfer.StateTransfer.give):
    size = sum(os.path.getsize(os.path.join(state.folder, blob)) for blob in lacks if blob != "manifest")
    begun = time.time()
    do(self, state, request, lacks)
    given.append((begun, time.time(), size))

def _brought(self, state, do=state_transfer.StateTransfer._brought):
    return do(self, state) if goes else False

intake.Intake._fetch, state_transfer.StateTransfer.give, state_transfer.StateTransfer._brought = _fetch, _give, _brought
state_transfer._MOST_S = 0.1
"""
LARGE = "%%pounce\nimport os\nlarge = os.urandom({})"
SHORT = "%%pounce\nx = 1"
NOT_NOW, NOW = "goes = False", "goes = True"
SAVED_S = 4.0  # a worker that has nothing to do has saved then
CELLS = 60


def run(notebook: Notebook, source: str):
    shown = notebook.run(source)
    assert not shown.of("error"), shown
    return shown


def waits(notebook: Notebook) -> list[tuple[float, float]]:
    """Begin and end of short cells, one after the other."""
    cells = []
    for _ in range(CELLS):
        begun = time.time()
        run(notebook, SHORT)
        cells.append((begun, time.time()))
    return cells


def told(notebook: Notebook, name: str) -> list[tuple[float, float, int]]:
    """What was measured in the kernel since it was last asked."""
    found = ast.literal_eval(run(notebook, f"{name}[:]").value)
    run(notebook, f"{name}.clear()")
    return [one for one in found if one[2]]


def rate(measured: list[tuple[float, float, int]]) -> float:
    return sum(nbytes for _, _, nbytes in measured) / sum(end - begin for begin, end, _ in measured) / 1e6


def turn(notebook: Notebook, mb: int) -> dict[str, float]:
    run(notebook, NOT_NOW)
    run(notebook, LARGE.format(mb * 10**6))
    time.sleep(SAVED_S)
    alone = [end - begin for begin, end in waits(notebook)]
    time.sleep(SAVED_S)
    run(notebook, NOW)
    cells = waits(notebook)
    run(notebook, "%pounce release")
    brought = told(notebook, "brought")
    among = [end - begin for begin, end in cells if any(since < begin < until for since, until, _ in brought)]
    run(notebook, "%%pounce\nlen(large)")
    return {"brought, MB/s": rate(brought), "given, MB/s": rate(told(notebook, "given")), "a cell meanwhile, ms": statistics.median(among) * 1e3,
            "the longest, ms": max(among) * 1e3, "a cell alone, ms": statistics.median(alone) * 1e3, "the longest alone, ms": max(alone) * 1e3,
            "cells meanwhile": len(among)}


def main() -> None:
    rounds, mb = [int(word) for word in (sys.argv[1:] + ["4", "400"][len(sys.argv) - 1 :])[:2]]
    with notebook_at_home(MEASURED, apart=True) as notebook:
        turns = [turn(notebook, mb) for _ in range(rounds)]
    print(json.dumps({name: [round(turn[name], 1) for turn in turns] for name in turns[0]}))


if __name__ == "__main__":
    main()
