"""A task with a name on a real Slurm: its kernel is killed, its job ends by itself, a later kernel has the result."""

from __future__ import annotations

import uuid

from login_node import wait_until

SUBMIT = """
    import pounce
    def train(seconds):
        import time
        print("training", flush=True)
        time.sleep(seconds)
        return [seconds] * 3
    client = pounce.Client()
    future = client.options(gpus=1, name={name!r}).submit(train, {seconds})
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


def test_a_killed_kernels_task_ends_by_itself_and_its_owner_alone_has_the_result(person):
    alice = person("alice", idle_release_s=300)
    name = f"outlives-its-kernel-{uuid.uuid4().hex[:8]}"
    kernel = alice.python(SUBMIT.format(name=name, seconds=8))
    results = kernel.reported("results", 90)
    instance = alice.endpoint()["instance"]

    alice.run("kill", "-9", str(kernel.reported("kernel")))

    wait_until(lambda: not alice.jobs(instance), 60, "the job ends although nobody has fetched anything")
    bob = person("bob", node=alice.node)
    assert bob.run("sh", "-c", f"ls {results}/{name} >/dev/null 2>&1 && echo seen || echo hidden").strip() == "hidden"
    later = alice.python(ATTACH.format(name=name)).ended(90)
    assert later.reported("state") == "done"
    assert later.reported("result") == [8, 8, 8] and later.reported("log") == "training\n"


def test_a_cancelled_job_ends_the_named_task_with_the_reason(person):
    alice = person("alice")
    name = f"cancelled-job-{uuid.uuid4().hex[:8]}"  # a failed run may have left its own
    alice.python(SUBMIT.format(name=name, seconds=600)).reported("running", 90)
    jobs = alice.jobs(alice.endpoint()["instance"])  # one; and what an earlier test's killed daemon left in a namespace of this number

    alice.run("scancel", *(job["id"] for job in jobs))

    later = alice.python(ATTACH.format(name=name)).ended(90)
    assert later.reported("error")["type"] == "JobCancelled"
