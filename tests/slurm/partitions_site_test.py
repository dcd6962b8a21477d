"""A site that decides by partitions: which QoS, accounts and groups they take, limits that count at submission, a QoS of their own;
licences, reservations and the names of GPU slices. What a partition refuses is told as the partition's. Its nodes have as many CPUs as
this machine, and keep each job to its own (TaskPlugin, ConstrainCores, PrologFlags=Contain)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from gateway import Gateway, a_job, programs
from login_node import wait_until
from site_clusters import SiteCluster, node_line, site_cluster

pytestmark = pytest.mark.xdist_group("partitions_site")


IS_VERSION_2 = Path("/sys/fs/cgroup/cgroup.controllers").exists()
CGROUPS = f"""CgroupPlugin=cgroup/v{1 + IS_VERSION_2}
CgroupMountpoint=/sys/fs/cgroup
{"IgnoreSystemd=yes" if IS_VERSION_2 else ""}
ConstrainRAMSpace=yes
ConstrainCores=yes
"""


def by_partitions(cluster: SiteCluster) -> dict[str, tuple[str, int]]:
    return {"cgroup.conf": (CGROUPS, 0o644), "slurm.conf": (f"""EnforcePartLimits=ALL
TaskPlugin=task/affinity,task/cgroup
PrologFlags=Alloc,Contain
{node_line(cluster.cluster_id, 1, "CPUs=2 RealMemory=131072 Gres=gpu:a100:4")}
{node_line(cluster.cluster_id, 2, "CPUs=2 RealMemory=131072 Gres=gpu:a100:2,gpu:a100_3g.20gb:2")}
Licenses=matlab:1
PartitionName=open Nodes=ALL Default=YES MaxTime=60 State=UP
PartitionName=lions Nodes=ALL AllowQos=lion,panther State=UP
PartitionName=notabby Nodes=ALL DenyQos=tabby State=UP
PartitionName=physics Nodes=ALL AllowAccounts=physics State=UP
PartitionName=staff Nodes=ALL AllowGroups=munge State=UP
PartitionName=small Nodes=g2 QOS=tabby MaxTime=1440 State=UP
""", 0o644)}


@pytest.fixture(scope="module")
def site(cluster):
    with site_cluster(by_partitions) as started:  # a partition's accounts that nobody has are none to newer slurmctlds
        started.run("sacctmgr", "--immediate", "add", "account", "physics")
        started.run("scontrol", "reconfigure")
        yield started


@pytest.fixture(scope="module")
def alice(site):
    folder = programs()
    gateway = Gateway(folder, "alice", site.cluster_id)
    yield gateway
    gateway.close()
    shutil.rmtree(folder)


def submitted(who: Gateway, qos: str, partition: str, slurm: dict | None = None, **resources) -> dict:
    """As pounced asks for a class that the policy puts into that partition."""
    spec = a_job(who.instance, class_=qos, **resources)
    spec["partition"] = partition
    spec["resources"]["slurm"] = slurm or {}
    return who.ask("submit", spec=spec)


def refused(who: Gateway, *words, **asked) -> str:
    error = submitted(who, *words, **asked)["error"]
    return f"{error['code']}: {error['text']}"


@pytest.mark.parametrize("qos, partition, told", [
    ("cheetah", "lions", "partition lions takes QoS lion, panther alone; asked for: class 'cheetah'; "
                         "those that take it: open, notabby, physics, staff, small"),
    ("", "lions", "partition lions takes QoS lion, panther alone; asked for: class 'cheetah'; "
                  "those that take it: open, notabby, physics, staff, small"),
    ("tabby", "notabby", "partition notabby does not take QoS tabby; asked for: class 'tabby'; "
                         "those that take it: open, physics, staff, small"),
    ("lion", "physics", "partition physics takes accounts physics alone; asked for: account 'ml'; "
                        "those that take it: open, lions, notabby, staff, small"),
    ("lion", "staff", "partition staff takes members of munge alone, and you are none of them"),
    ("lion", "nosuch", "there is no partition 'nosuch'; the partitions are open, lions, notabby, physics, staff, small"),
])
def test_whom_a_partition_takes_is_said(alice, qos, partition, told):
    assert refused(alice, qos, partition).startswith(f"rejected: {told}")


def test_an_account_and_a_class_that_are_not_the_users_are_still_told_as_such(alice):
    other = refused(alice, "lion", "lions", account="physics")
    assert other.startswith("no_association: user alice has no account 'physics'; the accounts are ml")
    assert refused(alice, "part", "open").startswith("unknown_class: there is no class 'part'")


@pytest.mark.parametrize("partition", ["open", ""])
def test_more_time_than_a_partition_gives_is_said(alice, partition):
    assert refused(alice, "lion", partition, time_min=61) == "unsatisfiable: partition open gives at most 60 minutes; asked for: 61 minutes"


def test_a_limit_of_the_partitions_own_qos_is_not_laid_to_the_class_alone(alice):
    told = refused(alice, "lion", "small", time_min=800)

    assert told.startswith("unsatisfiable: Slurm would never start it") and "or QoS tabby of its partition does not" in told
    assert [job for job in alice.reconcile() if job["state"] != "ended"] == []


def runs_at(who: Gateway, *words, **asked) -> dict:
    answer = submitted(who, *words, **asked)
    assert "answer" in answer, answer
    job = answer["answer"]
    try:
        return wait_until(lambda: (view := who.view(job))["state"] == "running" and view, 30, "the job runs")
    finally:
        who.ask("cancel", job=job)


def test_a_partition_without_a_qos_and_one_with_its_own_run_what_they_take(alice):
    assert runs_at(alice, "lion", "lions")["nodes"] in ("g1", "g2")
    assert runs_at(alice, "lion", "small", gpus=1, time_min=30)["nodes"] == "g2"


def test_a_slice_is_asked_for_by_its_name(alice):
    view = runs_at(alice, "cheetah", "open", gpus=1, gpu_type="a100_3g.20gb")

    assert view["nodes"] == "g2" and view["devices"].startswith("gpu:a100_3g.20gb:1")
    another = refused(alice, "cheetah", "open", gpus=1, gpu_type="1g.5gb")
    assert another.startswith("unsatisfiable: no node of the cluster has what was asked for")


def test_licences_are_counted_and_told(alice):
    assert runs_at(alice, "cheetah", "open", {"licenses": "matlab:1"})["nodes"]
    for asked in ("matlab:2", "maple:1"):
        told = refused(alice, "cheetah", "open", {"licenses": asked})
        assert told == f"rejected: Slurm refused: Invalid license specification ({asked}); the cluster has matlab:1"


def test_a_reservation_is_for_those_whose_it_is(site, alice):
    site.run("scontrol", "create", "reservation", "reservationname=hers", "users=alice", "starttime=now", "duration=10", "nodes=g1")
    site.run("scontrol", "create", "reservation", "reservationname=his", "users=bob", "starttime=now", "duration=10", "nodes=g2")
    try:
        assert runs_at(alice, "cheetah", "open", reservation="hers")["nodes"] == "g1"
        assert refused(alice, "cheetah", "open", reservation="his") == (
            "rejected: reservation 'his': Slurm refused: Access denied to requested reservation; the reservations are hers, his")
    finally:
        for name in ("hers", "his"):
            site.run("scontrol", "delete", f"reservationname={name}")


BOUND = """
import json, os, pounce
def place():
    import os
    groups = open("/proc/self/cgroup").read()
    return dict(cpus=len(os.sched_getaffinity(0)), contained="/job_" + os.environ["SLURM_JOB_ID"] + "/" in groups)
