"""What a notebook's variables are when the cluster takes their worker away."""

from __future__ import annotations

import os

import pytest
from detached_test import NOWHERE, apart  # noqa: F401  a login node whose disk no other node sees
from long_run import only_in_long_runs
from notebooks import Executed, printed, written
from state_cells import CELLS

LINE = "%%pounce --gpu 1\n"
SETTLE = """
import contextlib, io, time
def settled(cell):
    "Waits until the work of this cell is on the disk."
    while True:
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            get_ipython().run_line_magic("pounce", "parked")
        if f"after cell {cell}," in shown.getvalue():
            return
        time.sleep(0.1)
"""


# This notebook's leases; the queue has those of all others of the user too.
UNTIL_ENDED = "import time\nfrom pounce.cell import explanation\nwhile explanation._leases(): time.sleep(0.2)"


def own(cell) -> str:
    """What a cell printed, without pounce's own lines."""
    return "".join(line for line in printed(cell).splitlines(True) if "pounce: " not in line)


def undisturbed(alice) -> Executed:
    return Executed(alice, written(alice, "import pounce", *(LINE + cell for cell in CELLS), "%pounce release"), seconds=400)


def shown_by(executed: Executed) -> list[str]:
    return [own(cell) for cell in executed.cells()[1:-1]]


@pytest.mark.timeout(600)  # a job for each cell, beside five other scenarios
def test_a_worker_that_goes_after_every_cell_changes_nothing(make_user):
    alice = make_user()
    at_rest = undisturbed(alice)
    cells = [part for cell in CELLS for part in (LINE + cell, "%pounce release")]

    ran = Executed(alice, written(alice, "import pounce", *cells), seconds=400).cells()[1::2]

    assert [own(cell) for cell in ran] == shown_by(at_rest)
    assert any("restored " in printed(cell) for cell in ran)


@only_in_long_runs("three minutes; test_a_worker_that_goes_after_every_cell_changes_nothing has as many leases")
def test_a_worker_that_is_killed_after_every_cell_costs_nothing_that_was_saved(make_user):
    alice = make_user(crash_limit=100)
    at_rest = undisturbed(alice)
    kill = LINE + "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
    cells = [part for number, cell in enumerate(CELLS) for part in (LINE + cell, f"settled({3 + 3 * number})", kill)]
    fails = tuple(range(4, 2 + len(cells), 3))

    ran = Executed(alice, written(alice, "import pounce", SETTLE, *cells, "%pounce release", fails=fails), seconds=400).cells()[2:-1:3]

    assert [own(cell) for cell in ran] == shown_by(at_rest)


def test_the_variables_follow_from_line_to_line_and_each_gpu_goes_back(make_user):
    alice = make_user()
    ran = Executed(alice, written(
        alice, "import pounce", "%%pounce --gpu 1\nimport os\nkept = [os.environ.get('SLURM_JOB_ID', '')]\nlen(kept)",
        "%%pounce --gpu 2\nimport torch\nkept.append(2)\nprint(kept[1:], len(kept))", "[lease.state for lease in pounce.Client().leases()]",
        "%%pounce --gpu 1\nprint(len(kept))", "%pounce status")).cells()

    assert own(ran[2]) == "[2] 2\n" and "restored kept" in printed(ran[2])
    assert own(ran[4]) == "2\n" and "restored" not in printed(ran[4])  # two GPUs offer one
    assert "worker with 2 GPU" in printed(ran[5])


def test_a_walltime_that_ends_between_cells_costs_nothing(make_user):
    alice = make_user(idle_release_s=600)
    ran = Executed(alice, written(
        alice, "import pounce", SETTLE, "%%pounce --gpu 1 --time 1min\nkept = [1]", "settled(3)",
        UNTIL_ENDED,
        "%%pounce --gpu 1 --time 1min\nkept.append(2)\nprint(kept)", "%pounce release"), seconds=240).cells()

    assert own(ran[5]) == "[1, 2]\n" and "restored kept" in printed(ran[5])


@only_in_long_runs("a minute and a half; the test of a walltime with a shared folder, and tests/python/state_transfer_test.py")
def test_a_walltime_costs_nothing_either_where_notebook_and_worker_share_no_folder(apart):  # noqa: F811
    alice = apart()
    line = "%%pounce --cpus 1 --time 1min\n"
    unasked = "from pounce.cell import state_transfer\nstate_relay._FIRST_S = 3600"  # what is saved comes when the worker goes, or not at all
    own_folders = {name: str(alice.folder / name.lower()) for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR")}

    ran = Executed(alice, written(
        alice, "import pounce", unasked, line + "import os\nkept = [1]\nlarge = os.urandom(10_000_000)",
        UNTIL_ENDED,
        line + "kept.append(2)\nprint(kept, len(large))", "%pounce release"), seconds=240, **NOWHERE, **own_folders).cells()

    assert "does not see" in printed(ran[2])
    assert own(ran[4]).endswith("[1, 2] 10000000\n") and "restored kept, large" in printed(ran[4])


def test_a_loop_moves_between_two_steps_when_somebody_waits_for_what_it_holds(make_user):
    alice = make_user(yield_after_s=600, idle_release_s=600, warm_poll_s=1, step_min_run_s=1, step_yield_after_s=1)
    bob = make_user("bob", node=alice.node)
    job = bob.run("sbatch", "--parsable", "--begin=now+12", "--nodelist=g2", "--mem=80G", "--output=/dev/null", "--wrap", "sleep 1").strip()
    line = "%%pounce --cpus 1 --mem 100GB --not-nodes g1\n"  # most of what g2 has: no other test needs it
    loop = line + ("import os, pounce, time\ndone, workers = [], set()\nfor step in pounce.steps(range(80)):\n    done.append(step)\n    workers.add(os.getpid())\n"
                   "    time.sleep(0.5)\nprint(done == list(range(80)), len(workers))")

    ran = Executed(alice, written(alice, "import pounce", loop, "%pounce release"), seconds=240).cells()

    assert own(ran[1]) == "True 2\n"
    assert "of 80 steps, since somebody waits for what its worker holds" in printed(ran[1]) and "restored done" in printed(ran[1])
    assert not bob.run("squeue", "--noheader", "--me", f"--jobs={job}", check=False)


LONG_LOOP = """%%pounce --gpu 1 --time 1min
import os, pounce, subprocess, time
done, asked, ended = [], {{}}, {{}}
def submitted():
    words = ["squeue", "--noheader", "--jobs", os.environ["SLURM_JOB_ID"], "--format=%V"]
    return time.mktime(time.strptime(subprocess.check_output(words, text=True).strip(), "%Y-%m-%dT%H:%M:%S"))
for step in pounce.steps(range({steps})):
    if os.getpid() not in asked:
        asked[os.getpid()] = submitted()
    time.sleep(1)
    done.append(step)
    ended[os.getpid()] = time.time()
print(done == list(range({steps})), len(asked) > {times}, all(next < last for next, last in zip(list(asked.values())[1:], ended.values())))
"""


def test_a_loop_goes_on_behind_the_end_of_its_workers_time_on_one_that_was_requested_before(make_user):
    times = 5 if os.environ.get("POUNCE_LONG_RUN") else 1
    alice = make_user()
    loop = LONG_LOOP.format(steps=40 + 30 * times, times=times)

    ran = Executed(alice, written(alice, "import pounce", loop, "%pounce release"), seconds=120 + 80 * times).cells()

    assert own(ran[1]) == "True True True\n" and printed(ran[1]).count("since the time of its worker ends") >= times
