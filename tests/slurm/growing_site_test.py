"""A small site that grows: nodes of a cloud that are switched on for a job, GPUs without a type, few jobs in all, several clusters,
nothing enforced, no slurm.conf on a login node."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from login_node import CLUSTER, wait_until
from site_clusters import SiteCluster, node_line, site_cluster

pytestmark = pytest.mark.xdist_group("growing_site")
POWER_UP_S = 60 if os.environ.get("POUNCE_LONG_RUN") else 10


def growing(cluster: SiteCluster) -> dict[str, tuple[str, int]]:
    home, number = cluster.home, cluster.cluster_id
    return {
        "slurm.conf": (f"""MaxJobCount=6
MinJobAge=2
PrivateData=cloud
AccountingStorageEnforce=
SlurmctldParameters=enable_configless
{node_line(number, 1, "CPUs=8 RealMemory=16384 Gres=gpu:2")}
{node_line(number, 2, "CPUs=64 RealMemory=262144 Gres=gpu:4", "CLOUD")}
ResumeProgram={home}/etc/resume
SuspendProgram={home}/etc/suspend
ResumeTimeout=100
SuspendTime=300
SuspendTimeout=10
""", 0o644),
        "gres.conf": (f"NodeName=g1 Name=gpu File={home}/dev/g1gpu[0-1]\nNodeName=g2 Name=gpu File={home}/dev/g2gpu[0-3]\n", 0o644),
        "resume": (f"#!/bin/sh\nsleep {POWER_UP_S}\nexport PATH=/usr/sbin:/usr/bin:/sbin:/bin POUNCE_CLUSTER_ID={number}\n"
                   f"exec {CLUSTER} start slurmd-g2\n", 0o755),
        "suspend": ("#!/bin/sh\nexit 0\n", 0o755),
    }


@pytest.fixture(scope="module")
def site(cluster):
    with site_cluster(growing) as started:
        yield started


@pytest.fixture
def alice(site, login_node, make_user):
    return make_user("alice", login_node(site.cluster_id), idle_release_s=1, poll_max_s=2)


TOLD = """
    import pounce
    def devices():
        import os
        return os.environ.get("CUDA_VISIBLE_DEVICES", "")
    told, client = [], None
    try:
        client = pounce.Client()
        future = client.options(**{options!r}).submit(devices)
        while not future.done():
            if str(future.why()) not in told:
                told.append(str(future.why()))
                report(told=told[-1])
            time.sleep(0.05)
        report(devices=future.result())
    except pounce.PounceError as e:
        report(refused=error(e))
    if client:
        client.close()
"""


def told(run) -> list[str]:
    return [report["told"] for report in run.reports if "told" in report]


def test_where_slurm_takes_no_more_jobs_a_call_waits_and_says_so(site, alice):
    """First of all: a job that has ended takes a place until slurmctld forgets it, up to a minute later."""
    wait_until(lambda: site.run("scontrol", "show", "job") == "No jobs in the system", 90, "those of before are forgotten")
    for _ in range(6):  # the last ones would wait for ever: sbatch tries again
        site.run("timeout", "2", "sbatch", "--begin=now+1hour", "--output=/dev/null", "--wrap=true", user="bob", check=False)

    run = alice.python(TOLD.format(options={}))
    full = "slurmctld takes no job for now: there are as many as its MaxJobCount allows"
    wait_until(lambda: any(full in words for words in told(run)), 60, "it is said")
    site.run("scancel", "--user=bob")

    assert run.ended(120).reported("devices") == ""
    assert site.run("squeue", "--noheader", "--user=alice", "--format=%i").count("\n") <= 1, "one job, however often it was asked for"


def test_gpus_without_a_type_are_given_and_told(alice):
    run = alice.python(TOLD.format(options={"gpus": 2})).ended()

    assert run.reported("devices") == "0,1"
    assert alice.run("pouncectl", "classes").count("GPU") >= 1


def test_a_node_of_a_cloud_is_switched_on_for_a_job_and_that_is_said(alice):
    run = alice.python(TOLD.format(options={"gpus": 3})).ended(150)

    assert run.reported("devices") == "0,1,2"
    assert any("its node is being prepared" in words for words in told(run)), told(run)


def test_a_login_node_without_a_slurm_conf_gets_it_from_slurmctld(site, login_node, make_user):
    """Only MUNGE's socket must be where it always is: what it is called is told in that file."""
    number, node = site.cluster_id, login_node(site.cluster_id)
    Path("/run/munge").mkdir(exist_ok=True)
    (node.keeps_to_itself("/run/munge") / "munge.socket.2").symlink_to(site.home / "run" / "munge.sock")
    alice = make_user("alice", node, idle_release_s=1)
    told_by = {"SLURM_CONF": None, "SLURM_CONF_SERVER": f"10.77.{number}.254:{17_017 + 100 * number}"}

    run = alice.python(TOLD.format(options={"gpus": 1}), **told_by).ended()
    checks = {check["check"]: check for check in json.loads(alice.run("pouncectl", "doctor", "--json", **told_by))["checks"]}

    assert run.reported("devices") == "0"
    assert checks["slurm.conf"]["text"] == "configless: slurmctld gives it" and checks["slurmctld"]["state"] == "ok"


def test_a_class_and_an_account_that_do_not_exist_are_refused_also_where_slurm_enforces_none(site, alice):
    """It takes such jobs: in a class that nobody has, and in the user's default account."""
    site.run("sacctmgr", "--immediate", "add", "account", "physics")

    run = alice.python("""
        import pounce
        client = pounce.Client(class_="lion")
        for options in (dict(class_="ocelot"), dict(account="genetics"), dict(account="physics")):
            report(refused=error(client.options(**options).submit(pow, 2, 3).exception(100)))
        report(ran=client.options(account="ML").submit(pow, 2, 10).result(100))
        client.close()
    """).ended()

    by_class, of_nobody, of_others = [report["refused"] for report in run.reports if "refused" in report]
    assert by_class["type"] == "UnknownClass"
    assert by_class["text"].startswith("there is no class 'ocelot'; the classes are cheetah, lion, panther, tabby.")
    assert (of_nobody["type"], of_others["type"]) == ("NoAssociation", "NoAssociation")
    assert of_nobody["text"] == "user alice has no account 'genetics'; the accounts are ml. Name one of them: account=ml, or --account in a cell."
    assert of_others["text"].startswith("user alice has no account 'physics'; the accounts are ml.")
    assert run.reported("ran") == 1024


def test_other_clusters_in_the_same_database_change_nothing_and_a_federation_is_refused_by_name(site, alice, login_node, make_user):
    site.run("sacctmgr", "--immediate", "add", "cluster", "elsewhere")
    for option in ("clusters", "container"):
        run = alice.python(TOLD.format(options={"slurm": {option: "elsewhere"}})).ended()
        assert f"pounce passes no --{option} on to Slurm" in run.reported("refused")["text"]
    assert alice.python(TOLD.format(options={}), SLURM_CLUSTERS="elsewhere").ended().reported("devices") == ""

    site.run("sacctmgr", "--immediate", "add", "federation", "savanna", f"clusters=pounce{site.cluster_id},elsewhere")
    wait_until(lambda: "savanna" in site.run("scontrol", "show", "federation"), 30, "slurmctld knows its federation")
    bob = make_user("bob", login_node(site.cluster_id))

    run = bob.python(TOLD.format(options={})).ended()

    assert f"cluster pounce{site.cluster_id} is in the federation savanna with elsewhere" in run.reported("refused")["text"]