"""


def test_leases_gangs_batch_runs_and_jobs_have_the_cpus_and_the_cgroup_of_their_job(site, login_node, make_user):
    who = make_user("alice", login_node(site.cluster_id), idle_release_s=1, poll_max_s=2)
    run = who.python(BOUND + """
from pounce._batch import making
from pounce._batch.run import BatchRun
from pounce._engine.options import Options
asks = dict(class_="cheetah", cpus=1, memory="1GB", time="5min")
with pounce.Client(**asks) as client:
    report(lease=client.submit(place).result(100))
with pounce.gang(nodes=2, **asks) as gang:
    report(gang=gang.run(place))
batch = BatchRun(making.of_function(place, (), {}, making.Request(Options().changed(**asks), folder=""))).submit()
report(batch=batch.result(100))
""")
    inside = who.batch(BOUND + """
with pounce.Client(here=True) as here:
    print("REPORT " + json.dumps(dict(here=here.submit(place).result(100))), flush=True)
""", "--qos=cheetah --cpus-per-task=1 --mem=1G --time=5")

    lease, gang = run.reported("lease", 100), run.reported("gang", 100)
    assert lease == {"cpus": 1, "contained": True}
    assert gang == [lease] * 2 and run.reported("batch", 100) == lease
    assert inside.reported("here", 150) == lease
    run.ended()
    inside.ended()
