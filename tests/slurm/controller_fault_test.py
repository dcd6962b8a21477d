"""Slurm's own daemons stopped, ended and started again under a client: running work goes on, what waits is served later."""

from __future__ import annotations

import pytest
from cluster_parts import daemon_pid, end, stopped
from conftest import cluster_command
from faults import AGAIN, HeldTask
from login_node import wait_until

pytestmark = pytest.mark.xdist_group("controllers")  # one spare cluster for all of them

SUBMIT = """
    import pounce
    client = pounce.Client()
    future = client.submit(pow, 2, 10)
    report(submitted=True)
    try:
        report(result=future.result(200))
    except Exception as e:
        report(error=error(e))
    report(jobs=len(client.queue()))
    client.close()
"""


@pytest.fixture
def alice(quiet_cluster, login_node, make_user):
    return make_user(node=login_node(quiet_cluster), idle_release_s=2)


def test_running_work_and_the_next_call_go_on_over_a_restart_of_slurmctld(alice, quiet_cluster):
    task = HeldTask(alice, after=AGAIN)
    job = task.job()["id"]

    end(quiet_cluster, "slurmctld")
    task.let_go()

    assert task.result() == 1024
    assert task.run.reported("again") == 32, "the warm worker needs no slurmctld"
    cluster_command(quiet_cluster, "up")
    wait_until(lambda: job not in [row["id"] for row in alice.jobs()], 60, "the job is given back")


def test_a_submit_while_slurmctld_is_down_says_so_and_runs_when_it_is_back(alice, quiet_cluster):
    alice.endpoint()
    end(quiet_cluster, "slurmctld")

    run = alice.python(SUBMIT)
    wait_until(lambda: "Slurm does not answer" in run.output, 60, f"the user is told: {run.output}")
    cluster_command(quiet_cluster, "up")

    assert run.ended(120).reported("result") == 1024
    assert run.reported("jobs") == 1


def test_a_submit_while_slurmdbd_is_down_runs(alice, quiet_cluster):
    end(quiet_cluster, "slurmdbd")

    run = alice.python(SUBMIT).ended(120)
    cluster_command(quiet_cluster, "up")

    assert run.reported("result") == 1024


def test_a_submit_while_munged_is_down_runs_when_it_is_back(alice, quiet_cluster):
    alice.endpoint()
    end(quiet_cluster, "munged")

    run = alice.python(SUBMIT)
    wait_until(lambda: "Slurm does not answer" in run.output, 90, f"the user is told: {run.output}")
    cluster_command(quiet_cluster, "up")

    assert run.ended(120).reported("result") == 1024


def test_a_worker_that_comes_up_while_munged_hangs_says_hello_later(alice, quiet_cluster):
    alice.endpoint()
    seen = alice.folder / "seen"  # the job stays until then, however fast it came up
    run = alice.python(SUBMIT.replace("client.close()", f"while not os.path.exists({str(seen)!r}): time.sleep(0.02)"))
    wait_until(lambda: [job for job in alice.jobs() if job["state"] == "RUNNING"], 60, "its job runs")

    with stopped(daemon_pid(quiet_cluster, "munged")):
        seen.touch()

    assert run.ended(120).reported("result") == 1024


def test_running_work_goes_on_while_slurmctld_hangs(alice, quiet_cluster):
    task = HeldTask(alice, after=AGAIN)

    with stopped(daemon_pid(quiet_cluster, "slurmctld")):
        task.let_go()
        assert task.run.reported("result") == 1024
        assert task.run.reported("again") == 32
    task.run.ended()


def test_a_slurm_conf_that_is_missing_is_told_at_once(alice):
    run = alice.python("""
        import pounce
        try:
            pounce.Client().submit(pow, 2, 3).result(100)
        except Exception as e:
            report(error=error(e))
    """, SLURM_CONF="/nowhere/slurm.conf").ended(60)

    error = run.reported("error")
    assert error["type"] in ("SlurmConfigBroken", "NoSlurm") and "/nowhere/slurm.conf" in error["text"], error
