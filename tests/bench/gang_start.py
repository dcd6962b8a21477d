#!/usr/bin/python3
"""How long until four ranks run: a gang of 4 beside `srun -n4`, in turn, from nothing each time, on the disposable cluster.

    tests/bench/gang_start.py [--rounds 5] [--ranks 4]

(as root, with a cluster of its own: POUNCE_CLUSTER_ID, POUNCE_CLUSTER_DIR.) Prints one line of JSON: seconds, medians. `srun` ends when
all ranks have imported what a pounce worker imports (`imports`), or done nothing (`nothing`); `gang` when all have returned from
the first run, with the lease's start; `again` is the next run of the same gang.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "slurm"))
from login_node import LoginNode, User

TURNS = """
import pounce, statistics, subprocess
RANKS, ROUNDS = {ranks}, {rounds}
SRUN = ["srun", f"-n{{RANKS}}", "--nodes=1", "--cpus-per-task=1", "--mem=400M", "--qos=cheetah"]
def seconds(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
def nobody(client):
    deadline = time.monotonic() + 60
    while client.leases() and time.monotonic() < deadline: time.sleep(0.05)
    assert not client.leases()
def srun(*words):
    subprocess.run([*SRUN, *words], check=True, stdout=subprocess.DEVNULL)
with pounce.Client(class_="cheetah", time="10min", memory="100MB", cpus=1) as client:
    for number in range(ROUNDS):
        report(nothing=seconds(lambda: srun("true")))
        report(imports=seconds(lambda: srun(sys.executable, "-c", "import pounce._core, cloudpickle")))
        with client.gang(workers=RANKS) as gang:
            report(gang=seconds(lambda: gang.run(os.getpid)))
            report(again=seconds(lambda: gang.run(os.getpid)))
        nobody(client)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=4)
    asked = parser.parse_args()
    node = LoginNode(41)
    node.connect()
    try:
        run = User(node, "alice", idle_release_s=1).python(TURNS.format(**vars(asked))).ended(900)
    finally:
        node.disconnect()
    ways = ("nothing", "imports", "gang", "again")
    medians = {way: round(statistics.median(report[way] for report in run.reports if way in report), 3) for way in ways}
    print(json.dumps({**vars(asked), **medians, "ratio": round(medians["gang"] / medians["imports"], 2)}))


if __name__ == "__main__":
    os.environ.setdefault("PATH", "/usr/bin")
    main()
