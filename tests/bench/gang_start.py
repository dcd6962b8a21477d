#!/usr/bin/python3
"""How long until all ranks of a gang run: beside `srun` and `sbatch` of the same, in turn, from nothing each time, on the disposable cluster.

    tests/bench/gang_start.py [--rounds 5] [--ranks 4] [--nodes 2] [--timeline]

(as root, with a cluster of its own: POUNCE_CLUSTER_ID, POUNCE_CLUSTER_DIR.) Prints one line of JSON: seconds, medians. `nothing` and `imports`
are `srun`, which Slurm starts at once: when all its ranks have done nothing, or have imported what a pounce worker imports. `batch` is a job of
`sbatch` with that `srun` inside, which Slurm starts in its next turn, as any job of pounce's; from its submission to its end. `gang` is from the call until all have
returned from the first run, with the lease's start; `again` is the next run. `waited` is how long Slurm let the gang's job wait until it
allocated its nodes (slurmctld's log), `batch_waited` the same of `batch`. `ratio` compares with `imports`, `ratio_started` without Slurm's wait.
`cpu_ms` is the processor time of a rank's interpreter until the function runs, of its supervisor, and of kernel and pounced for the whole start.

--timeline prints for the last round when each step took place, in seconds after the call, from the logs and the processes' start times.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pwd
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "slurm"))
from login_node import SHARED, LoginNode, User, cluster_folder

TURNS = """
import pounce, subprocess
RANKS, NODES, ROUNDS = {ranks}, {nodes}, {rounds}
SIZE = [f"-n{{RANKS}}", f"--nodes={{NODES}}", "--cpus-per-task=1", f"--mem={{100 * RANKS // NODES}}M", "--qos=cheetah"]
IMPORTS = [sys.executable, "-c", "import pounce._core, cloudpickle"]
def cpu_ms(pid):
    return sum(int(open(f"/proc/{{pid}}/task/{{thread}}/schedstat").read().split()[0]) for thread in os.listdir(f"/proc/{{pid}}/task")) / 1e6
