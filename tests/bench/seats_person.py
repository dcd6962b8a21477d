"""One scripted person: an IPython with pounce, who runs a cell, thinks, and runs the next, until the driver ends it.

    seats_person.py NUMBER SEED SCALE MIB FILE      begins when FILE is there; what happens is told in lines of REPORT

The cell works by sleeping. It counts in a variable, and adds one to an array of MIB: both are told by each cell.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Iterator

from IPython.terminal.interactiveshell import TerminalInteractiveShell

RUN_S, PAUSE_S = 6.3, 12.2  # in the mean
SIGMA, MOST = 1.0, 10       # of the log-normal draws: their tail, and the longest one over the mean

MADE = """import numpy
count, array = 0, numpy.arange({size}) * {number}
"""
WORK = """%%pounce --gpu 1
import time
import json
started = time.time()
print("REPORT " + json.dumps(dict(begun={cell}, at=started)))
{made}count += 1
array[count] += 1
time.sleep({seconds})
print("REPORT " + json.dumps(dict(cell={cell}, started=started, ended=time.time(), count=count, sum=int(array.sum()))))
"""


def report(**facts: object) -> None:
    print("REPORT " + json.dumps(facts), flush=True)


def draws(seed: str, mean: float) -> Iterator[float]:
    """Of a distribution that is capped; without that its mean would be `mean`."""
    dice = random.Random(seed)
    while True:
        yield min(mean * dice.lognormvariate(-SIGMA**2 / 2, SIGMA), MOST * mean)


def main(number: str, seed: str, scale: str, mib: str, go: str) -> None:
    runs, pauses = (draws(f"{seed} {number} {kind}", mean / float(scale)) for kind, mean in (("run", RUN_S), ("pause", PAUSE_S)))
    made = MADE.format(size=int(mib) * 2**17 or 2**10, number=number)
    shell = TerminalInteractiveShell.instance()
    shell.run_cell("%load_ext pounce", store_history=True)
    report(ready=True)
    while not os.path.exists(go):
        time.sleep(0.05)
    for cell, (seconds, pause) in enumerate(zip(runs, pauses, strict=False)):
        time.sleep(pause)
        report(asked=cell, at=time.time(), seconds=seconds)
        ran = shell.run_cell(WORK.format(made=made if cell == 0 else "", seconds=seconds, cell=cell), store_history=True)
        report(answered=cell, at=time.time(), error=None if ran.success else repr(ran.error_in_exec or ran.error_before_exec))


main(*sys.argv[1:])
