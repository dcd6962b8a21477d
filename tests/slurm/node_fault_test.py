"""A worker's node that is cut off, or loses its slurmd: the user is told, a result that can come does, and the future ends."""

from __future__ import annotations

import os
import re
import time

import pytest
from cluster_parts import cluster_folder, daemon_pid, node_link, unplugged
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


UNTIL_A_FILE = """
import os, pounce, sys, time
with pounce.Client(here=True) as client:
    while not os.path.exists(sys.argv[1]):
        client.submit(pow, 2, 10).result(60)
        print(os.environ["SLURMD_NODENAME"], flush=True)
        time.sleep(0.1)
"""


def test_workers_in_an_sbatch_job_go_on_when_it_loses_its_other_node_under_no_kill(alice, admin):
    (program := alice.folder / "until.py").write_text(UNTIL_A_FILE)
    (output := alice.folder / "output").touch()
    output.chmod(0o666)
    stop = alice.folder / "stop"
    calls = lambda: re.findall(r"^g\d$", output.read_text(), re.M)  # on which node each was
    job = alice.run("sbatch", "--parsable", "-N2", "--no-kill", "--cpus-per-task=1", "--time=5", f"--output={output}",
                    f"--wrap=exec python -u {program} {stop}").strip()
    wait_until(calls, 60, "calls run in the job")
    node = calls()[0]
    nodes = lambda: admin("squeue", "--noheader", f"--jobs={job}", "--format=%N")
    (other,) = set(admin("scontrol", "show", "hostnames", nodes()).split()) - {node}

    admin("scontrol", "update", f"nodename={other}", "state=down", "reason=test")
    wait_until(lambda: nodes() == node, 60, "Slurm has taken the node from the job")
    before = len(calls())
    wait_until(lambda: len(calls()) > before + 5, 60, "calls go on")
    stop.touch()

    state = lambda: admin("squeue", "--noheader", "--states=all", f"--jobs={job}", "--format=%T")
    assert wait_until(lambda: (said := state()) not in ("RUNNING", "COMPLETING") and said, 60, "the job has ended") == "COMPLETED"
    wait_until(lambda: "down" not in admin("sinfo", "--noheader", f"--nodes={other}", "--format=%T"), 60, "its slurmd has told that it is there")


@pytest.fixture
def node_whose_prolog_fails(quiet_cluster, admin):
    """The site's prolog fails on the node that is the first to run it, and only there; returns which that was, once a job came."""
    folder = cluster_folder(quiet_cluster)
    conf, prolog, chosen = folder / "etc" / "slurm.conf", folder / "etc" / "prolog", folder / "state" / "prolog-fails-on"
    before = conf.read_text()
    prolog.write_text(f'#!/bin/sh\n[ -e {chosen} ] || echo "$SLURMD_NODENAME" >{chosen}\n[ "$(cat {chosen})" != "$SLURMD_NODENAME" ]\n')
    prolog.chmod(0o755)
    conf.write_text(f"{before}\nProlog={prolog}\n")
    admin("scontrol", "reconfigure")
    yield lambda: chosen.read_text().strip()
    conf.write_text(before)
    admin("scontrol", "reconfigure")
    if chosen.exists():
        if "drain" in admin("sinfo", "--noheader", f"--nodes={chosen.read_text().strip()}", "--format=%T"):  # else there is nothing to resume
            admin("scontrol", "update", f"nodename={chosen.read_text().strip()}", "state=resume")
        chosen.unlink()


def test_a_call_whose_job_fails_in_the_sites_prolog_is_told_so_and_runs_on_another_node(alice, node_whose_prolog_fails):
    run = alice.python("""
        import pounce
        with pounce.Client() as client:
            start = time.time()
            future = client.submit(os.getpid)
            future.result(100)
            report(seconds=time.time() - start, node=[lease.node for lease in client.leases()])
    """).ended(120)

    failed = node_whose_prolog_fails()
    assert f"could not be started on {failed}, and Slurm cancelled it: a prolog failed there" in run.output
    assert "by somebody" not in run.output
    assert run.reported("node") != [failed], "Slurm drains a node whose prolog fails, before pounce asks again"
    measured("a call until its result, with a prolog that failed at its first job", run.reported("seconds"))
