"""A worker's node that is cut off, or loses its slurmd: the user is told, a result that can come does, and the future ends."""

from __future__ import annotations

import os
import time

import pytest
from cluster_parts import daemon_pid, node_link, unplugged
from faults import HeldTask, assert_told, measured

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
