"""A task with a name on a real Slurm: its kernel is killed, its job ends by itself, a later kernel has the result."""

from __future__ import annotations

import json
import uuid

import pytest
from login_node import wait_until

# The task ends when the test makes the file `flag`: a killed kernel has then certainly not fetched its result.
SUBMIT = """
    import pounce
    def train(flag):
        import os, time
        print("training", flush=True)
        while not os.path.exists(flag):
            time.sleep(0.05)
        return "trained"
    client = pounce.Client()
    future = client.options(gpus=1, name={name!r}).submit(train, {flag!r})
    while future.state != "running" or not future.log():
        time.sleep(0.05)
    report(running=True, kernel=os.getpid(), results=client._session.results)
    time.sleep(1000)
"""

ATTACH = """
    import pounce
    client = pounce.Client()
    future = client.attach({name!r})
    report(state=future.state)
    try:
        report(result=future.result(90), log=future.log())
    except Exception as e:
        report(error=error(e))
    future.forget()
    client.close()
"""


def test_a_killed_kernels_task_ends_by_itself_and_its_owner_alone_has_the_result(make_user):
    alice = make_user("alice", idle_release_s=300)
    name = f"outlives-its-kernel-{uuid.uuid4().hex[:8]}"
    flag = alice.folder / "flag"
    kernel = alice.python(SUBMIT.format(name=name, flag=str(flag)))
    results = kernel.reported("results", 90)
    instance = alice.endpoint()["instance"]

    alice.run("kill", "-9", str(kernel.reported("kernel")))
    flag.touch()

    wait_until(lambda: not alice.jobs(instance), 60, "the job ends although nobody has fetched anything")
    bob = make_user("bob", node=alice.node)
    assert bob.run("sh", "-c", f"ls {results}/{name} >/dev/null 2>&1 && echo seen || echo hidden").strip() == "hidden"
    later = alice.python(ATTACH.format(name=name)).ended(90)
    assert later.reported("state") == "done"
    assert later.reported("result") == "trained" and later.reported("log") == "training\n"


def test_a_cancelled_job_ends_the_detached_task_with_the_reason(make_user):
    alice = make_user("alice")
    name = f"cancelled-job-{uuid.uuid4().hex[:8]}"  # a failed run may have left its own
    alice.python(SUBMIT.format(name=name, flag="/never")).reported("running", 90)
    jobs = alice.jobs(alice.endpoint()["instance"])  # one; and what an earlier test's killed daemon left in a namespace of this number

    alice.run("scancel", *(job["id"] for job in jobs))

    later = alice.python(ATTACH.format(name=name)).ended(90)
    assert later.reported("error")["type"] == "JobCancelled"


# ---- where kernel and worker share no folder ----

NOWHERE = {"HOME": "/nowhere"}  # the state goes to this machine's own disk


@pytest.fixture
def apart(make_user, login_node):
    """Makes an alice whose login node's disk no other node sees."""

    def make(**config):
        node = login_node()
        node.keeps_to_itself("/var/tmp")
        return make_user("alice", node=node, idle_release_s=300, heartbeat_ms=1000, orphan_grace_s=3, **config)

    return make


def instance_of(alice) -> str:
    return json.loads(alice.run("pounced", "ensure", **NOWHERE).splitlines()[-1])["instance"]


def test_without_a_shared_folder_the_notebook_brings_the_result_into_its_own(apart):
    alice = apart()
    name = f"carried-{uuid.uuid4().hex[:8]}"

    run = alice.python(f"""
        import pounce
        client = pounce.Client()
        def train(data):
            print("training", flush=True)
            return len(data)
        future = client.options(gpus=1, name={name!r}).submit(train, b"x" * 3_000_000)
        report(result=future.result(90), log=future.log(), state=future.state)
        client.close()
    """, **NOWHERE).ended(120)

    assert run.reported("result") == 3_000_000 and run.reported("log") == "training\n" and run.reported("state") == "done"
    assert "does not see the results folder: what it returns stays there for 15 min" in run.output
    wait_until(lambda: not alice.jobs(instance_of(alice)), 60, "the lease goes back")
    assert alice.python(ATTACH.format(name=name), **NOWHERE).ended(90).reported("result") == 3_000_000


def test_without_a_shared_folder_the_result_waits_on_its_worker_for_a_later_notebook(apart):
    alice = apart()
    name = f"fetched-{uuid.uuid4().hex[:8]}"
    flag = alice.folder / "flag"
    kernel = alice.python(SUBMIT.format(name=name, flag=str(flag)), **NOWHERE)
    kernel.reported("results", 90)
    alice.run("kill", "-9", str(kernel.reported("kernel")))
    flag.touch()

    later = alice.python(ATTACH.format(name=name), **NOWHERE).ended(90)

    assert later.reported("result") == "trained" and later.reported("log") == "training\n"
    wait_until(lambda: not alice.jobs(instance_of(alice)), 60, "then the lease goes back")


def test_a_result_that_nobody_fetches_from_its_worker_in_time_is_gone_and_so_is_the_lease(apart):
    alice = apart(result_hold_s=1)
    name = f"gone-{uuid.uuid4().hex[:8]}"
    flag = alice.folder / "flag"
    kernel = alice.python(SUBMIT.format(name=name, flag=str(flag)), **NOWHERE)
    kernel.reported("results", 90)
    instance = instance_of(alice)

    alice.run("kill", "-9", str(kernel.reported("kernel")))
    flag.touch()

    wait_until(lambda: not alice.jobs(instance), 60, "the lease goes back")

    error = alice.python(ATTACH.format(name=name), **NOWHERE).ended(90).reported("error")
    assert error["type"] == "ResultGone" and "within 1 s of its end" in error["text"]


def test_of_two_notebooks_that_wait_one_fetches_and_both_have_the_result(apart):
    alice = apart()
    name = f"waited-for-{uuid.uuid4().hex[:8]}"
    flag, runs = alice.folder / "flag", alice.folder / "runs"
    runs.touch()
    runs.chmod(0o666)
    first = alice.python(f"""
        import pounce
        client = pounce.Client()
        def train():
            open({str(runs)!r}, "a").write("once")
            print("training", flush=True)
            while not os.path.exists({str(flag)!r}):
                time.sleep(0.05)
            return "trained"
        future = client.options(gpus=1, name={name!r}).submit(train)
        while not future.log():
            time.sleep(0.05)
        report(running=True)
        report(result=future.result(90))
        client.close()
    """, **NOWHERE)
    first.reported("running", 90)
    second = alice.python(ATTACH.format(name=name).replace("    future.forget()\n", ""), **NOWHERE)
    assert second.reported("state") == "running"

    flag.touch()

    assert first.reported("result") == second.reported("result") == "trained"
    assert runs.read_text() == "once"


def test_without_a_shared_folder_a_checkpoint_is_refused_and_what_mends_it_said(apart):
    alice = apart()

    run = alice.python("""
        import pounce
        client = pounce.Client()
        for ask in (pounce.restored, lambda: pounce.checkpoint(1)):
            try:
                client.options(gpus=1).submit(ask).result(90)
            except pounce.NotShared as e:
                report(**{ask.__name__: str(e)})
        client.close()
    """, **NOWHERE).ended(120)

    for ask in ("restored", "<lambda>"):
        assert "does not see the disk of the notebook's machine, where checkpoints are kept. Set state_folder to one" in run.reported(ask)
