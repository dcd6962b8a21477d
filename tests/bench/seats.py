#!/usr/bin/python3
"""Twelve scripted people share a few GPUs of the disposable cluster, in three ways: what each waits, and what the GPUs do.

    tests/bench/seats.py [--minutes 5] [--gpus 4 8] [--ways reserved minute parked] [--people 12] [--scale 1] [--seed 1]

(as root; the cluster is started.) Prints one line of JSON. A person runs a cell of 6.3 s in the mean, thinks 12.2 s, and so on; both
have long tails, and are the same in each way. Every third one has 200 MB. `--scale 2`: all that twice as fast.

reserved   who has a GPU keeps it to the end: a job with a notebook in it
minute     a GPU goes back when it was idle for a minute, and not sooner
parked     the defaults: a GPU goes to who waits for it as soon as its notebook's variables are saved

A cell that has not begun when the time is over has waited until then.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "slurm"))
from login_node import CLUSTER, LoginNode, Running, User, wait_until

FOREVER_S = 86400
WAYS: dict[str, dict] = {
    "reserved": {"idle_release_s": FOREVER_S, "yield_after_s": FOREVER_S},
    "minute": {"idle_release_s": 60, "yield_after_s": 60},
    "parked": {},
}
FIRST_NODE = 100  # of the login nodes' numbers
HEAVY_MIB, EVERY = 191, 3
GPUS_A_NODE = 4
READY_S, LEFT_S = 120, 60


@dataclass
class Person:
    number: int
    node: LoginNode
    user: User
    run: Running | None = None

    @property
    def mib(self) -> int:
        return 0 if self.number % EVERY else HEAVY_MIB


@dataclass
class Seen:
    """Of one person, or of all."""

    waits: list[float] = field(default_factory=list)
    never: int = 0                                     # of them, cells that had not begun at the end
    busy_s: float = 0.0
    lost: list[str] = field(default_factory=list)      # variables that were not as the cell before left them
    errors: list[str] = field(default_factory=list)
    cells: int = 0

    def add(self, other: Seen) -> None:
        self.waits += other.waits
        self.never += other.never
        self.busy_s += other.busy_s
        self.lost += other.lost
        self.errors += other.errors
        self.cells += other.cells


def seen(person: Person, end: float) -> Seen:
    found, reports = Seen(), person.run.reports if person.run else []
    asked = {r["asked"]: r["at"] for r in reports if "asked" in r and r["at"] < end}
    begun = {r["begun"]: r["at"] for r in reports if "begun" in r and r["at"] < end}
    ran = {r["cell"]: r for r in reports if "cell" in r}
    size = person.mib * 2**17 or 2**10
    for count, (cell, told) in enumerate(sorted(ran.items()), 1):
        whole = size * (size - 1) // 2 * person.number + count
        if told["count"] != count or told["sum"] != whole:
            found.lost.append(f"person {person.number}, cell {cell}: counted {told['count']} of {count}, sum {told['sum']} of {whole}")
    for cell, at in asked.items():
        found.waits.append(begun.get(cell, end) - at)
        found.never += cell not in begun
        found.cells += cell in ran
        if cell in begun:
            until = ran[cell]["ended"] if cell in ran else end
            found.busy_s += min(until, end) - begun[cell]
    found.errors = [f"person {person.number}, cell {r['answered']}: {r['error']}" for r in reports if r.get("error") and r["at"] < end]
    return found


# ---- the cluster ----

def slurm(*words: str) -> str:
    done = subprocess.run([str(CLUSTER), "run", "--", *words], capture_output=True, text=True, check=True)
    return done.stdout


def open_nodes(gpus: int) -> None:
    nodes = slurm("sinfo", "--noheader", "--Node", "--format=%N").split()
    for number, name in enumerate(sorted(set(nodes))):
        wanted = ["state=resume"] if number * GPUS_A_NODE < gpus else ["state=drain", "reason=seats"]
        words = [str(CLUSTER), "run", "--", "scontrol", "update", f"nodename={name}", *wanted]
        subprocess.run(words, check=False, stderr=subprocess.DEVNULL)  # one that is not drained cannot be resumed


def leased_s(begin: float, end: float) -> float:
    """GPU seconds of alice's jobs in this time."""
    since = time.strftime("%FT%T", time.localtime(begin - 60))
    words = ["sacct", "--user=alice", "--allocations", "--noheader", "--parsable2", f"--starttime={since}", "--format=Start,End"]
    rows = slurm("env", "SLURM_TIME_FORMAT=%s", *words).split()
    times = [row.split("|") for row in rows]
    number = lambda text: float(text) if text.isdigit() else end
    return sum(max(0.0, min(number(last), end) - max(float(first), begin)) for first, last in times if first.isdigit())


