#!/usr/bin/env python3
"""How much later than sbatch's `touch` is a `%%pounce --try` cell done, while all GPUs are busy? As alice, turn about.

Usage: try_cell.py [ROUNDS]      (as root; the cluster is started)
Prints one line of JSON: seconds, medians over the rounds, and the largest difference.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "slurm"))
from login_node import CLUSTER, LoginNode, User

ALL_GPUS = "for gpu in 1 2 3 4 5 6 7 8; do sbatch --quiet --qos=cheetah --gres=gpu:1 --output=/dev/null --wrap='sleep 600'; done"
ROUNDS = """
import subprocess, tempfile
from IPython.terminal.interactiveshell import TerminalInteractiveShell
shell = TerminalInteractiveShell.instance()
shell.run_line_magic("load_ext", "pounce")
os.chdir(os.path.expanduser("~"))
def batch():
    flag, start = tempfile.mktemp(dir=os.getcwd()), time.monotonic()
    subprocess.run(["sbatch", "--quiet", "--qos=cheetah", "--output=/dev/null", f"--wrap=touch {{flag}}"], check=True)
    while not os.path.exists(flag):
        time.sleep(0.005)
    seconds = time.monotonic() - start
    os.unlink(flag)
    return seconds
def tried():
    start = time.monotonic()
    shell.run_cell_magic("pounce", "--try", "1 + 1")
    seconds = time.monotonic() - start
    shell.run_line_magic("pounce", "release")
    return seconds
report(rounds=[(batch(), tried()) for _ in range({rounds})])
"""


def median(values: list[float]) -> float:
    return round(sorted(values)[len(values) // 2], 3)


def main() -> None:
    subprocess.run([str(CLUSTER), "up"], check=True, stdout=subprocess.DEVNULL)
    node = LoginNode(151)
    node.connect()
    try:
        alice = User(node, "alice")
        alice.run("sh", "-c", ALL_GPUS)
        rounds = alice.python(ROUNDS.format(rounds=int(sys.argv[1]) if len(sys.argv) > 1 else 9)).reported("rounds", 300)
        alice.run("scancel", "--me")
        more = [cell - batch for batch, cell in rounds]
        print(json.dumps({"sbatch": median([batch for batch, _ in rounds]), "try": median([cell for _, cell in rounds]),
                          "more": median(more), "more_at_most": round(max(more), 3)}))
    finally:
        node.disconnect()


if __name__ == "__main__":
    main()
