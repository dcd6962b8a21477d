"""What packaging/cluster would do for a release of Slurm: what it writes, and what it refuses; nothing is built or started."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

CLUSTER = Path(__file__).resolve().parents[2] / "packaging" / "cluster"
PARTS = CLUSTER.with_name("cluster.d")
PRINT = """
set -eu
for part in paths release helper daemon munge auth database slurmdbd slurmctld nodes users run status; do . "$0/$part.sh"; done
fail() { echo "cluster: $*" >&2; exit 1; }
PROCTRACK=none TASK_PLUGIN=none
release_wanted "$1" "$2"
make_directories; release_remember; slurm_conf; slurmdbd_configure; cat "$D/etc/slurmdbd.conf"
release_path
. "$0/status.sh"
echo "daemons: ${DAEMONS[*]}"
"""


def written(folder: Path, release: str, auth: str = "munge", **environment: str) -> subprocess.CompletedProcess:
    env = {**os.environ, "POUNCE_CLUSTER_DIR": str(folder), "POUNCE_BUILD_CACHE": "/kept", **environment}
    return subprocess.run(["bash", "-c", PRINT, str(PARTS), release, auth], env=env, capture_output=True, text=True)


def refused_up(folder: Path, *words: str, **environment: str) -> str:
    env = {**os.environ, "POUNCE_CLUSTER_DIR": str(folder / "cluster"), "POUNCE_CLUSTER_ID": "190", "POUNCE_BUILD_CACHE": str(folder), **environment}
    done = subprocess.run([CLUSTER, "up", *words], env=env, capture_output=True, text=True)
    assert done.returncode == 1 and not (folder / "cluster").exists(), (done.stdout, done.stderr)
    return done.stderr


@pytest.mark.parametrize(("release", "has", "has_not"), [
    ("", ["CredType=cred/munge", "JobAcctGatherType=jobacct_gather/none"], []),
    ("23.11", ["JobAcctGatherType=jobacct_gather/none"], ["CredType"]),
    ("25.11", [], ["CredType", "JobAcctGatherType"])], ids=["the system's", "23.11", "25.11"])
def test_what_a_release_refuses_is_not_in_its_configuration(tmp_path, release, has, has_not):
    said = written(tmp_path, release).stdout

    assert [line for line in has if line not in said] == [] and [word for word in has_not if word in said] == []
    assert f"AuthInfo=socket={tmp_path}/run/munge.sock" in said and "daemons: munged mariadbd" in said


def test_a_releases_programs_are_found_before_the_systems(tmp_path):
    assert "\n/kept/slurm-25.11/bin:/kept/slurm-25.11/sbin:\n" in written(tmp_path, "25.11").stdout


def test_a_cluster_with_auth_slurm_has_no_munged_and_no_word_of_its_socket(tmp_path):
    said = written(tmp_path, "25.11", "slurm").stdout

    assert (said.count("AuthType=auth/slurm"), said.count("CredType=cred/slurm")) == (2, 1) and "munge" not in said


def test_a_cluster_keeps_its_release_until_it_goes_down(tmp_path):
    written(tmp_path, "25.11")
    other = written(tmp_path, "24.11")

    assert other.returncode == 1 and "has Slurm 25.11 with auth/munge; end it first" in other.stderr


@pytest.mark.parametrize(("words", "said"), [
    (["--slurm", "newest"], 'takes a release as 25.11, not "newest"'),
    (["--slurm", "22.05", "--auth", "slurm"], "auth/slurm from 23.11 on"),
    (["--auth", "jwt", "--slurm", "25.11"], 'munge or slurm, not "jwt"'),
    (["--release", "25.11"], "unknown option --release")], ids=lambda value: value if isinstance(value, str) else " ".join(value))
def test_what_cannot_be_is_refused_before_anything_is_there(tmp_path, words, said):
    assert said in refused_up(tmp_path, *words)


def test_a_release_without_sources_says_which_file_goes_where(tmp_path):
    said = refused_up(tmp_path, "--slurm", "25.11", POUNCE_SLURM_SOURCES=str(tmp_path / "none"))

    assert f"the sources of Slurm 25.11 are not in {tmp_path}/none" in said
    assert "slurm-25-11-*.tar.xz" in said and "POUNCE_SLURM_SOURCES" in said
