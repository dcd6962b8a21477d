#!/usr/bin/python3
"""What pounce asks of a slurmctld with 2,000 nodes and 50,000 jobs that wait, and what that costs both.

    tests/bench/large_cluster.py [--nodes 2000] [--jobs 50000] [--keep]

(as root, with a cluster of its own: POUNCE_CLUSTER_ID, POUNCE_CLUSTER_DIR; filling it takes ten minutes.) Prints a line of JSON
behind MEASURED for each question: seconds; requests to slurmctld by kind, each with its count and the milliseconds of slurmctld that all of them took;
MB that came over the network; memory of pounced and pounce-slurm, now and at the most. --keep: leaves the cluster, and uses the one
that is there.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "slurm"))
from large_cluster import LargeCluster
from large_questions import Questions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=50_000)
    parser.add_argument("--keep", action="store_true")
    asked = parser.parse_args()
    cluster = LargeCluster(int(os.environ.get("POUNCE_CLUSTER_ID", "0")), asked.nodes, asked.jobs)
    there = asked.keep and Path(os.environ.get("POUNCE_CLUSTER_DIR", f"/opt/pounce-cluster-{cluster.number}"), "etc", "slurm.conf").exists()
    if not there:
        cluster.up()
        begin = time.perf_counter()
        cluster.fill()
        print(json.dumps({"filled_s": round(time.perf_counter() - begin), "jobs": cluster.length()}), flush=True)
    questions = Questions(cluster)
    try:
        questions.run()
    finally:
        questions.close()
        if not asked.keep:
            cluster.down()


if __name__ == "__main__":
    main()
