#!/usr/bin/python3
"""How pounce's cost grows with the work: processor time for each task, and memory, of client, worker and pounced.

    tests/bench/growth.py [tasks | workers | clients]... [--most-tasks 1000000] [--most-workers 64] [--most-clients 500]

With the Python that has pounce, the local launcher and a pounced of its own. `tasks`: so many no-ops at once on one worker, 1,000 to a million; their
futures are kept. `workers`: 10,000 no-ops over a pool of 1 to 64 workers that are there. `clients`: 1 to 500 clients of one pounced, 25 in a process,
each of which has asked for its leases. Figures are processor time, which other work on the machine changes little. Prints one line of JSON.
`growth_figure.py` makes the picture.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).resolve().parent), os.environ.get("PYTHONPATH"))))

from pounce import Client
from pounce._engine.daemon import ensure
from pounce_bench.counts import usage
from pounce_bench.home import own_home
from pounce_bench.work import noop

MANY = """
import json, sys, pounce
clients = [pounce.Client(launcher="local") for _ in range(int(sys.argv[1]))]
for client in clients: client.leases()
print("here", flush=True)
sys.stdin.read()
"""
IN_A_PROCESS = 25
AT_ONCE = 10_000


def steps(most: int, factors: tuple[int, ...]) -> Iterator[int]:
    size = 1
    while True:
        for factor in factors:
            if size * factor > most:
                return
            yield size * factor
        size *= 10


def cost(pid: int) -> tuple[float, float]:
    """Processor seconds of all its threads so far, and its memory in MB that it shares with no other process."""
    spent = sum(int((thread / "schedstat").read_text().split()[0]) for thread in Path(f"/proc/{pid}/task").iterdir()) / 1e9
    rows = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    return spent, sum(int(rows[name].split()[0]) for name in ("Private_Clean", "Private_Dirty")) / 1024


def daemon() -> int:
    return int(json.loads(ensure("local", None))["pid"])


def tasks(most: int) -> Iterator[dict[str, Any]]:
    with Client(launcher="local") as client:
        for _ in range(300):
            client.submit(noop).result()
        for count in [size for size in steps(most, (1, 3)) if size >= 1000]:
            gc.collect()
            there, here, (pounced_s, _) = client.submit(usage).result(), usage(), cost(daemon())
            began = time.perf_counter()
            futures = [client.submit(noop) for _ in range(count)]
            for future in futures:
                future.result()
            seconds = time.perf_counter() - began
            held = usage()
            worker = client.submit(usage).result()
            after, pounced = held.since(here), cost(daemon())
            yield {"tasks": count, "s": round(seconds, 3), "client_us": round(1e6 * after.cpu_s / count, 1),
                   "worker_us": round(1e6 * (worker.cpu_s - there.cpu_s) / count, 1), "pounced_us": round(1e6 * (pounced[0] - pounced_s) / count, 2),
                   "client_bytes": round((held.memory_bytes - here.memory_bytes) / count), "client_peak_bytes": round(after.peak_bytes / count),
                   "worker_bytes": round((worker.memory_bytes - there.memory_bytes) / count)}
            del futures, future


def workers(most: int) -> Iterator[dict[str, Any]]:
    for count in [2**power for power in range(11) if 2**power <= most]:
        with Client(launcher="local") as client:
            view = client.options(workers=count)
            view.submit(noop).result()
            for future in [view.submit(time.sleep, 0.02) for _ in range(20 * count)]:  # until all are there
                future.result()
            here, (pounced_s, _) = usage(), cost(daemon())
            for future in [view.submit(noop) for _ in range(AT_ONCE)]:
                future.result()
            after, (now_s, memory_mb) = usage().since(here), cost(daemon())
            yield {"workers": count, "client_us": round(1e6 * after.cpu_s / AT_ONCE, 1), "pounced_us": round(1e6 * (now_s - pounced_s) / AT_ONCE, 2),
                   "client_mb": round(usage().memory_bytes / 2**20, 1), "pounced_mb": round(memory_mb, 2)}


def clients(most: int) -> Iterator[dict[str, Any]]:
    programs: list[subprocess.Popen[bytes]] = []
    with Client(launcher="local") as first:
        first.leases()
        pid, there = daemon(), 1
        try:
            for count in [1, *(size for size in (25, 50, 100, 200, 300, 400, 500) if size <= most)]:
                (before_s, _), before = cost(pid), there
                while there < count:
                    program = subprocess.Popen([sys.executable, "-c", MANY, str(IN_A_PROCESS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                    programs.append(program)
                    assert program.stdout is not None and program.stdout.readline()
                    there += IN_A_PROCESS
                (opened_s, _) = cost(pid)
                time.sleep(5)
                idle_s, memory_mb = cost(pid)
                yield {"clients": there, "pounced_ms_for_each_new": round(1e3 * (opened_s - before_s) / max(there - before, 1), 2),
                       "pounced_idle_percent": round(100 * (idle_s - opened_s) / 5, 2), "pounced_mb": round(memory_mb, 2)}
        finally:
            for program in programs:
                program.communicate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subjects", nargs="*", default=["tasks", "workers", "clients"])
    parser.add_argument("--most-tasks", type=int, default=1_000_000)
    parser.add_argument("--most-workers", type=int, default=64)
    parser.add_argument("--most-clients", type=int, default=500)
    options = parser.parse_args()
    measured: dict[str, Any] = {}
    for subject, measure, most in (("tasks", tasks, options.most_tasks), ("workers", workers, options.most_workers), ("clients", clients, options.most_clients)):
        if subject not in options.subjects:
            continue
        with own_home():
            for row in measure(most):
                print(json.dumps(row), file=sys.stderr, flush=True)
                measured.setdefault(subject, []).append(row)
    print(json.dumps({"load": round(os.getloadavg()[0], 1), **measured}))


if __name__ == "__main__":
    main()
