"""A lease of a class that others may preempt, on a site that gives it a grace and tells it."""

from __future__ import annotations

import re

import pytest
from login_node import wait_until
from policy_test import controller_with, site  # noqa: F401  a cluster whose slurmctld may be started anew

LION = """
    import pounce
    def work():
        import time
        print("at work", flush=True)
        time.sleep(600)
    client = pounce.Client(class_="lion", gpus=4, cpus=1, memory="1GB")
    try:
        client.submit(work).result()
    except pounce.Preempted as e:
        report(error=error(e))
    client.close()
"""


@pytest.fixture
def graceful(site, controller_with):  # noqa: F811
    """Cheetah jobs take the place of lion jobs, which have 15 s to end and are told of it."""
    controller_with("SlurmctldParameters=preempt_send_user_signal")
    site.sacctmgr("modify", "qos", "lion", "set", "GraceTime=15")
    site.sacctmgr("modify", "qos", "cheetah", "set", "Preempt=lion")
    yield site
    site.sacctmgr("modify", "qos", "cheetah", "set", "Preempt-=lion")
    site.sacctmgr("modify", "qos", "lion", "set", "GraceTime=0")


def test_a_preempted_lease_is_warned_and_its_caller_told_of_the_grace(graceful, login_node, make_user):
    alice = make_user("alice", login_node(graceful.cluster))
    lion = alice.python(LION)
    wait_until(lambda: "at work" in lion.output, 120, "the lion's task runs")
    (job,) = alice.jobs(alice.endpoint()["instance"])
    node = alice.run("squeue", "--noheader", f"--jobs={job['id']}", "--format=%N").strip()

    graceful.run("sbatch", "--qos=cheetah", f"--nodelist={node}", "--gres=gpu:4", "--time=1", "--output=/dev/null", "--wrap", "true",
                 user="bob")

    wait_until(lambda: "a job that goes first takes its place" in lion.output, 20, "alice is warned while her task runs")
    assert re.search(r"is yours for \d+ s more", lion.output) and "REPORT" not in lion.output
    told = lion.ended(120).reported("error")
    assert told["type"] == "Preempted" and f"Slurm job {job['id']} was preempted by a job that goes first" in told["text"]
    assert re.search(r"with 1\d s of grace", told["text"]) and 10 <= int(told["context"]["grace_s"]) <= 16
