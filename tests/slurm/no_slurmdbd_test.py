"""A Slurm without slurmdbd: work is offloaded as anywhere, and what needs accounts is told to be missing, never guessed."""

from __future__ import annotations

import json

import pytest
from conftest import cluster_command
from login_node import ROOT, own_cluster_number, wait_until

OFFLOAD = """
    import pounce
    client = pounce.Client()
    def work(seconds):
        time.sleep(seconds)
        return os.environ["CUDA_VISIBLE_DEVICES"]
    report(never=error(client.options(gpus=8).submit(pow, 2, 3).exception(100)))
    futures = [client.options(gpus=2).submit(work, 3) for _ in range(4)]
    told = set()
    while not all(future.done() for future in futures):
        told |= {why.slurm_reason for future in futures if (why := future.why())}
        time.sleep(0.1)
    report(results=[future.result() for future in futures], told=sorted(told), classes=len(client.classes()))
    client.close()
"""


@pytest.fixture(scope="module")
def bare_cluster(cluster):
    with own_cluster_number() as number:
        cluster_command(number, "up", "--no-slurmdbd")
        yield number
        cluster_command(number, "down")


@pytest.fixture
def alice(bare_cluster, login_node, make_user):
    return make_user("alice", login_node(bare_cluster), idle_release_s=1, poll_max_s=2)


def test_work_is_offloaded_and_what_has_no_room_waits(alice):
    run = alice.python(OFFLOAD).ended()

    assert "no node of the cluster has what was asked for" in run.reported("never")["text"]
    facts = next(report for report in run.reports if "results" in report)
    assert all(len(devices.split(",")) == 2 for devices in facts["results"]) and facts["classes"] == 0
    wait_until(lambda: not alice.jobs(), 60, "the leases went back")


def test_what_is_missing_is_said(alice):
    checks = {check["check"]: check for check in json.loads(alice.run("pouncectl", "doctor", "--json"))["checks"]}
    assert {check["state"] for check in checks.values()} <= {"ok", "note"}, checks
    assert checks["classes"]["state"] == "note" and "no slurmdbd" in checks["classes"]["text"]

    alice.python("import pounce\nreport(classes=repr(pounce.classes()))").ended()
    assert "no classes" in alice.run("pouncectl", "classes")
    plan = alice.run("pouncectl", "policy", "plan", str(ROOT / "examples" / "policies" / "small-lab.json"))
    assert "Slurm does not enforce here:\n  night: walltime 14h, running_jobs_per_user 2, gpus_per_user 4\n" in plan


def test_a_class_that_nobody_has_is_refused_by_name(alice):
    run = alice.python("""
        import pounce
        client = pounce.Client(class_="cheetah")
        report(refused=error(client.submit(pow, 2, 3).exception(100)))
        client.close()
    """).ended()

    assert run.reported("refused")["type"] == "UnknownClass"
    assert run.reported("refused")["text"].startswith("there is no class 'cheetah'; this Slurm has no slurmdbd, so no classes. Name none:")


def test_usage_is_that_of_ones_own_leases_and_says_so(alice):
    alice.python("import pounce\nclient = pounce.Client()\nclient.options(gpus=1).submit(time.sleep, 2).result()\nclient.close()").ended()

    def shares() -> list[dict]:
        return json.loads(alice.run("pouncectl", "usage", "--since", "1h", "--by", "user,mode", "--json"))["shares"]

    # While its job runs there is a share already, without all that was busy of it.
    (share,) = wait_until(lambda: [share for share in shares() if (share["gpu_busy_s"] or 0) >= 1.5], 60, "pounce has written it down")
    assert (share["user"], share["mode"]) == ("alice", "offload") and share["gpu_busy_s"] <= share["gpu_s"]
    assert "This Slurm has no slurmdbd: only your own leases" in alice.run("pouncectl", "usage")
    assert "no job runs" in alice.run("pouncectl", "top")


POLICY = {"classes": {"night": {"walltime": "1h", "gpus_per_user": 2}}}
ASK = """
    import pounce
    client = pounce.Client(class_="night")
    for options in ({"time": "2h"}, {"gpus": 3}):
        report(refused=error(client.options(**options).submit(pow, 2, 3).exception(100)))
    report(refused=[lease.state for lease in client.leases()])
    report(ran=client.submit(pow, 2, 10).result(100))
    (lease,) = client.leases()
    while lease.end_time is None:
        time.sleep(0.05)
    report(time=lease.end_time - time.time())
    client.close()
"""


def test_pounce_itself_refuses_what_a_class_of_the_policy_never_gives(bare_cluster, login_node, make_user):
    alice = make_user("alice", login_node(bare_cluster), policy=POLICY)

    run = alice.python(ASK).ended()

    long, many, leases = [report["refused"] for report in run.reports if "refused" in report]
    assert leases == [], "what was refused is no lease"
    assert "class night gives at most 1h" in long["text"] and "class night gives one user at most 2 GPUs" in many["text"]
    assert run.reported("ran") == 1024 and 3000 < run.reported("time") <= 3600
