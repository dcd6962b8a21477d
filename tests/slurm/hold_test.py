"""%pounce hold on the real cluster: a GPU that stays while it is idle, until it is given back or its time is over."""

from __future__ import annotations

import json
import re

from login_node import GPU_IN_SQUEUE, User, wait_until
from long_run import only_in_long_runs
from notebooks import Executed, printed, shown, written

IDLE_S = 3


def comment(alice: User, job: str) -> str:
    """Which the accounting has of it, some seconds after its end."""
    ask = lambda: alice.run("sacct", "-n", "-X", "-P", "-j", job, "-o", "comment").strip()
    return wait_until(lambda: (said := ask()).startswith("pounce:") and said, 60, "the accounting has its comment")


def test_a_held_gpu_stays_when_idle_and_goes_with_release(make_user):
    alice = make_user(idle_release_s=IDLE_S)
    flag = alice.folder / "flag"
    notebook = Executed(alice, written(
        alice, "import pounce", "%pounce hold --gpu 1 --time 10min", "import socket\nkept = socket.gethostname()\nkept",
        "%%pounce --on other --cpus 1\nprint('at work')",
        f"%%pounce --local\nimport os, time\nwhile not os.path.exists({str(flag)!r}): time.sleep(0.05)", "kept", "%pounce release",
        "'kept' in globals()"))
    instance = alice.endpoint()["instance"]
    wait_until(lambda: "at work" in notebook.run.output and len(alice.jobs(instance)) == 2, 120, "both workers are there")

    (left,) = wait_until(lambda: len(jobs := alice.jobs(instance)) == 1 and jobs, 60, "the other one was given back")
    gres = alice.run("squeue", "--noheader", "--jobs", left["id"], "--format=%b").strip()
    flag.touch()

    cells = notebook.cells()
    assert (left["state"], gres) == ("RUNNING", f"{GPU_IN_SQUEUE}:1")
    assert "this notebook holds g" in printed(cells[1])
    assert shown(cells[5], "text/plain") == shown(cells[2], "text/plain") and shown(cells[7], "text/plain") == ["False"]
    assert "held for" in printed(cells[6])
    wait_until(lambda: not alice.jobs(instance), 60, "it was given back")
    ended = lambda: [one for one in json.loads(alice.run("pouncectl", "status", "--json"))["ended"] if str(one["job"]) == left["id"]]
    (used,) = wait_until(ended, 30, "pounced lists what has ended")
    assert used["idle_ms"] > used["busy_ms"]  # the time of a hold in which nothing runs
    assert re.search(r"^pounce:1:\S+ held busy=\d+s idle=\d+s$", comment(alice, left["id"]))


@only_in_long_runs("a minute; tests/python/cell_hold_test.py has a hold that ends")
def test_when_its_time_is_over_the_next_cell_says_so_and_does_not_run(make_user):
    alice = make_user()
    flag = alice.folder / "flag"
    notebook = Executed(alice, written(
        alice, "import pounce", "%pounce hold --gpu 1 --time 1min", "kept = 1\nprint('at work')",
        f"%%pounce --local\nimport os, time\nwhile not os.path.exists({str(flag)!r}): time.sleep(0.05)", "kept = 2", "'kept' in globals()",
        fails=(4,)))
    instance = alice.endpoint()["instance"]
    wait_until(lambda: "at work" in notebook.run.output, 120, "a cell has run")
    (job,) = alice.jobs(instance)

    wait_until(lambda: not alice.jobs(instance), 180, "its time is over")
    flag.touch()

    cells = notebook.cells()
    (error,) = [output for output in cells[4].outputs if output.output_type == "error"]
    assert " held" in comment(alice, job["id"])
    assert error.ename == "WalltimeReached" and "time limit" in error.evalue and "has not run" in error.evalue
    assert shown(cells[5], "text/plain") == ["False"]
