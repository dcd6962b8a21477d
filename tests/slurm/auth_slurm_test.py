"""A Slurm without munged: its daemons prove who a user is, and pounce's workers show a key file of the user's home."""

from __future__ import annotations

import json

import pytest
from conftest import cluster_command
from login_node import RELEASE, own_cluster_number, release_is_at_least

pytestmark = [pytest.mark.skipif(not release_is_at_least("23.11"), reason=f"Slurm {RELEASE or '22.05'} has no auth/slurm"),
              pytest.mark.xdist_group("auth_slurm")]  # its sockets are the machine's: one such cluster at a time


@pytest.fixture(scope="module")
def cluster_without_munged(cluster):
    with own_cluster_number() as number:
        cluster_command(number, "up", "--auth", "slurm")
        yield number
        cluster_command(number, "down")


def test_a_call_runs_with_a_gpu_and_the_doctor_says_what_stands_for_munge(cluster_without_munged, login_node, make_user):
    alice = make_user("alice", login_node(cluster_without_munged), idle_release_s=1)

    run = alice.python("""
        import pounce
        client = pounce.Client(gpus=1)
        report(ran=client.submit(lambda: (os.getuid(), os.environ["CUDA_VISIBLE_DEVICES"])).result(100), here=os.getuid())
        client.close()
    """).ended()
    doctor = json.loads(alice.run("pouncectl", "doctor", "--json"))

    assert run.reported("ran") == [run.reported("here"), "0"]
    (munge,) = [check for check in doctor["checks"] if check["check"] == "munge"]
    assert munge["state"] == "note" and munge["text"] == "this Slurm uses auth/slurm: workers show a key file of your home"
    assert doctor["wrong"] == 0, doctor["checks"]
