"""Each reason of waiting as a site makes it: what the user is told, in words and in numbers, and that it is over when it is over."""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import re
import time
from pathlib import Path

import pytest
from login_node import ROOT, User, wait_until
from waits import Waiting, changed


@pytest.fixture
def alice(quiet_cluster, login_node, make_user):
    """On that cluster, with quick looks at the queue."""
    return make_user("alice", login_node(quiet_cluster), poll_max_s=2, idle_release_s=1)


@pytest.fixture
def full(admin):
    """Bob has both nodes for himself."""
    job = admin("sbatch", "--parsable", "--nodes=2", "--exclusive", "--time=10", "--output=/dev/null", "--wrap", "sleep 1000",
                user="bob")
    wait_until(lambda: "RUNNING" in admin("scontrol", "show", "job", job), 30, "bob's job runs")
    yield job
    admin("scancel", "--user=bob")
    wait_until(lambda: not admin("squeue", "--noheader", "--user=bob"), 60, "the end of bob's jobs")


def waiting_leases(who: User) -> list[dict]:
    return json.loads(who.run("pouncectl", "why", "--json"))["leases"]


def test_a_fifth_lion_waits_with_the_limit_and_its_numbers(alice):
    waiting = Waiting(alice, *({"class_": "lion", "cpus": count} for count in range(1, 6)))

    why = waiting.told("QOSMaxJobsPerUserLimit", limit=["job", 4, 4, 1])
    assert why["reason"] == ("a limit of class lion is reached: 4 jobs run at a time, and 4 of yours do; it ends when one ends, "
                             "or an admin can raise the limit")
    assert why["class_"] == "lion" and why["state"] == "queued" and why["ahead"] is None

    (lease,) = waiting_leases(alice)
    assert lease["limit"] == {"what": "job", "most": 4, "used": 4, "asked": 1} and lease["reason"] == why["reason"]
    assert "4 of yours do" in alice.run("pouncectl", "why", lease["lease"][:6])
    assert "4 of yours do" in alice.run("pouncectl", "queue")
    classes = {one["class"]: one for one in json.loads(alice.run("pouncectl", "classes", "--json"))["classes"]}
    assert classes["lion"]["running_jobs"] == {"most": 4, "used": 4, "left": 0}
    assert classes["panther"]["gpus"]["most"] == 0 and classes["cheetah"]["default"]

    waiting.ends_well()
    assert "nothing waits" in alice.run("pouncectl", "why")


def test_a_limit_of_gpus_says_how_many_there_are_and_its_end_is_seen(alice, admin):
    with changed(admin, "modify qos cheetah set MaxTRESPerUser=gres/gpu=2", "modify qos cheetah set MaxTRESPerUser=gres/gpu=-1"):
        waiting = Waiting(alice, {"gpus": 1}, {"gpus": 2})
        why = waiting.told("QOSMaxGRESPerUser", limit=["gres/gpu", 2, 1, 2])
        assert "2 GPUs for one user; yours have 1, and this one asks for 2" in why["reason"]
    waiting.run.reported("runs")
    waiting.ends_well()


def test_a_full_cluster_says_how_many_are_ahead_and_when_it_is_expected_to_start(alice, admin, full):
    for _ in range(2):
        admin("sbatch", "--nodes=2", "--exclusive", "--time=5", "--output=/dev/null", "--wrap", "sleep 1000", user="bob")
    waiting = Waiting(alice, {"gpus": 1, "time": 1200})

    why = waiting.told("Priority", ahead=2)
    assert why["reason"] == "other jobs go first; 2 jobs are ahead of it"
    wait_until(lambda: any(r["why"]["start"] for r in waiting.run.reports if "why" in r), 60, "an estimate")
    start = next(r for r in reversed(waiting.run.reports) if "why" in r and r["why"]["start"])
    assert time.time() < start["why"]["start"] < time.time() + 3600
    assert " · starts " in start["sentence"] and start["why"]["eta"]

    admin("scancel", "--user=bob")
    waiting.ends_well()


def test_a_limit_that_is_lowered_under_a_waiting_job_is_told_with_both_times(alice, admin, full):
    waiting = Waiting(alice, {"cpus": 1, "time": 1200})
    waiting.told("Resources")

    with changed(admin, "modify qos cheetah set MaxWall=00:10:00", "modify qos cheetah set MaxWall=00:30:00"):
        why = waiting.told("QOSMaxWallDurationPerJobLimit", limit=["time", 10, 0, 20])
        assert why["reason"].startswith("class cheetah does not give so much: at most 10 min for one job; this one asks for 20 min")

    admin("scancel", "--user=bob")
    waiting.ends_well()


