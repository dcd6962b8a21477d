"""How much later than sbatch's is the first line of a call? `pounce-bench lease` on the disposable cluster, as alice.

Usage: cold_start.py [--rounds 30]      (as root; the cluster is started)
Prints pounce-bench's line of JSON.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "slurm"))
from login_node import CLUSTER, LoginNode, User

LEASE = ["lease", "--json", "--launcher", "slurm", "--class", "cheetah", "--gpus", "1", "--memory", "1GB"]


def main() -> None:
    words = argparse.ArgumentParser()
    words.add_argument("--rounds", type=int, default=30)
    chosen = words.parse_args()
    subprocess.run([str(CLUSTER), "up"], check=True, stdout=subprocess.DEVNULL)
    node = LoginNode(150)
    node.connect()
    try:
        alice = User(node, "alice")
        bench = shutil.copytree(Path(__file__).parent, alice.folder / "bench")  # a checkout may lie where she cannot read
        measured = alice.start(["python", str(bench / "pounce-bench"), *LEASE, "--rounds", str(chosen.rounds)]).ended(60 * chosen.rounds + 120)
        print(measured.output.splitlines()[-1])
    finally:
        node.disconnect()


if __name__ == "__main__":
    main()