def rank():
    import os, time
    now, booted = time.time(), time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    ticks = lambda pid: int(open(f"/proc/{{pid}}/stat").read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    own = os.getpid(), os.getppid()
    return dict(now=now, started=[booted + ticks(pid) for pid in own], cpu_ms=[cpu_ms(pid) for pid in own])
def seconds(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
def nobody(client):
    deadline = time.monotonic() + 60
    while client.leases() and time.monotonic() < deadline: time.sleep(0.05)
    assert not client.leases()
def srun(*words):
    subprocess.run(["srun", *SIZE, *words], check=True, stdout=subprocess.DEVNULL)
def batch():
    script = "#!/bin/sh\\nexec srun --cpu-bind=none --mpi=none '" + "' '".join(IMPORTS) + "'\\n"
    done = subprocess.run(["sbatch", "--wait", "--parsable", "--output=/dev/null", *SIZE], input=script, check=True, capture_output=True, text=True)
    report(batch_job=int(done.stdout))  # --wait looks every two seconds: slurmctld's log says how long it took
def pounced_ms():
    own = [pid for pid in os.listdir("/proc") if pid.isdigit() and os.stat(f"/proc/{{pid}}").st_uid == os.getuid()]
    return sum(cpu_ms(pid) for pid in own if open(f"/proc/{{pid}}/comm").read().strip() == "pounced")
with pounce.Client(class_="cheetah", time="10min", memory="100MB", cpus=1) as client:
    client.submit(os.getpid).result()  # pounced and its pounce-slurm are there, as from the second call on
    nobody(client)
    for number in range(ROUNDS):
        report(nothing=seconds(lambda: srun("true")))
        report(imports=seconds(lambda: srun(*IMPORTS)))
        batch()
        with client.gang(workers=RANKS, nodes=NODES) as gang:
            used, called = (time.process_time(), pounced_ms()), time.time()
            ranks = gang.run(rank)
            ended = time.time()
            report(gang=ended - called, called=called, ended=ended, ranks=ranks, job=int(gang.lease.job), lease=str(gang.lease.id),
                   kernel_ms=1e3 * (time.process_time() - used[0]), pounced_ms=pounced_ms() - used[1])
            report(again=seconds(lambda: gang.run(os.getpid)))
        nobody(client)
"""
TIME = re.compile(r"\[?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+)Z?\]?\s*(.*)")


def lines_of(log: Path) -> Iterator[tuple[float, str]]:
    """The lines of a daemon's log, each with its time."""
    for line in log.read_text(errors="replace").splitlines():
        if match := TIME.match(line):
            yield datetime.datetime.fromisoformat(match[1]).replace(tzinfo=datetime.timezone.utc).timestamp(), match[2]


def batch_jobs() -> tuple[dict[int, float], dict[int, float]]:
    """How long Slurm let each batch job wait until it had nodes, and how long it took until it had ended, from its submission."""
    submitted, waited, took = {}, {}, {}
    for at, line in lines_of(cluster_folder(SHARED) / "log" / "slurmctld.log"):
        if match := re.search(r"submit_batch_job: JobId=(\d+)", line):
            submitted[int(match[1])] = at
        elif (match := re.search(r"(?:Allocate|_start_job: Started) JobId=(\d+)", line)) and int(match[1]) in submitted:
            waited[int(match[1])] = at - submitted[int(match[1])]
        elif (match := re.search(r"_job_complete: JobId=(\d+) done", line)) and int(match[1]) in submitted:
            took[int(match[1])] = at - submitted[int(match[1])]
    return waited, took


def timeline(turn: dict) -> list[str]:
    """What took place between the call and its end, in order."""
    logs = [*(cluster_folder(SHARED) / "log").glob("slurm*.log"),
            *Path(pwd.getpwnam("alice").pw_dir, ".local/state/pounce").rglob("pounced.log"),
            *Path(pwd.getpwnam("alice").pw_dir, ".local/state/pounce").rglob(f"leases/{turn['lease']}.log")]
    events = [(at, log.stem if log.stem != turn["lease"] else "supervisors", text) for log in logs for at, text in lines_of(log)
              if turn["called"] <= at <= turn["ended"]]
    for number, one in enumerate(turn["ranks"]):
        events += [(one["started"][1], f"rank {number}", "its supervisor's process starts (to 10 ms)"),
                   (one["started"][0], f"rank {number}", "its interpreter's process starts (to 10 ms)"), (one["now"], f"rank {number}", "its function runs")]
    events.append((turn["ended"], "kernel", "all have returned"))
    return [f"{at - turn['called']:7.3f}  {who:12} {text[:150]}" for at, who, text in sorted(events)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--timeline", action="store_true")
    options = parser.parse_args()
    node = LoginNode(41)
    node.connect()
    try:
        run = User(node, "alice", idle_release_s=1).python(TURNS.format(**vars(options))).ended(900)
    finally:
        node.disconnect()
    turns, batch = [report for report in run.reports if "gang" in report], [report["batch_job"] for report in run.reports if "batch_job" in report]
    waited, took = batch_jobs()
    measured = {way: [report[way] for report in run.reports if way in report] for way in ("nothing", "imports", "gang", "again")}
    measured |= {"batch": [took[job] for job in batch], "batch_waited": [waited[job] for job in batch], "waited": [waited[turn["job"]] for turn in turns]}
    started = [turn["gang"] - waited[turn["job"]] for turn in turns]
    cpu_ms = {"interpreter": [one["cpu_ms"][0] for turn in turns for one in turn["ranks"]],
              "supervisor": [one["cpu_ms"][1] for turn in turns for one in turn["ranks"]],
              "kernel": [turn["kernel_ms"] for turn in turns], "pounced": [turn["pounced_ms"] for turn in turns]}
    if options.timeline:
        print("\n".join(timeline(turns[-1])), file=sys.stderr)
    ratio = lambda ours: round(statistics.median(a / b for a, b in zip(ours, measured["imports"], strict=True)), 2)
    print(json.dumps({"rounds": options.rounds, "ranks": options.ranks, "nodes": options.nodes, "load": round(os.getloadavg()[0], 1),
                      **{way: round(statistics.median(each), 3) for way, each in measured.items()}, "started": round(statistics.median(started), 3),
                      "ratio": ratio(measured["gang"]), "ratio_started": ratio(started),
                      "cpu_ms": {what: round(statistics.median(each), 1) for what, each in cpu_ms.items()}}))


if __name__ == "__main__":
    os.environ.setdefault("PATH", "/usr/bin")
    main()
