"""The machine's clock is set while pounced and a client run: both measure time by a clock that nobody sets."""

from __future__ import annotations

import time
from glob import glob
from pathlib import Path

from faults import AGAIN, HeldTask
from login_node import wait_until


def test_a_clock_set_by_an_hour_changes_nothing(person):
    remove_leftovers()
    alice = person(idle_release_s=2)
    clock = alice.folder / "clock"
    clock.write_text("+0\n")
    clock.chmod(0o644)
    (library,) = glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    moved = {"LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1",
             "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    daemon = alice.start(["pounced", "serve"], **moved)
    wait_until(lambda: "serves instance" in daemon.output, 30, f"pounced serves: {daemon.output}")
    # libfaketime does not know the call behind time.sleep.
    wait = "import select; time.sleep = lambda seconds: select.select([], [], [], seconds)"

    for hours in (-1, 1):
        task = HeldTask(alice, before=wait, after=AGAIN + "\n    report(at=time.time())", **moved)
        clock.write_text(f"{hours:+d}h\n")
        task.let_go()
        assert task.result() == 1024 and task.run.reported("again") == 32
        assert abs(task.run.reported("at") - time.time() - hours * 3600) < 600, "the clock was set"
    wait_until(lambda: not alice.jobs(alice.endpoint()["instance"]), 60, "the leases are given back")


def remove_leftovers() -> None:
    """libfaketime names its semaphore by process number; a killed process leaves it taken for the next of that number."""
    for path in Path("/dev/shm").glob("*faketime_*_[0-9]*"):
        if not Path("/proc", path.name.rpartition("_")[2]).exists():
            path.unlink(missing_ok=True)
