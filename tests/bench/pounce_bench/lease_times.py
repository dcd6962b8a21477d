"""``pounce-bench lease``: how long it takes to get a worker."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pounce import Client
from .cases import Report, Settings
from .rounds import Goal, Table, interleaved
from .work import first_line

_FIRST_LINE = "import time; print(time.time())"
_SCRIPT = "#!/bin/sh\ndate +%s.%N >'{}'\n"


def lease(settings: Settings) -> Report:
    """The clocks of this host and of the worker's host must agree, as a cluster's do."""
    arguments = settings.client
    turns = {"pounce": lambda: _cold(arguments), "bare Python process": _bare_python}
    goals = []
    if arguments.get("launcher") == "slurm" and shutil.which("sbatch"):
        turns["sbatch"] = lambda: _sbatch(arguments)
        goals = [Goal("pounce's first line at most 1.2 x as late as sbatch's", "pounce", 1.2, True, "sbatch")]
    with Client(**_where(arguments)) as keeper:  # keeps pounced alive, so that its own start is not measured
        _after_the_last(keeper, turns["pounce"])
        figures = interleaved({name: _given_back(keeper, turn) for name, turn in turns.items()}, settings.rounds)
    return Report([Table("no lease yet: from submit to the function's first line", "s", figures, goals)])


def _where(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"launcher": arguments.get("launcher")}


def _given_back(keeper: Client, turn: Callable[[], float]) -> Callable[[], float]:
    return lambda: _after_the_last(keeper, turn)


def _after_the_last(keeper: Client, turn: Callable[[], float]) -> float:
    """Waits until the jobs of the last turn are gone, since they would hold the resources that this one needs."""
    while len(keeper.queue()):
        time.sleep(0.1)
    return turn()


def _cold(arguments: dict[str, Any]) -> float:
    with Client(**arguments) as client:
        start = time.time()
        return client.submit(first_line).result() - start


def _bare_python() -> float:
    start = time.time()
    run = subprocess.run([sys.executable, "-c", _FIRST_LINE], check=True, capture_output=True, text=True)
    return float(run.stdout) - start


def _sbatch(arguments: dict[str, Any]) -> float:
    """Slurm's own way to start a job: the floor. Only this benchmark runs sbatch."""
    words = ["sbatch", "--wait", "--parsable", "--output=/dev/null", f"--gres=gpu:{arguments.get('gpus', 0)}"]
    if "class_" in arguments:
        words.append(f"--qos={arguments['class_']}")
    if "memory" in arguments:
        words.append(f"--mem={arguments['memory'].removesuffix('B')}")
    with tempfile.TemporaryDirectory(prefix="pounce-bench-", dir=Path.home()) as folder:  # both hosts see the home
        output = Path(folder) / "first"
        start = time.time()
        subprocess.run(words, input=_SCRIPT.format(output), check=True, capture_output=True, text=True)
        return float(output.read_text()) - start
