"""Whose account a job is charged to where Slurm has none for a user by default: that is told with the accounts there are."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import cluster_command
from login_node import wait_until


def restart(cluster_id: int, *daemons: str) -> None:
    """What they have read they keep."""
    for daemon in daemons:
        pid = int(Path(f"/opt/pounce-cluster-{cluster_id}/run/{daemon}.pid").read_text())
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda pid=pid: not Path(f"/proc/{pid}").exists(), 30, f"the end of {daemon}")
    cluster_command(cluster_id, "up")


@pytest.fixture
def no_default_account(quiet_cluster):
    """Alice's association with account ml stays, but not as her default. sacctmgr refuses to do that; old databases have it."""
    home = Path(f"/opt/pounce-cluster-{quiet_cluster}")

    def set_default(flag: int) -> None:
        subprocess.run(["mysql", f"--socket={home}/run/mysql.sock", "slurm_acct", "--execute",
                        f"update pounce{quiet_cluster}_assoc_table set is_def={flag} where user='alice' and acct='ml'"], check=True)
        restart(quiet_cluster, "slurmdbd", "slurmctld")

    set_default(0)
    yield
    set_default(1)


def test_a_person_without_a_default_account_is_told_which_there_are(no_default_account, quiet_cluster, login_node, make_user):
    alice = make_user("alice", login_node(quiet_cluster), idle_release_s=1)

    run = alice.python("""
        import pounce
        client = pounce.Client()
        report(refused=error(client.submit(pow, 2, 3).exception(100)))
        view = client.options(account="ml")
        report(ran=view.submit(pow, 2, 10).result(100), job=client.leases()[0].job)
        client.close()
    """).ended()

    assert run.reported("refused")["type"] == "NoAssociation"
    assert run.reported("refused")["text"] == ("user alice has no default account; the accounts are ml. "
                                               "Name one of them: account=ml, or --account in a cell.")
    job = next(report for report in run.reports if "ran" in report)
    assert job["ran"] == 1024 and " Account=ml " in alice.run("scontrol", "show", "job", str(job["job"]))
