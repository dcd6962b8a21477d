"""What a person may do instead of waiting, on a real Slurm whose large GPUs are all in use: choose by hand, or have decided beforehand."""

from __future__ import annotations

import json
import subprocess

import pytest
from gateway import of_cluster
from login_node import CLUSTER, wait_until

WAITING = """
    import pounce
    def devices():
        import os
        return os.environ.get("CUDA_VISIBLE_DEVICES", "")
    client = pounce.Client()
    def queued(future):
        while (why := future.why()) is None or why.slurm_reason in ("", "None"):
            time.sleep(0.05)
        return why
"""


@pytest.fixture
def alice(quiet_cluster, login_node, person):
    return person("alice", login_node(quiet_cluster), poll_max_s=2, idle_release_s=1)


@pytest.fixture
def admin(quiet_cluster):
    def admin(*words: str, user: str = "root") -> str:
        command = [str(CLUSTER), "run", "--as", user, "--", *words]
        done = subprocess.run(command, env=of_cluster(quiet_cluster), capture_output=True, text=True, timeout=90)
        assert done.returncode == 0, f"{words}: {done.stdout}\n{done.stderr}"
        return done.stdout.strip()

    return admin


@pytest.fixture
def no_a100(admin):
    """Bob has all six of them; their two slices, and the processors, are free."""
    jobs = [admin("sbatch", "--parsable", "--time=10", f"--nodelist={node}", f"--gres=gpu:a100:{count}", "--mem=100M", "--output=/dev/null",
                  "--wrap", "sleep 1000", user="bob") for node, count in (("g1", 4), ("g2", 2))]
    for job in jobs:
        wait_until(lambda job=job: "RUNNING" in admin("scontrol", "show", "job", job), 30, "bob's jobs run")
    yield
    admin("scancel", "--user=bob")
    wait_until(lambda: not admin("squeue", "--noheader", "--user=bob"), 60, "the end of bob's jobs")


def test_what_would_start_now_is_named_and_can_be_taken(alice, no_a100):
    flag = alice.folder / "flag"
    run = alice.python(WAITING + f"""
    future = client.options(gpus="a100").submit(devices)
    report(reason=queued(future).slurm_reason)
    report(choices={{choice.option: choice.now for choice in future.choices()}}, sentences=[str(choice) for choice in future.choices()])
    eta = future.lease.eta()
    report(eta=eta and eta._asdict(), now=time.time())
    while not os.path.exists({str(flag)!r}):
        time.sleep(0.05)
    report(moved=future.move(gpus="a100_3g.20gb"), devices=future.result(60), node=next(one.node for one in client.leases() if one.node))
    client.close()
    """)

    assert run.reported("reason") in ("Resources", "Priority")
    assert run.reported("choices") == {"": False, "a100_3g.20gb": True, "cpu": True, "cancel": False}
    assert "--gpu a100_3g.20gb: free now" in run.reported("sentences")
    eta = run.reported("eta")
    assert eta["low"] <= eta["start"] <= eta["high"] and run.reported("now") - 5 < eta["low"] < run.reported("now") + 600
    (lease,) = json.loads(alice.run("pouncectl", "why", "--json"))["leases"]
    assert {choice["or"]: choice["now"] for choice in lease["choices"]}["a100_3g.20gb"] and lease["eta"]["basis"].startswith("2 running jobs")
    assert "with GPU a100_3g.20gb: free now" in alice.run("pouncectl", "why")

    flag.touch()
    assert run.reported("moved") is True and run.reported("node") == "g2"
    wait_until(lambda: not alice.jobs(), 60, "the job that waited was taken back, and the other one has ended")


def test_a_task_does_what_was_decided_beforehand(alice, no_a100):
    run = alice.python(WAITING + """
    start = time.monotonic()
    cpu = client.options(gpus="a100", wait_policy="cpu").submit(devices)
    later = client.options(gpus="a100:2", wait_policy=["class=lion@4s", "a100_3g.20gb@6s"]).submit(devices)
    never = client.options(gpus="a100:3", wait_policy="cancel@5s").submit(devices)
    report(cpu=cpu.result(60))
    try:
        never.result(60)
    except pounce.Cancelled as error:
        report(never=error.text, after=time.monotonic() - start)
    report(later=later.result(60), class_=later.lease is None)
    client.close()
    """)

    assert run.reported("cpu") == ""
    assert run.reported("never").startswith("devices: it was cancelled because it still waited (") and "cancel@5s" in run.reported("never")
    assert 5 <= run.reported("after") < 15
    assert run.reported("later") != ""
    assert "pounce: devices still waited (" in run.ended(60).output and "it asks for cpu now, as its wait policy said" in run.output
    wait_until(lambda: not alice.jobs(), 60, "no job is left")
