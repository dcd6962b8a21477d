"""What does a pounced with ten idle leases cost? Memory in MB and the share of one core, over a minute of default times.

Usage: POUNCE_BUILD=<build folder> python tests/bench/pounced_idle.py [--seconds 60] [--leases 10]
Prints one line of JSON. Goals (docs of the first milestone): less than 30 MB, less than 0.3 % of a core.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "system"))
from daemon_world import Hall, Home, wait

DEFAULT_TIMES = {"heartbeat_ms": 5000, "idle_release_s": 3600, "poll_min_s": 2, "poll_max_s": 30,
                 "worker_silence_s": 15, "sweep_interval_s": 60, "orphan_grace_s": 30}


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int) -> float:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def wants(leases: int, waiting: int) -> list[dict]:
    return [{"id": number, "waiting": waiting, "running": 0, "holds": [],
             "resources": {"class_name": "cheetah", "gpus": 0, "gpu_type": "", "cpus": number, "memory_mib": 0,
                           "time_min": 0}} for number in range(1, leases + 1)]


def beat_for(client: Hall, seconds: float):
    """What a real client does while nothing runs: one beat in five seconds."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        client.say("beat", answer=False, sent_ns=1, clock_ns=0)
        time.sleep(min(5, left))


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--seconds", type=float, default=60)
    words.add_argument("--leases", type=int, default=10)
    chosen = words.parse_args()
    home = Home(Path(tempfile.mkdtemp(prefix="pounced-idle-")), **DEFAULT_TIMES)
    try:
        endpoint = home.ensure()
        client = Hall(endpoint)
        client.open_session(home.folder)
        client.say("demand", session=client.subject, wants=wants(chosen.leases, 1))
        for number in range(1, chosen.leases + 1):
            client.wait_for("granted", want=number)
        client.say("demand", session=client.subject, wants=wants(chosen.leases, 0))
        wait(lambda: len(home.workers()) == chosen.leases, "all workers")
        before, started = cpu_seconds(endpoint["pid"]), time.monotonic()
        beat_for(client, chosen.seconds)
        share = (cpu_seconds(endpoint["pid"]) - before) / (time.monotonic() - started)
        print(json.dumps({"leases": chosen.leases, "seconds": chosen.seconds, "cpu_percent": round(100 * share, 3),
                          "memory_mb": round(memory_mb(endpoint["pid"]), 1)}))
        client.close()
    finally:
        home.close()


if __name__ == "__main__":
    main()
