"""%%pounce on the real cluster: notebooks executed by nbclient as alice, and read as she would read them."""

from __future__ import annotations

import re

from login_node import ROOT, wait_until
from notebooks import Executed, printed, shown, written


def test_the_example_trains_on_a_gpu_of_the_cluster_and_gives_it_back(make_user):
    alice = make_user(idle_release_s=60)

    cells = Executed(alice, ROOT / "examples" / "05_the_cell" / "the_cell.ipynb").cells()

    assert "in another process: True" in printed(cells[1]) and shown(cells[1], "text/plain")[-1] == "3.0"
    assert shown(cells[2], "image/png") and shown(cells[5], "text/plain") == ["True"]
    wait_until(lambda: not alice.jobs(alice.endpoint()["instance"]), 60, "the lease is given back")


# A cell of the notebook that waits until the worker has saved the one before: one that follows at once may begin first.
SAVED = """import glob, os, time
(state,) = get_ipython().magics_manager.registry["PounceMagics"].remote.workers.states.values()
while not glob.glob(os.path.join(state.folder, "manifest*")): time.sleep(0.05)"""


def test_a_cell_whose_job_is_cancelled_says_so_and_the_next_has_what_was_before_it(make_user):
    alice = make_user()
    notebook = Executed(alice, written(
        alice, "import pounce", "%%pounce --gpu 1\nkept = 1", SAVED,
        "%%pounce --gpu 1\nimport time\nprint('at work', flush=True)\ntime.sleep(600)",
        "%%pounce --gpu 1\nkept", "%pounce release", fails=(3,)))
    wait_until(lambda: "\nat work" in notebook.run.output, 120, "the cell runs")

    (job,) = alice.jobs(alice.endpoint()["instance"])
    alice.run("scancel", job["id"])

    cells = notebook.cells()
    (error,) = [output for output in cells[3].outputs if output.output_type == "error"]
    assert error.ename == "JobCancelled" and f"Slurm job {job['id']} was cancelled" in error.evalue
    assert "restored kept" in printed(cells[4]) and shown(cells[4], "text/plain")[-1] == "1"


def test_what_a_cell_has_made_when_its_leases_time_ends_is_there_on_the_next_worker(make_user):
    alice = make_user()
    notebook = Executed(alice, written(
        alice, "import pounce", "%%pounce --gpu 1 --time 1min\nimport time\nmade = 0\nwhile True:\n    made += 1; time.sleep(0.1)",
        "%%pounce --gpu 1 --time 1min\nmade > 10", fails=(1,)))

    cells = notebook.cells()

    (error,) = [output for output in cells[1].outputs if output.output_type == "error"]
    assert error.ename == "WalltimeReached" and "was stopped so that what it has made is saved" in error.evalue
    assert shown(cells[2], "text/plain")[-1] == "True" and "restored" in printed(cells[2])


def test_a_cell_that_is_cut_off_at_the_end_of_its_leases_time_is_warned_and_its_output_kept(make_user):
    alice = make_user()
    notebook = Executed(alice, written(
        alice, "import pounce",
        "%%pounce --gpu 1 --time 1min --at-limit kill\nimport time\nprint('at work', flush=True)\ntime.sleep(600)", fails=(1,)))

    wait_until(lambda: "save what you need" in notebook.run.output, 60, "the user is warned while the cell runs")
    assert alice.jobs(alice.endpoint()["instance"])[0]["state"] == "RUNNING"

    cell = notebook.cells()[1]
    (error,) = [output for output in cell.outputs if output.output_type == "error"]
    assert error.ename == "WalltimeReached"
    assert "reached its time limit" in error.evalue and "a class with more time" in error.evalue
    warning = shown(cell, "text/plain")[-1]
    assert "at work" in printed(cell) and re.match(r"pounce: g[12], GPU \d is yours for \d+ s more, until ", warning)
    assert "magic.py" not in "".join(error.traceback)  # it is nobody's line that failed


def test_the_tab_key_knows_the_classes_that_are_open_to_the_person(make_user):
    assert "cheetah" in make_user().endpoint()["classes"]


def test_a_try_is_a_short_job_without_a_gpu(make_user):
    alice = make_user()
    flag = alice.folder / "flag"
    notebook = Executed(alice, written(
        alice, "import pounce", f"%%pounce --gpu 1 --try\nimport os, time\nwhile not os.path.exists({str(flag)!r}): time.sleep(0.05)\n6 * 7",
        "%pounce release"))

    job = wait_until(lambda: notebook.run.output and alice.jobs(alice.endpoint()["instance"]), 120, "there is a job")[0]
    gres = alice.run("squeue", "--noheader", "--jobs", job["id"], "--format=%b").strip()
    flag.touch()

    assert (job["name"], gres) == ("pounce-cheetah", "N/A")
    assert shown(notebook.cells()[1], "text/plain")[-1] == "42"
