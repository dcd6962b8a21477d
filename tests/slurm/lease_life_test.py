"""A lease's life on a real Slurm: asked for, used, given back; with pounced dying, forgetting and having a twin."""

from __future__ import annotations

import pytest
from login_node import wait_until

FIRST_SUBMIT = """
    import pounce
    client = pounce.Client()
    report(before=len(client.queue()))
    def held(flag):
        import os, time
        while not os.path.exists(flag):
            time.sleep(0.05)
        return 1024
    flag = os.path.expanduser("~/.held-{}".format(os.getpid()))
    future = client.options(gpus=1, class_="cheetah").submit(held, flag)
    while not future.running():
        time.sleep(0.02)
    report(during=[(row.class_, row.state, row.node) for row in client.queue()])
    open(flag, "w").close()
    report(result=future.result())
    os.unlink(flag)
    deadline = time.monotonic() + 30
    while len(client.queue()) and time.monotonic() < deadline:
        time.sleep(0.2)
    report(after=len(client.queue()))
    client.close()
"""

# A lease that computes for `seconds`, tells its worker's pid and node, and reports what became of the task.
LONG_TASK = """
    import pounce
    def work(seconds):
        import os, time
        print("working", os.getpid(), flush=True)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(0.05)
        return os.getpid()
    client = pounce.Client()
    future = client.submit(work, {seconds})
    while not future.running() and not future.done():
        time.sleep(0.02)
    report(running=True, kernel=os.getpid())
    try:
        report(result=future.result(120))
    except Exception as e:
        report(error=error(e))
    client.close()
"""


@pytest.mark.xdist_group("bob")
def test_the_queue_shows_no_job_then_one_then_none_again(make_user):
    bob = make_user("bob", idle_release_s=3)  # nobody else is bob meanwhile: the queue shows a user's jobs, wherever they ask

    run = bob.python(FIRST_SUBMIT).ended(90)

    assert run.reported("before") == 0
    assert run.reported("result") == 1024
    (during,) = run.reported("during")
    assert during[0] == "cheetah" and during[1] == "RUNNING" and during[2] in ("g1", "g2")
    assert run.reported("after") == 0


def test_a_script_in_a_pipe_returns_while_its_daemon_lives(make_user):
    alice = make_user()
    script = alice.folder / "first_submit.py"
    script.write_text("import pounce\nprint(pounce.Client().submit(pow, 2, 10).result())\n")
    script.chmod(0o644)

    output = alice.run("timeout", "20", "sh", "-c", f"python {script} | cat")

    assert "1024" in output
    endpoint = alice.endpoint()
    assert alice.run("ps", "-o", "comm=", "-p", str(endpoint["pid"])).strip() == "pounced"


def test_a_task_finishes_and_its_result_arrives_although_pounced_is_killed(make_user):
    alice = make_user(idle_release_s=3)
    run = alice.python(LONG_TASK.format(seconds=6))
    run.reported("running")
    first = alice.endpoint()

    alice.run("kill", "-9", str(first["pid"]))

    assert isinstance(run.ended().reported("result"), int)
    second = alice.endpoint()
    assert second["pid"] != first["pid"] and second["instance"] == first["instance"]
    wait_until(lambda: not alice.jobs(first["instance"]), 40, "the adopted lease is given back")


def test_a_lease_is_adopted_or_ended_although_the_journal_is_deleted_too(make_user):
    alice = make_user(idle_release_s=3)
    run = alice.python(LONG_TASK.format(seconds=8))
    run.reported("running")
    first = alice.endpoint()
    (job,) = [job for job in alice.jobs(first["instance"]) if job["state"] == "RUNNING"]

    alice.run("sh", "-c", f"kill -9 {first['pid']}; rm -f ~/.local/state/pounce/*/{first['instance']}/journal*")

    assert isinstance(run.ended().reported("result"), int)
    alice.endpoint()
    gone = lambda: job["id"] not in [j["id"] for j in alice.jobs(first["instance"])]
    wait_until(gone, 60, "the forgotten lease is given back")


def test_two_daemons_of_one_user_never_touch_each_others_leases(make_user):
    here, there = make_user(idle_release_s=60), make_user(idle_release_s=60)
    runs = [who.python(LONG_TASK.format(seconds=25)) for who in (here, there)]
    for run in runs:
        run.reported("running")
    instances = [who.endpoint()["instance"] for who in (here, there)]
    assert instances[0] != instances[1]

    # Three reconciliations of each: a reconciliation is what a new daemon does first.
    for _ in range(3):
        for who in (here, there):
            who.run("kill", "-9", str(who.endpoint()["pid"]))
            wait_until(lambda who=who: who.endpoint()["pid"], 20, "a new daemon")

    for run in runs:
        assert isinstance(run.ended().reported("result"), int)


def test_pounced_ends_itself_when_nothing_needs_it(make_user):
    alice = make_user(idle_release_s=1, daemon_idle_exit_s=2)
    alice.python("import pounce\nwith pounce.Client() as client: report(result=client.submit(pow, 2, 3).result())").ended()
    pid = wait_until(lambda: alice.run("pgrep", "-u", "alice", "-f", "pounced serve", check=False).split(), 5, "a daemon")

    ended = lambda: not set(pid) & {str(p) for p in alice.node.pids()}
    wait_until(ended, 60, "the daemon ends when idle")


def test_a_killed_kernel_costs_the_gpu_no_more_than_the_orphan_grace(make_user):
    alice = make_user(orphan_grace_s=4, heartbeat_ms=1000, idle_release_s=60)
    run = alice.python(LONG_TASK.format(seconds=300))
    run.reported("running")
    instance = alice.endpoint()["instance"]

    alice.run("kill", "-9", str(run.reported("kernel")))

    wait_until(lambda: not alice.jobs(instance), 30, "the orphaned task is cancelled and its job gone")


def test_a_worker_whose_daemon_and_client_are_dead_ends_its_job(make_user):
    alice = make_user(watchdog_idle_s=6, heartbeat_ms=1000, idle_release_s=300)
    run = alice.python("""
        import pounce
        client = pounce.Client()
        client.submit(pow, 2, 3).result()
        report(idle=True, kernel=os.getpid())
        time.sleep(300)
    """)
    run.reported("idle")
    endpoint = alice.endpoint()

    alice.run("kill", "-9", str(endpoint["pid"]), str(run.reported("kernel")))

    wait_until(lambda: not alice.jobs(endpoint["instance"]), 40, "the watchdog ends the job")
