"""What packaging/cluster would write and make for a number of nodes; nothing is started."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

PARTS = Path(__file__).resolve().parents[2] / "packaging" / "cluster.d"
PRINT = """
set -eu
for part in paths release helper daemon munge auth database slurmdbd slurmctld nodes users run status; do . "$0/$part.sh"; done
PROCTRACK=none TASK_PLUGIN=none
mknod() { echo "mknod $3"; }
make_directories; slurm_conf; gres_conf; nodes_make_gpus
echo "daemons: ${DAEMONS[*]}"
ls "$D/spool"
"""


def printed(folder: Path, nodes: str) -> subprocess.CompletedProcess:
    env = {**os.environ, "POUNCE_CLUSTER_DIR": str(folder), "POUNCE_CLUSTER_NODES": nodes}
    return subprocess.run(["bash", "-c", PRINT, str(PARTS)], env=env, capture_output=True, text=True)


def test_one_variable_makes_a_third_node(tmp_path):
    three = printed(tmp_path / "three", "3").stdout.splitlines()
    two = [line.replace("/two/", "/three/") for line in printed(tmp_path / "two", "2").stdout.splitlines()]
    more = [line for line in three if line not in two]

    folder = tmp_path / "three"
    assert [line.split(" NodeHostname")[0] for line in more if line.startswith("NodeName=g3 NodeHost")] == ["NodeName=g3"]
    assert sum(line.startswith("NodeName=g3 Name=gpu") for line in more) == 2
    assert [line for line in more if line.startswith("mknod")] == [f"mknod {folder}/dev/g3gpu{i}" for i in range(4)]
    assert more[-2:] == ["daemons: munged mariadbd slurmdbd slurmctld slurmd-g1 slurmd-g2 slurmd-g3", "g3"]


def test_a_cluster_keeps_the_number_that_it_was_started_with(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "node-count").write_text("4\n")

    assert printed(tmp_path, "2").stdout.splitlines()[-1] == "g4"


def test_a_number_that_cannot_be_is_refused(tmp_path):
    refused = printed(tmp_path, "0")

    assert refused.returncode == 2 and "POUNCE_CLUSTER_NODES must be 1..50" in refused.stderr
