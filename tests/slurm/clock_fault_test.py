"""The clocks of kernel and pounced are set an hour back, then an hour forward, while a task runs."""

from __future__ import annotations

import time

from cluster_parts import clock_library, set_clock
from faults import AGAIN, HeldTask
from login_node import wait_until


def test_a_clock_set_by_an_hour_changes_nothing(make_user):
    alice = make_user(idle_release_s=2)
    clock = alice.folder / "clock"
    set_clock(clock, 0)
    moved = {"LD_PRELOAD": str(clock_library(alice.folder)), "MOVED_CLOCK": str(clock)}
    daemon = alice.start(["pounced", "serve"], **moved)
    wait_until(lambda: "serves instance" in daemon.output or daemon.process.poll() is not None, 60, "pounced serves")
    assert daemon.process.poll() is None, (daemon.process.poll(), daemon.output)

    for hours in (-1, 1):
        task = HeldTask(alice, after=AGAIN + "\n    report(at=time.time())", **moved)
        set_clock(clock, hours * 3600)
        task.let_go()
        assert task.result() == 1024 and task.run.reported("again") == 32
        assert abs(task.run.reported("at") - time.time() - hours * 3600) < 600, "the clock was set"
    wait_until(lambda: not alice.jobs(alice.endpoint()["instance"]), 60, "the leases are given back")
