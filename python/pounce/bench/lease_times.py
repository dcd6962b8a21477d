"""``pounce-bench lease`` and ``idle``: what it takes to get a worker, and what it costs to have one that does nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import Client
from .._engine.daemon import ensure
from .cases import Report, Settings
from .rounds import Goal, Table, interleaved
from .work import first_line, noop

_FIRST_LINE = "import time; print(time.time())"
_SCRIPT = "#!/bin/sh\ndate +%s.%N >'{}'\n"


# ---- from nothing to the first line ------------------------------------------------------------------------------------


def lease(settings: Settings) -> Report:
    """The clocks of this host and the worker's must agree, as cluster's do."""
    arguments = settings.client
    turns = {"pounce": lambda: _cold(arguments), "bare Python process": _bare_python}
    goals = []
    if arguments.get("launcher") == "slurm" and shutil.which("sbatch"):
        turns["sbatch"] = lambda: _sbatch(arguments)
        goals = [Goal("pounce's first line at most 1.2 x as late as sbatch's", "pounce", 1.2, True, "sbatch")]
    with Client(**_where(arguments)) as keeper:  # keeps pounced alive: its own start is not what is measured
        _after_the_last(keeper, turns["pounce"])
        figures = interleaved({name: _given_back(keeper, turn) for name, turn in turns.items()}, settings.rounds)
    return Report([Table("no lease yet: from submit to the function's first line", "s", figures, goals)])


def _where(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"launcher": arguments.get("launcher")}


def _given_back(keeper: Client, turn: Callable[[], float]) -> Callable[[], float]:
    return lambda: _after_the_last(keeper, turn)


def _after_the_last(keeper: Client, turn: Callable[[], float]) -> float:
    """Not before the jobs of the turn before have gone: they would hold what this one needs."""
    while len(keeper.queue()):
        time.sleep(0.1)
    return turn()


def _cold(arguments: dict[str, Any]) -> float:
    with Client(**arguments) as client:
        start = time.time()
        return client.submit(first_line).result() - start


def _bare_python() -> float:
    start = time.time()
    return float(subprocess.run([sys.executable, "-c", _FIRST_LINE], check=True, capture_output=True, text=True).stdout) - start


def _sbatch(arguments: dict[str, Any]) -> float:
    """Slurm's own way to the same place: the floor, run by this benchmark only."""
    words = ["sbatch", "--wait", "--parsable", "--output=/dev/null", f"--gres=gpu:{arguments.get('gpus', 0)}"]
    if "class_" in arguments:
        words.append(f"--qos={arguments['class_']}")
    if "memory" in arguments:
        words.append(f"--mem={arguments['memory'].removesuffix('B')}")
    with tempfile.TemporaryDirectory(prefix="pounce-bench-", dir=Path.home()) as folder:  # both hosts see the home
        said = Path(folder) / "first"
        start = time.time()
        subprocess.run(words, input=_SCRIPT.format(said), check=True, capture_output=True, text=True)
        return float(said.read_text()) - start


# ---- nothing to do -----------------------------------------------------------------------------------------------------


def idle(settings: Settings) -> Report:
    """pounced, the workers and this client, of this machine, over some seconds in which nobody asks for anything."""
    arguments = settings.client
    with Client(**arguments) as client:
        for number in range(1, settings.leases + 1):
            client.options(cpus=number).submit(noop).result()
        families = _families(arguments)
        before = {name: _cost(pids) for name, pids in families.items()}
        time.sleep(settings.seconds)
        after = {name: _cost(pids) for name, pids in families.items()}
        memory = {name: [_memory_mb(pids)] for name, pids in families.items()}
    cpu = {name: [100 * (after[name][0] - before[name][0]) / settings.seconds] for name in families}
    wakes = {name: [(after[name][1] - before[name][1]) / settings.seconds] for name in families}
    about = f"{settings.leases} idle leases, {settings.seconds:g} s"
    return Report([
        Table(f"{about}: share of one core", "%", cpu, [Goal("pounced: less than 0.3 %", "pounced", 0.3, True)]),
        Table(f"{about}: wake-ups", "a second", wakes),
        Table(f"{about}: memory", "MB", memory, [Goal("pounced: less than 30 MB", "pounced", 30, True)]),
    ])


def _families(arguments: dict[str, Any]) -> dict[str, list[int]]:
    import json

    daemon = json.loads(ensure(arguments.get("launcher"), None))["pid"]
    supervisors = _children(daemon)
    workers = [child for pid in supervisors for child in _children(pid)]
    families = {"this client": [os.getpid()], "pounced": [daemon], "supervisors": supervisors, "workers": workers}
    return {name: pids for name, pids in families.items() if pids}


def _children(parent: int) -> list[int]:
    return [int(pid) for file in Path(f"/proc/{parent}/task").glob("*/children") for pid in file.read_text().split()]


def _cost(pids: list[int]) -> tuple[float, int]:
    """CPU seconds and voluntary context switches of all threads so far."""
    seconds = switches = 0.0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        switches += sum(_field(file, "voluntary_ctxt_switches:") for file in Path(f"/proc/{pid}/task").glob("*/status"))
    return seconds, int(switches)


def _memory_mb(pids: list[int]) -> float:
    return sum(_field(Path(f"/proc/{pid}/status"), "VmRSS:") for pid in pids) / 1024


def _field(status: Path, name: str) -> int:
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith(name))
