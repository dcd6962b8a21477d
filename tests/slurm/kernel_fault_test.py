"""The user's side stops or is cut off: a suspended kernel, a login node without its link, a suspended pounced."""

from __future__ import annotations

import subprocess

from cluster_parts import stopped, unplugged
from faults import AGAIN, HeldTask, assert_told, measured
from login_node import wait_until


def test_a_suspended_kernel_gets_its_result_when_it_wakes_in_time(make_user):
    alice = make_user(orphan_grace_s=120, heartbeat_ms=1000)
    task = HeldTask(alice)
    kernel = task.run.reported("kernel")
    assert tcp_connections(alice, kernel) == 1

    with stopped(kernel):
        wait_until(lambda: tcp_connections(alice, kernel) == 0, 60, "the worker gives the connection up: heartbeats, 10 s")
        task.let_go()

    assert task.result() == 1024


def tcp_connections(who, pid: int) -> int:
    words = ["nsenter", f"--net=/run/netns/{who.node.name}", "ss", "-tnpH", "state", "established"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.count(f"pid={pid},")


def test_a_kernel_suspended_for_longer_than_the_grace_is_told_that_its_lease_is_gone(make_user):
    alice = make_user(orphan_grace_s=4, heartbeat_ms=1000)
    task = HeldTask(alice, after=AGAIN)
    instance = alice.endpoint()["instance"]

    with stopped(task.run.reported("kernel")):
        wait_until(lambda: not alice.jobs(instance), 60, "the lease is given back")

    assert_told(task.error(), "LeaseEnded", "session was not heard")
    assert task.run.reported("again") == 32


def test_a_suspended_pounced_gives_nothing_back(make_user):
    grace_s = 10  # longer than a process of a busy machine waits for its turn
    alice = make_user(orphan_grace_s=grace_s, heartbeat_ms=1000)
    task = HeldTask(alice, after=AGAIN)
    job, endpoint = task.job()["id"], alice.endpoint()
    twice_the_grace = task.beats() + 2 * grace_s

    with stopped(endpoint["pid"]):
        wait_until(lambda: task.beats() >= twice_the_grace, 60, "the task runs on and is heard without pounced")
    assert [row["id"] for row in alice.jobs(endpoint["instance"])] == [job]
    task.let_go()

    assert task.result() == 1024 and task.run.reported("again") == 32


def test_a_login_node_whose_link_was_out_gets_its_result(make_user):
    task = HeldTask(make_user(), after=AGAIN)

    with unplugged(task.who.node.link):
        measured("login node's link down until told unreachable", task.told("unreachable", 30))
        task.let_go()

    assert task.result() == 1024 and task.run.reported("again") == 32
