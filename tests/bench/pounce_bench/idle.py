"""``pounce-bench idle``: the cost of unused leases, and of notebooks whose client has nothing to do."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pounce import Client
from pounce._engine.daemon import ensure
from .cases import Report, Settings
from .rounds import Goal, Table
from .work import noop

_HERE = "print('here', flush=True); sys.stdin.read()"  # it ends with its standard input
_BARE = f"import sys; {_HERE}"
_NOTEBOOK = f"import json, sys, pounce; client = pounce.Client(**json.loads(sys.argv[1])); {_HERE}"


def idle(settings: Settings) -> Report:
    """All processes of pounce on this machine, and as many bare Python processes, over some seconds without work."""
    arguments, count = settings.client, settings.notebooks
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(Client(**arguments))
        for number in range(1, settings.leases + 1):
            client.options(cpus=number).submit(noop).result()
        notebooks = stack.enter_context(_programs(_NOTEBOOK, count, json.dumps(arguments)))
        bare = stack.enter_context(_programs(_BARE, count))
        groups = _families(arguments) | {f"{count} notebooks": notebooks, f"{count} bare Python processes": bare}
        families = {name: pids for name, pids in groups.items() if pids}
        rounds = [_round(families, settings.seconds / settings.rounds) for _ in range(settings.rounds)]
        alone = {name: _memory_mb(pids, "smaps_rollup", "Pss:") for name, pids in families.items()}
    cpu, wakes, memory = ({name: [one[name][figure] for one in rounds] for name in rounds[0]} for figure in range(3))
    about = f"{settings.leases} idle leases{f', {count} idle notebooks' if count else ''}, {settings.seconds:g} s"
    return Report([
        Table(f"{about}: share of one core", "%", cpu, [Goal("pounced: less than 0.3 %", "pounced", 0.3, True)]),
        Table(f"{about}: wake-ups", "a second", wakes),
        Table(f"{about}: memory", "MB", memory, [Goal("pounced: less than 30 MB", "pounced", 30, True)],
              {name: f"{mb:.1f} MB with shared memory counted once" for name, mb in alone.items()}),
    ])


@contextlib.contextmanager
def _programs(code: str, count: int, *words: str) -> Iterator[list[int]]:
    """Runs `count` programs, which have begun to wait."""
    with contextlib.ExitStack() as stack:
        command = [sys.executable, "-c", code, *words]
        programs = [stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
                    for _ in range(count)]
        for program in programs:
            assert program.stdout is not None
            program.stdout.readline()
        yield [program.pid for program in programs]


def _families(arguments: dict[str, Any]) -> dict[str, list[int]]:
    daemon = json.loads(ensure(arguments.get("launcher"), None))["pid"]
    supervisors = _children(daemon)
    workers = [child for pid in supervisors for child in _children(pid)]
    return {"this client": [os.getpid()], "pounced": [daemon], "supervisors": supervisors, "workers": workers}


def _children(parent: int) -> list[int]:
    return [int(pid) for file in Path(f"/proc/{parent}/task").glob("*/children") for pid in file.read_text().split()]


def _round(families: dict[str, list[int]], seconds: float) -> dict[str, tuple[float, float, float]]:
    """By family: its share of one core in percent, wake-ups a second, and memory in MB."""
    before = {name: _cost(pids) for name, pids in families.items()}
    time.sleep(seconds)
    return {name: _since(before[name], pids, seconds) for name, pids in families.items()}


def _since(before: tuple[float, int], pids: list[int], seconds: float) -> tuple[float, float, float]:
    cpu, wakes = _cost(pids)
    return 100 * (cpu - before[0]) / seconds, (wakes - before[1]) / seconds, _memory_mb(pids, "status", "VmRSS:")


def _cost(pids: list[int]) -> tuple[float, int]:
    """CPU seconds and voluntary context switches of all threads so far."""
    threads = [thread for pid in pids for thread in Path(f"/proc/{pid}/task").iterdir()]
    nanoseconds = sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)
    return nanoseconds / 1e9, sum(_field(thread / "status", "voluntary_ctxt_switches:") for thread in threads)


def _memory_mb(pids: list[int], file: str, name: str) -> float:
    return sum(_field(Path(f"/proc/{pid}/{file}"), name) for pid in pids) / 1024


def _field(status: Path, name: str) -> int:
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith(name))
