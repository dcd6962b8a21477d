"""How long does the first call take? From submit() with no lease to the function's first line, pounced running, against
Slurm's own sbatch to the first line of its script; the same GPU and class, turn about, on the disposable cluster.

Usage: cold_start.py [--pairs 30]      (as root; the cluster is started)
Prints one line of JSON: medians in seconds, and their difference. Goal: at most 0.3 s more.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from pathlib import Path

from bench import say

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "slurm"))
from login_node import CLUSTER, LoginNode, Person

PAIRS = """
    import pathlib, subprocess
    import pounce
    def first_line():
        import time
        return time.time()
    SCRIPT = "#!/bin/sh\\ndate +%s.%N >{folder}/first.$SLURM_JOB_ID\\n"
    def sbatch():
        start = time.time()
        job = subprocess.run(["sbatch", "--parsable", "--qos=cheetah", "--gres=gpu:1", "--mem=1G", "--output=/dev/null"],
                             input=SCRIPT, capture_output=True, text=True, check=True).stdout.strip()
        wait_for_nothing(pounce.Client())
        return float(pathlib.Path("{folder}/first." + job).read_text()) - start
    def wait_for_nothing(client):
        with client:
            while subprocess.run(["squeue", "--noheader", "--me"], capture_output=True, text=True).stdout:
                time.sleep(0.1)
    def submit():
        with pounce.Client(gpus=1, class_="cheetah", memory="1GB") as client:
            start = time.time()
            took = client.submit(first_line).result() - start
        wait_for_nothing(pounce.Client())
        return took
    submit(), sbatch()
    for _ in range({pairs}):
        report(sbatch=sbatch(), submit=submit())
"""


def main() -> None:
    words = argparse.ArgumentParser()
    words.add_argument("--pairs", type=int, default=30)
    chosen = words.parse_args()
    subprocess.run([str(CLUSTER), "up"], check=True, stdout=subprocess.DEVNULL)
    node = LoginNode(150)
    node.connect()
    try:
        alice = Person(node, "alice")
        alice.folder.chmod(0o777)
        source = PAIRS.replace("{folder}", str(alice.folder)).replace("{pairs}", str(chosen.pairs))
        pairs = [r for r in alice.python(source).ended(30 * chosen.pairs + 120).reports if "sbatch" in r]
    finally:
        node.disconnect()
    sbatch, submit = (statistics.median(pair[kind] for pair in pairs) for kind in ("sbatch", "submit"))
    say(bench="cold_start", pairs=len(pairs), sbatch_s=sbatch, submit_s=submit, difference_s=submit - sbatch, goal="<= 0.3")


if __name__ == "__main__":
    main()
