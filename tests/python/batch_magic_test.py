"""%pounce batch through a real kernel: a cell and a function of it as jobs of fake_slurm.py, whose results another kernel finds."""

from __future__ import annotations

import os
import re
import time

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")

import fake_slurm
from conftest import made_home
from kernel import SECONDS, Notebook

FIRST = "import os, pounce; scale = 3\ndef scaled(n): return scale * n"


@pytest.fixture(scope="module")
def home_with_slurm():
    with made_home(idle_release_s=600) as home, fake_slurm.fake_slurm(home.folder / "slurm") as programs:
        home.environment["PATH"] = f"{programs}{os.pathsep}{home.environment['PATH']}"
        yield home


@pytest.fixture(scope="module")
def notebook(home_with_slurm):
    notebook = Notebook(home_with_slurm)
    assert not notebook.run(FIRST).of("error")
    yield notebook
    notebook.run("%pounce release")
    notebook.close()


def number_of(shown) -> int:
    (cell,) = shown.of("execute_input")
    return cell["execution_count"]


def script_of(shown) -> str:
    written = re.search(r"^written: (.*)$", shown.stdout, re.M)
    assert written, shown.stream("stderr")
    with open(written[1]) as file:
        return file.read()


def refusal(shown) -> str:
    assert "written:" not in shown.stdout
    return shown.stream("stderr")


# ---- a cell ----


def test_a_cell_runs_with_what_it_reads_and_another_kernel_has_its_result(notebook):
    notebook.run("lr = 1")
    cell = notebook.run("total = scaled(4) + lr\nprint('total is', total)")

    submitted = notebook.run(f"%pounce batch --cell {number_of(cell)} --out total -p lr=5 --name of-a-cell --submit")
    followed = notebook.run("%pounce batch --follow of-a-cell")
    other = Notebook(notebook.home)
    found = other.run("import pounce\n%pounce batch --result of-a-cell")
    other.close()

    assert "submitted: job" in submitted.stdout
    assert "total is 17" in followed.stdout
    assert found.value == "{'total': 17}"


@pytest.mark.parametrize("number, words", [("0", "number of a cell"), ("10000", "no cell 10000 in this kernel. Name one that has run: 1 to ")])
def test_a_cell_that_is_not_there_is_refused_with_those_that_are(notebook, number, words):
    assert words in refusal(notebook.run(f"%pounce batch --cell {number}"))


def test_the_line_s_own_cell_is_none_that_has_run(notebook):
    own = number_of(notebook.run("1")) + 1
    assert f"no cell {own} in this kernel. Name one that has run: 1 to {own - 1}." in refusal(notebook.run(f"%pounce batch --cell {own}"))


# ---- what is on a worker ----


def test_a_variable_that_is_on_the_worker_alone_is_named_with_how_to_have_it(notebook):
    """It was a bare NameError, "the notebook has no variable"."""
    notebook.run("%%pounce --cpus 1\naway, far = 2, 3")
    cell = notebook.run("away + far")

    refused = refusal(notebook.run(f"%pounce batch --cell {number_of(cell)}"))
    notebook.run("%pounce pull away,far")
    written = notebook.run(f"%pounce batch --cell {number_of(cell)}")

    assert "away, far are on the worker: %pounce pull away,far first" in refused
    assert "#SBATCH --job-name=cell-" in script_of(written)


def test_a_parameter_takes_the_place_of_a_variable_on_the_worker(notebook):
    notebook.run("%%pounce --cpus 1\nrate = 2")
    cell = notebook.run("rate")

    assert "job-name" in script_of(notebook.run(f"%pounce batch --cell {number_of(cell)} -p rate=3"))


def test_a_value_that_the_worker_has_changed_since_is_not_sent_in_its_older_state(notebook):
    notebook.run("steps = 1")
    notebook.run("%%pounce --cpus 1\nsteps = steps + 1")
    cell = notebook.run("steps")

    assert "steps is on the worker: %pounce pull steps first" in refusal(notebook.run(f"%pounce batch --cell {number_of(cell)}"))