def test_a_job_that_an_admin_holds_says_so(alice, admin, full):
    waiting = Waiting(alice, {"cpus": 1})
    job = str(waiting.told("Resources")["job"])

    admin("scontrol", "hold", job)
    assert waiting.told("JobHeldAdmin")["reason"] == "an admin holds the job back, and can let it go"

    admin("scontrol", "release", job)
    admin("scancel", "--user=bob")
    waiting.ends_well()


def test_nodes_that_are_down_for_repair_are_told(alice, admin):
    admin("scontrol", "update", "nodename=g2", "state=drain", "reason=repair")
    try:
        waiting = Waiting(alice, {"gpus": "a100_3g.20gb"})  # which only g2 has
        wait_until(lambda: any("down" in r["why"]["reason"] for r in waiting.run.reports if "why" in r), 60,
                   f"it is told; so far:\n{waiting.run.output}")
        gpus = {gpu["type"]: gpu for gpu in json.loads(alice.run("pouncectl", "classes", "--json"))["gpus"]}
        assert gpus["a100_3g.20gb"] == {"type": "a100_3g.20gb", "total": 2, "free": 0}
        assert gpus["a100"] == {"type": "a100", "total": 6, "free": 4}
    finally:
        admin("scontrol", "update", "nodename=g2", "state=resume")
    waiting.ends_well()


def test_nodes_that_are_kept_free_for_maintenance_are_told(alice, admin):
    admin("scontrol", "create", "reservation", "reservation=repair", "starttime=now+5minutes", "duration=60", "user=root",
          "flags=maint,ignore_jobs", "nodes=ALL")
    try:
        waiting = Waiting(alice, {"cpus": 1, "time": 1200})  # it would not be over by then
        why = waiting.told("ReqNodeNotAvail")
        assert why["reason"].startswith("nodes that it needs are down or kept free for now; an admin can say more")
    finally:
        admin("scontrol", "delete", "reservation=repair")
    waiting.ends_well()


def test_a_class_that_is_taken_away_is_named(alice, admin, full):
    waiting = Waiting(alice, {"class_": "lion"})
    waiting.told("Resources")

    with changed(admin, "modify user alice set qos-=lion", "modify user alice set qos+=lion"):
        assert waiting.told("InvalidQOS")["reason"] == "class lion is not open to you any more: ask for another one, or an admin"

    admin("scancel", "--user=bob")
    waiting.ends_well()


def test_a_limit_of_the_whole_account_says_so(alice, admin):
    job = admin("sbatch", "--parsable", "--output=/dev/null", "--mem=100M", "--wrap", "sleep 1000", user="bob")
    try:
        with changed(admin, "modify account ml set GrpJobs=1", "modify account ml set GrpJobs=-1"):
            waiting = Waiting(alice, {"cpus": 1})
            why = waiting.told("AssocGrpJobsLimit", limit=["job", 1, 1, 1])
            assert why["reason"].startswith("a limit of your account is reached: 1 job runs at a time for all of the account together, "
                                            "and 1 does; it ends when one ends")
        waiting.ends_well()
    finally:
        admin("scancel", job)


def test_a_part_of_the_cluster_that_is_closed_says_so(alice, admin):
    partition = next(name for name in admin("sinfo", "--noheader", "--format=%P").split() if name.endswith("*")).rstrip("*")
    admin("scontrol", "update", f"partitionname={partition}", "state=down")
    try:
        waiting = Waiting(alice, {"cpus": 1})
        assert waiting.told("PartitionDown")["reason"] == "its part of the cluster starts nothing now"
    finally:
        admin("scontrol", "update", f"partitionname={partition}", "state=up")
    waiting.ends_well()


def test_every_reason_that_the_installed_libslurm_has_is_known():
    path = ctypes.util.find_library("slurm")
    assert path, "libslurm is a dependency of the cluster"
    library = ctypes.CDLL(path)
    said = getattr(library, "slurm_job_reason_string", None) or library.slurm_job_state_reason_string
    said.restype = ctypes.c_char_p
    words = {said(number).decode() for number in range(400)}
    there = {word for word in words if not word.isdigit() and word != "InvaildReason"}

    table = Path(ROOT, "tests", "unit", "messages", "slurm_reasons.h").read_text()
    assert len(there) > 150
    assert there - set(re.findall(r'"(\w+)"', table)) == set()
