"""A worker's node that is cut off, or loses its slurmd: the user is told, a result that can come does, and the future ends."""

from __future__ import annotations

import os
import time

import pytest
from cluster_parts import daemon_pid, node_link, unplugged
from faults import HeldTask, assert_told, measured
from login_node import wait_until

pytestmark = pytest.mark.xdist_group("nodes")  # one spare cluster for all of them


@pytest.fixture
def alice(quiet_cluster, login_node, make_user):
    return make_user(node=login_node(quiet_cluster))


def test_a_result_comes_although_the_nodes_link_was_down(alice, quiet_cluster):
    task = HeldTask(alice)

    with unplugged(node_link(quiet_cluster, task.node())):
        measured("link down until told unreachable", task.told("unreachable", 30))
        task.let_go()
    back = time.monotonic()

    assert task.result() == 1024
    measured("link back until the result", time.monotonic() - back)
    assert "can be reached again" in task.run.output


def test_a_node_that_stays_away_ends_the_future_when_slurm_says_so(alice, quiet_cluster):
    task = HeldTask(alice)
    node = task.node()

    with unplugged(node_link(quiet_cluster, node)):
        start = time.time()
        task.told("unreachable", 30)
        error = task.error(180)

    assert_told(error, error["type"])
    assert error["type"] in ("NodeFailed", "LostError"), error
    measured(f"link down until {error['type']}: {error['text']}", task.run.reported("told_at") - start)
    os.kill(daemon_pid(quiet_cluster, f"slurmd-{node}"), 9)  # a new one tells slurmctld that the node is back


def test_a_task_goes_on_while_its_nodes_slurmd_is_dead(alice, quiet_cluster):
    task = HeldTask(alice)
    node = task.node()

    os.kill(daemon_pid(quiet_cluster, f"slurmd-{node}"), 9)
    task.let_go()

    assert task.result() == 1024


def test_a_node_that_goes_in_the_middle_of_2000_tasks_costs_none_that_may_run_again(alice, admin):
    run = alice.python("""
        import pounce
        def number(n):
            time.sleep(0.01)
            return n
        with pounce.Client(workers="2:2", cpus=20, class_="cheetah", time="10min") as client:
            futures = [client.submit(number, n, retries=3) for n in range(2000)]
            while len(client.leases()) < 2 or not all(lease.node for lease in client.leases()) or sum(map(pounce.Future.done, futures)) < 300:
                time.sleep(0.05)
            report(nodes=sorted({lease.node for lease in client.leases()}))
            report(whole=client.gather(futures) == list(range(2000)))
    """)
    first, *others = run.reported("nodes", 120)
    assert others, "20 CPUs are more than half of a node"

    admin("scontrol", "update", f"nodename={others[0]}", "state=down", "reason=test")
    assert run.reported("whole", 120) is True
    run.ended()
    is_back = lambda: "down" not in admin("sinfo", "--noheader", f"--nodes={others[0]}", "--format=%T")
    wait_until(is_back, 60, "its slurmd has told that it is there (ReturnToService)")