def test_a_function_that_is_on_the_worker_or_reads_what_is_there_is_refused_until_it_is_pulled(notebook):
    """It was "there is no function in this notebook. Run the cell that defines it.", which had run."""
    notebook.run("%%pounce --cpus 1\nweight = 5\ndef there(): return 2 * weight")
    notebook.run("def here(): return there()")

    reads_it = refusal(notebook.run("%pounce batch --function here"))
    itself = refusal(notebook.run("%pounce batch --function there"))
    notebook.run("%pounce pull there")
    its_own = refusal(notebook.run("%pounce batch --function here"))
    notebook.run("%pounce pull weight")
    notebook.run("%pounce batch --function here --submit")

    assert "there is on the worker: %pounce pull there first" in reads_it
    assert "there is on the worker: %pounce pull there first" in itself
    assert "weight is on the worker: %pounce pull weight first" in its_own
    assert notebook.run("%pounce batch --result here").value == "10"


def test_while_a_worker_is_held_a_cell_and_a_function_have_its_resources(notebook):
    notebook.run("%pounce release")
    notebook.run("%pounce hold --cpus 1 --mem 1GB --time 30min")
    cell = notebook.run("held = scaled(2)\nheld")

    as_held = script_of(notebook.run(f"%pounce batch --cell {number_of(cell)}"))
    function = script_of(notebook.run("%pounce batch --function scaled -p n=2"))
    own = script_of(notebook.run(f"%pounce batch --cell {number_of(cell)} --cpus 2"))
    notebook.run("%pounce release")

    assert cell.value == "6"
    for script in (as_held, function):
        assert "#SBATCH --cpus-per-task=1\n#SBATCH --mem=1024M\n#SBATCH --time=30\n" in script
    assert "#SBATCH --cpus-per-task=2\n" in own and "--mem" not in own


# ---- a run that is there ----


def test_a_run_is_listed_cancelled_and_resumed_from_its_checkpoint(notebook):
    gate = notebook.home.folder / "gate"
    notebook.run(f"""def waits():
        import os, pounce, time
        before = pounce.restored('nothing')
        pounce.checkpoint('saved')
        print(before, flush=True)
        while not os.path.exists({str(gate)!r}): time.sleep(0.02)
        return before""")
    log = notebook.home.folder / "pounce-batch" / "waits" / "job.log"

    notebook.run("%pounce batch --function waits --submit")
    deadline = time.monotonic() + SECONDS
    while not (log.exists() and "nothing" in log.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    listed = notebook.run("%pounce batch")
    cancelled = notebook.run("%pounce batch --cancel waits")
    gate.touch()
    resumed = notebook.run("%pounce batch --resume waits")

    assert "<pounce.BatchRun waits running, job " in listed.stdout
    assert "<pounce.BatchRun waits ended (CANCELLED), job " in cancelled.value
    assert "submitted: job " in resumed.stdout
    assert notebook.run("%pounce batch --result waits").value == "'saved'"


def test_explain_shows_a_run_s_script_and_the_lines_that_do_the_same_by_hand(notebook):
    script = script_of(notebook.run("%pounce batch --function scaled --name by-hand -p n=2"))
    folder = notebook.home.folder / "pounce-batch" / "by-hand"

    written = notebook.run("%pounce explain by-hand").stdout
    notebook.run("import subprocess; subprocess.run(['sbatch', pounce.batch('by-hand').script], check=True)\npounce.batch('by-hand').result()")
    job = notebook.run("pounce.batch('by-hand').job").value

    head, empty, text = written.partition("\n\n")
    assert head.splitlines() == ["batch run by-hand: not submitted. By hand it is", f"  sbatch {folder}/by-hand.sbatch", "  squeue --me --name=by-hand",
                                 "  scancel --me --name=by-hand", f"{folder}/by-hand.sbatch:"]
    assert text.rstrip() == script.rstrip()
    for name in ("by-hand", job):
        assert f"job {job}. By hand it is\n  sbatch {folder}/by-hand.sbatch\n  squeue --jobs={job}\n  scancel {job}\n" in notebook.run(f"%pounce explain {name}").stdout


def test_explain_names_what_there_is_where_it_does_not_know_the_job(notebook):
    notebook.run("%pounce batch --function scaled --name known -p n=1")
    said = notebook.run("%pounce explain 4711").stream("stderr")
    assert "4711 is no job of this notebook's and no batch run; there is: " in said and "known" in said


@pytest.mark.parametrize("deed", ["--follow", "--result", "--resume", "--cancel"])
def test_a_name_that_there_is_not_is_refused_with_those_that_are(notebook, deed):
    notebook.run("%pounce batch --function scaled --name there-is -p n=1")
    assert "there is no batch run nowhere; there are: " in refusal(notebook.run(f"%pounce batch {deed} nowhere"))
