#!/usr/bin/python3
"""2,000 tasks of 50 ms ± 40 over 1, 2, 4 and 8 workers of the disposable cluster: pounce's pool, pyzmq by hand, dask-jobqueue.

    POUNCE_CLUSTER_NODES=4 tests/bench/pools.py [--workers 1 2 4 8] [--tasks 2000] [--ways pounce pyzmq dask] [--rounds 1]

(as root, with a cluster of its own: POUNCE_CLUSTER_ID, POUNCE_CLUSTER_DIR.) Prints one line of JSON. A task sleeps, so that two
cores can stand for eight; how long is the same for all. `cold` is from nothing, with the jobs' start; `warm` is the same again at
once. `ideal` is the tasks' time over the workers.
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

SHARED_LINES = """
import random, tempfile, subprocess, textwrap
WORKERS, TASKS = {workers}, {tasks}
chance = random.Random(17)
SLEEPS = [chance.uniform(0.010, 0.090) for _ in range(TASKS)]
def nap(seconds):
    import time
    time.sleep(seconds)
    return seconds
def timed(run):
    start = time.perf_counter()
    assert run() == SLEEPS
    return time.perf_counter() - start
"""

WAYS = {
    "pounce": """
import pounce
with pounce.Client(workers=f"0:{WORKERS}") as client:
    run = lambda: list(client.map(nap, SLEEPS, chunksize=1))
    report(cold=timed(run), warm=timed(run), workers=len(client.leases()))
    deadline = time.monotonic() + 60
    while client.leases() and time.monotonic() < deadline: time.sleep(0.1)
    report(left=len(client.leases()))
""",
    "pyzmq": """
import socket, zmq
folder = tempfile.mkdtemp(dir=os.environ["HOME"])
(open(folder + "/worker.py", "w")).write(textwrap.dedent('''
    import sys, time, pickle, zmq
    at = zmq.Context().socket(zmq.REQ)
    at.connect(sys.argv[1])
    at.send(pickle.dumps(None))
    while True:
        number, seconds = pickle.loads(at.recv())
        time.sleep(seconds)
        at.send(pickle.dumps((number, seconds)))
'''))
at = zmq.Context().socket(zmq.ROUTER)
address = subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split()[0]
port = at.bind_to_random_port(f"tcp://{address}")
import pickle
free = []
def run():
    answers, next_one, done = [None] * TASKS, 0, 0
    while done < TASKS:
        while free and next_one < TASKS:
            at.send_multipart([free.pop(), b"", pickle.dumps((next_one, SLEEPS[next_one]))])
            next_one += 1
        who, _, said = at.recv_multipart()
        free.append(who)
        if (answer := pickle.loads(said)) is not None:
            answers[answer[0]] = answer[1]
            done += 1
    return answers
start = time.perf_counter()
job = subprocess.run(["sbatch", "--parsable", f"--array=1-{WORKERS}", "-o", folder + "/%a.out", "--wrap",
                      f"{sys.executable} {folder}/worker.py tcp://{address}:{port}"], capture_output=True, text=True, check=True).stdout.strip()
try:
    assert run() == SLEEPS
    cold = time.perf_counter() - start
    report(cold=cold, warm=timed(run))
finally:
    subprocess.run(["scancel", job])
""",
    "dask": """
from dask_jobqueue import SLURMCluster
from distributed import Client
cluster = SLURMCluster(cores=1, processes=1, memory="500MB", python=sys.executable, local_directory=tempfile.mkdtemp(dir=os.environ["HOME"]),
                       log_directory=tempfile.mkdtemp(dir=os.environ["HOME"]), interface="eth0", death_timeout=60)
client = Client(cluster)
start = time.perf_counter()
cluster.scale(jobs=WORKERS)
run = lambda: client.gather(client.map(nap, SLEEPS, pure=False))
assert run() == SLEEPS
cold = time.perf_counter() - start
client.wait_for_workers(WORKERS, timeout=120)
report(cold=cold, warm=timed(run))
client.close(); cluster.close()
""",
}


def main() -> None:
    asked = arguments()
    node = LoginNode(40)
    node.connect()
    try:
        rows = [row(node, way, workers, asked) for workers in asked.workers for way in asked.ways]
    finally:
        node.disconnect()
    print(json.dumps({"tasks": asked.tasks, "rounds": asked.rounds, "rows": rows}))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--rounds", type=int, default=1)
    return parser.parse_args()


def row(node: LoginNode, way: str, workers: int, asked: argparse.Namespace) -> dict:
    runs = [once(node, way, workers, asked.tasks) for _ in range(asked.rounds)]
    ideal = ideal_s(asked.tasks) / workers
    median = {name: round(statistics.median(run[name] for run in runs), 2) for name in ("cold", "warm")}
    told = {"way": way, "workers": workers, "ideal": round(ideal, 2), **median, "efficiency": round(ideal / median["warm"], 3),
            **{name: runs[-1][name] for name in ("left",) if name in runs[-1]}}
    print(told, file=sys.stderr, flush=True)
    return told


def once(node: LoginNode, way: str, workers: int, tasks: int) -> dict:
    alice = User(node, "alice", idle_release_s=2)
    run = alice.python(SHARED_LINES.format(workers=workers, tasks=tasks) + WAYS[way])
    run.ended(1200)
    return {key: value for report in run.reports for key, value in report.items()}


def ideal_s(tasks: int) -> float:
    import random

    chance = random.Random(17)
    return sum(chance.uniform(0.010, 0.090) for _ in range(tasks))


if __name__ == "__main__":
    os.environ.setdefault("PATH", "/usr/bin")
    main()
