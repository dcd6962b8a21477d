"""pouncectl on the real cluster: alice's leases, giving them back, and what the doctor says when a part is missing."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from login_node import RELEASE, User, wait_until

# One task that runs until it is released, one that waits behind it.
TWO_TASKS = """
    import subprocess, time, pounce
    client = pounce.Client().options(gpus=1)
    def long():
        subprocess.run(["pounce-report", "loss=0.5", "--status", "it goes on"], check=True)
        time.sleep(600)
    futures = [client.submit(long, retries=0), client.submit(pow, 2, 3)]
    report(submitted=True)
    for future in futures:
        try:
            report(ended=repr(future.result(300)))
        except Exception as e:
            report(ended=error(e))
"""


def leases(who: User) -> list[dict]:
    return json.loads(who.run("pouncectl", "leases", "--json"))["leases"]


def doctor(who: User, **environment) -> dict[str, dict]:
    checks = json.loads(who.run("pouncectl", "doctor", "--json", check=False, **environment))["checks"]
    return {check["check"]: check for check in checks}


def test_a_running_lease_is_shown_and_released_now_with_its_job(make_user):
    alice = make_user("alice")
    run = alice.python(TWO_TASKS)
    run.reported("submitted")

    wait_until(lambda: any(lease["running"] > 0 for lease in leases(alice)), 60, "a task runs")
    (lease,) = leases(alice)
    table = alice.run("pouncectl", "leases")
    for word in (lease["lease"][:8], str(lease["job"]), lease["node"], "1 GPU", f"(pid {lease['pid']})"):
        assert word in table, table
    wait_until(lambda: "it reports it goes on; loss=0.5\n" in alice.run("pouncectl", "status"), 90, "what it reported is shown")
    def job_is_there() -> bool:  # other tests' jobs of alice's are there too
        return str(lease["job"]) in [job["id"] for job in alice.jobs()]

    assert job_is_there()

    assert f"job {lease['job']}" in alice.run("pouncectl", "release", "--now", lease["lease"][:6])

    ended = [report["ended"] for report in run.ended(120).reports if "ended" in report]
    assert ended[0]["type"] == "LeaseEnded" and "pouncectl release --now" in ended[0]["text"]
    assert len(ended) == 2 and ended[1]["type"] in ("LeaseEnded", "LostError")
    wait_until(lambda: not job_is_there(), 60, "the job's end")


def test_doctor_finds_nothing_wrong_for_alice_and_no_class_for_mallory(make_user):
    well = doctor(make_user("alice"))
    assert {check["state"] for check in well.values()} <= {"ok", "note"}, well
    assert "cheetah" in well["classes"]["text"] and (RELEASE or "22.05") in well["slurmctld"]["text"]

    classes = doctor(make_user("mallory"))["classes"]
    assert classes["state"] == "wrong" and "sacctmgr add user" in classes["fix"]


def test_doctor_names_a_missing_slurm_conf(make_user):
    conf = doctor(make_user("alice"), SLURM_CONF="/nowhere/slurm.conf")["slurm.conf"]
    assert conf["state"] == "wrong" and "/nowhere/slurm.conf" in conf["text"] and "SLURM_CONF" in conf["fix"]


def test_doctor_names_a_munged_that_is_down(quiet_cluster, login_node, make_user):
    alice = make_user("alice", login_node(quiet_cluster))
    pid = int(Path(f"/opt/pounce-cluster-{quiet_cluster}/run/munged.pid").read_text())

    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), 30, "munged's end")

    checks = doctor(alice)
    assert checks["munge"]["state"] == "wrong" and "munged" in checks["munge"]["fix"]
    assert checks["slurmctld"]["state"] == "wrong" and checks["slurmctld"]["fix"]