def no_jobs_left() -> None:
    slurm("scancel", "--user=alice")
    wait_until(lambda: not slurm("squeue", "--noheader", "--user=alice"), LEFT_S, "alice's jobs have ended")


# ---- one way ----

def own_folder(path: Path) -> str:
    """Of alice; what is saved there goes with it."""
    path.mkdir(mode=0o700)
    shutil.chown(path, "alice", "alice")
    return str(path)


def lived(way: str, gpus: int, chosen: argparse.Namespace) -> dict:
    open_nodes(gpus)
    folder = Path(tempfile.mkdtemp(prefix="pounce-seats-"))
    folder.chmod(0o755)
    people = []
    try:
        for number in range(1, chosen.people + 1):
            node = LoginNode(FIRST_NODE + number)
            node.connect()
            people.append(Person(number, node, User(node, "alice", state_folder=own_folder(folder / f"state{number}"), **WAYS[way])))
        begin, end = worked(people, folder / "go", f"{way}, {gpus} GPUs", chosen)
        everybody = Seen()
        each = [seen(person, end) for person in people]
        for one in each:
            everybody.add(one)
    finally:
        for person in people:
            person.node.disconnect()
        no_jobs_left()
        shutil.rmtree(folder)
    return {"way": way, "gpus": gpus, **facts(everybody, each, leased_s(begin, end), end - begin)}


def worked(people: list[Person], go: Path, title: str, chosen: argparse.Namespace) -> tuple[float, float]:
    """When the people began and ended."""
    program = go.parent / "person.py"
    program.write_text((HERE / "seats_person.py").read_text())
    for person in people:
        words = [str(person.number), str(chosen.seed), str(chosen.scale), str(person.mib), str(go)]
        person.run = person.user.start(["python", "-u", str(program), *words])
    for person in people:
        assert person.run is not None
        person.run.reported("ready", READY_S)
    go.touch()
    begin = time.time()
    end = begin + 60 * chosen.minutes
    while time.time() < end:
        shown = [seen(person, time.time()) for person in people]
        print(f"\r\033[K{title}: {time.time() - begin:3.0f} of {end - begin:.0f} s, {sum(one.cells for one in shown)} cells, "
              f"{sum(one.never for one in shown)} wait now, {sum(len(one.lost) + len(one.errors) for one in shown)} wrong",
              end="" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True)
        time.sleep(min(1 if sys.stderr.isatty() else 15, max(0, end - time.time())))
    return begin, end


def facts(all_of_them: Seen, each: list[Seen], leased: float, seconds: float) -> dict:
    at = sorted(all_of_them.waits)
    quantile = lambda share: round(at[min(len(at) - 1, int(share * len(at)))], 2)
    return {
        "seconds": round(seconds), "people": len(each), "served": sum(one.cells > 0 for one in each),
        "cells": all_of_them.cells, "never_begun": all_of_them.never,
        "wait_s": {"p50": quantile(0.5), "p95": quantile(0.95), "p99": quantile(0.99), "most": round(at[-1], 2)},
        "waiting": round(sum(at) / (seconds * len(each)), 3),
        "leased_s": round(leased), "busy_s": round(all_of_them.busy_s), "leased_over_busy": round(leased / max(all_of_them.busy_s, 1), 2),
        "lost": all_of_them.lost, "errors": all_of_them.errors, "waits": [round(wait, 2) for wait in at],
    }


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--minutes", type=float, default=5)
    words.add_argument("--gpus", type=int, nargs="+", default=[4, 8])
    words.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    words.add_argument("--people", type=int, default=12)
    words.add_argument("--scale", type=float, default=1)
    words.add_argument("--seed", type=int, default=1)
    chosen = words.parse_args()
    if os.geteuid() != 0:
        sys.exit("seats.py: only root can start the disposable Slurm and its namespaces; run it with sudo.")
    subprocess.run([str(CLUSTER), "up"], check=True, stdout=subprocess.DEVNULL)
    try:
        runs = [lived(way, gpus, chosen) for gpus in chosen.gpus for way in chosen.ways]
    finally:
        open_nodes(10**6)
    settings = {name: getattr(chosen, name) for name in ("minutes", "people", "scale", "seed")}
    print(json.dumps({**settings, "runs": runs}))


if __name__ == "__main__":
    main()
