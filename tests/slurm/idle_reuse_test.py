"""Idle leases that are kept warm, on a cluster of eight GPUs: they go back as soon as somebody waits for what they hold."""

from __future__ import annotations

import json
import time

import pytest
from faults import measured
from login_node import wait_until
from notebooks import Executed, printed, shown, written
from policy_test import controller_with, site  # noqa: F401  a cluster whose slurmctld may be started anew

WARM = {"idle_release_s": 1, "keep_warm_s": 600}

# Eight clients with a GPU each, idle; and, when the flag is there, a call on each again.
HOLDS_ALL = """
    import pounce
    clients = [pounce.Client(gpus=1, cpus=1, memory="1GB") for _ in range(8)]
    for future in [client.submit(pow, 2, 10) for client in clients]:
        future.result(120)
    report(warm=len(clients))
    while not os.path.exists({flag!r}):
        time.sleep(0.05)
    again = [client.submit(pow, 3, 2) for client in clients]
    report(again=[future.result(120) for future in again])
    for client in clients:
        client.close()
"""

REQUESTS_ONE = """
    import pounce
    client = pounce.Client(gpus=1, cpus=1, memory="1GB")
    start = time.monotonic()
    future = client.submit(time.monotonic)
    waited, reasons = 0.0, set()
    while not future.done():
        why = future.why()
        if why is not None and why.slurm_reason:
            reasons.add(why.slurm_reason)
        time.sleep(0.02)
    report(reasons=sorted(reasons), queue_s=future.timings()["queue"], value=future.result(120))
    client.close()
"""


@pytest.fixture
def node(quiet_cluster, login_node):
    return lambda: login_node(quiet_cluster)


def rpcs(who) -> dict:
    return json.loads(who.run("pouncectl", "status", "--json"))["rpc"]


def leases(who) -> list[dict]:
    return json.loads(who.run("pouncectl", "status", "--json"))["leases"]


def warm(who, count: int):
    def look():
        found = [one for one in leases(who) if "kept until somebody waits" in one["reason"]]
        return len(found) >= count and found

    return wait_until(look, 60, f"{count} leases are idle and warm")


def test_one_who_waits_gets_a_warm_gpu_of_a_full_cluster_within_ten_seconds(node, make_user):
    alice, bob = make_user("alice", node(), **WARM), make_user("bob", node(), poll_max_s=2)
    flag = alice.folder / "flag"
    holds = alice.python(HOLDS_ALL.format(flag=str(flag)))
    holds.reported("warm", 180)
    warm(alice, 8)

    requests = bob.python(REQUESTS_ONE)

    reasons = requests.reported("reasons", 60)
    assert not reasons or "Resources" in reasons, "nothing was free; a wait that ends before Slurm was asked again has no reason yet"
    measured("a waiting call gets a warm GPU of somebody else", requests.reported("queue_s"))
    assert requests.reported("queue_s") < 10
    requests.ended()
    assert len(warm(alice, 7)) == 7, "only as much went as was needed"
    flag.touch()
    assert holds.ended(180).reported("again") == [9] * 8
    assert holds.output.count("the GPU was given back at ") == 1 and "somebody waited for it" in holds.output


def test_the_next_cell_says_when_its_gpu_went_and_has_its_variables(node, make_user, quiet_cluster):
    alice = make_user("alice", node(), **WARM)
    flag = alice.folder / "flag"
    notebook = Executed(alice, written(
        alice, "import pounce", "%%pounce --gpu 1\nkept = 1",
        f"import os, time\nprint('idle', flush=True)\nwhile not os.path.exists({str(flag)!r}): time.sleep(0.05)",
        "%pounce status", "%%pounce --gpu 1\nkept", "%pounce release"))
    wait_until(lambda: "\nidle" in notebook.run.output, 120, "the first cell is over")
    (lease,) = warm(alice, 1)
    bob = make_user("bob", node())

    job = bob.run("sbatch", "--parsable", f"--nodelist={lease['node']}", "--gres=gpu:4", "--output=/dev/null", "--wrap", "true").strip()
    wait_until(lambda: not bob.run("squeue", "--noheader", "--me", f"--jobs={job}", check=False), 30, "bob's job has run")
    flag.touch()

    cells = notebook.cells()
    assert "is gone (the GPU was given back at " in printed(cells[3]) and "kept (they are saved" in printed(cells[3])
    lines = " ".join(shown(cells[4], "text/plain"))
    assert "pounce: the GPU was given back at " in lines and "somebody waited for it" in lines
    assert "restored kept" in printed(cells[4]) and shown(cells[4], "text/plain")[-1] == "1"


def test_warmth_costs_one_look_in_an_interval_however_many_leases_there_are(node, make_user):
    alice = make_user("alice", node(), warm_poll_s=2, **WARM)
    flag = alice.folder / "flag"
    holds = alice.python(HOLDS_ALL.format(flag=str(flag)))
    holds.reported("warm", 180)
    warm(alice, 8)
    wait_until(lambda: all(one["end_s"] for one in leases(alice)), 60, "Slurm was asked once when their time ends")

    before, begun = rpcs(alice), time.monotonic()
    after = wait_until(lambda: (now := rpcs(alice))["looks"] >= before["looks"] + 4 and now, 60, "four looks")
    seconds = time.monotonic() - begun

    assert after["looks"] - before["looks"] <= seconds / 2 + 1
    assert after["polls"] == before["polls"] and len(leases(alice)) == 8
    flag.touch()
    holds.ended(120)


def test_a_job_that_waits_for_something_else_takes_no_gpu(node, make_user):
    alice, bob = make_user("alice", node(), warm_poll_s=1, **WARM), make_user("bob", node())
    flag = alice.folder / "flag"
    holds = alice.python(HOLDS_ALL.format(flag=str(flag)))
    holds.reported("warm", 180)
    warm(alice, 8)

    for option in ("--hold", "--begin=now+1hour", "--dependency=singleton --hold"):
        bob.run("sbatch", *option.split(), "--gres=gpu:1", "--output=/dev/null", "--wrap", "true")
    before = rpcs(alice)["looks"]
    wait_until(lambda: rpcs(alice)["looks"] >= before + 3, 60, "three looks")

    assert len(leases(alice)) == 8
    bob.run("scancel", "--me")
    flag.touch()
    holds.ended(120)


def test_where_jobs_are_hidden_warmth_is_short_and_says_so(site, controller_with, node, make_user):  # noqa: F811
    controller_with("PrivateData=jobs")
    alice = make_user("alice", node(), idle_release_s=1, keep_warm_s=600, keep_warm_blind_s=10)
    flag = alice.folder / "flag"
    holds = alice.python(f"""
        import pounce
        client = pounce.Client(gpus=1, cpus=1, memory="1GB")
        report(result=client.submit(pow, 2, 10).result(120))
        while not os.path.exists({str(flag)!r}):
            time.sleep(0.05)
        client.close()
    """)
    holds.reported("result", 120)

    wait_until(lambda: any("this Slurm shows nobody who else waits" in one["reason"] for one in leases(alice)), 20, "it is said")
    wait_until(lambda: not leases(alice), 60, "the lease goes back although nobody can be seen waiting")

    assert rpcs(alice)["looks"] == 1
    flag.touch()
    holds.ended(60)
