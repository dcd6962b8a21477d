"""Batch runs: what is written, and what becomes of it where a job is a process of this machine (fake_slurm.py)."""

from __future__ import annotations

import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import textwrap
import time
from pathlib import Path

import fake_slurm
import pounce
import pytest
from pounce import errors
from pounce._batch import making, notebook, run_folder, variables
from pounce._batch import run as runs
from pounce._batch import slurm as commands
from pounce._batch.job_lines import job_lines, quoted
from pounce._batch.placement import Placement
from pounce._batch.run import BatchRun
from pounce._engine.options import Options
from pounce.cell.batch_line import parse, with_lines


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """A home and a Slurm of the test's own."""
    with fake_slurm.fake_slurm(tmp_path / "slurm") as programs:
        (tmp_path / "home").mkdir()
        (tmp_path / "pounced.json").write_text('{"launcher": "local"}')
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.setenv("POUNCE_CONFIG", str(tmp_path / "pounced.json"))
        monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.chdir(tmp_path)
        yield tmp_path / "slurm"


def until(condition, seconds: float = 60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def function_of(source: str):
    """As of a notebook: it travels by value."""
    space = {"__name__": "__main__"}
    exec(textwrap.dedent(source), space)
    return space["work"]


def run_of(source: str, *args, **asked) -> BatchRun:
    return BatchRun(making.of_function(function_of(source), args, {}, making.Request(**asked)))


def notebook_of(*sources: str) -> dict:
    return {"cells": [notebook.code_cell(source) for source in sources], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def notebook_run(*sources: str, parameters=None, **more) -> BatchRun:
    return BatchRun(making.of_notebook(notebook_of(*sources), "A notebook", "train", parameters or {}, making.Request(), **more))


def output_of(run: BatchRun) -> str:
    cells = json.loads((run.folder / "executed.ipynb").read_text())["cells"]
    return "".join("".join(output.get("text", "")) for cell in cells for output in cell.get("outputs", ()))


# ---- what is written ---------------------------------------------------------------------------------------------------


def test_the_lines_say_what_a_lease_would_ask_for():
    options = Options().changed(gpus="a100:2", cpus=3, memory="8GB", time="90min", workers=2, nice=7, not_nodes="g1",
                                slurm={"constraint": "nvlink", "exclusive": True})
    lines = job_lines(options, Placement("lion", "lion_qos", "bigcats", "ml", "a100"))
    assert [line.removeprefix("#SBATCH ") for line in lines] == [
        "--qos=lion_qos", "--partition=bigcats", "--account=ml", "--nodes=1", "--ntasks=2", "--cpus-per-task=3", "--mem=16384M",
        "--gres=gpu:a100:4", "--time=90", "--exclude=g1", "--nice=7", "--constraint=nvlink", "--exclusive"]


def test_what_was_not_said_is_left_to_slurm():
    assert job_lines(Options(), Placement()) == ["#SBATCH --nodes=1", "#SBATCH --ntasks=1"]


def test_spread_means_nothing_to_a_batch_run_and_is_refused():
    with pytest.raises(errors.BadRequest, match="no lease"):
        job_lines(Options().changed(spread=True), Placement())


def test_words_with_spaces_and_quotes_are_quoted_and_a_line_break_is_refused():
    assert quoted('/home/it\'s "my"\\own') == '"/home/it\'s \\"my\\"\\\\own"'
    with pytest.raises(errors.BadRequest, match="line break"):
        quoted("/home/a\nb")


def test_secrets_are_named_and_not_written_down():
    found = {"CONDA_TOKEN": "hunter2", "OMP_NUM_THREADS": "4", "CONDA_CHANNEL": "https://me:pw@host/", "HOME": "/home/ada"}
    kept, left_out = variables.recorded(found)
    text = variables.as_shell(kept, left_out)
    assert (kept, left_out) == ({"OMP_NUM_THREADS": "4"}, ["CONDA_CHANNEL", "CONDA_TOKEN"])
    assert "hunter2" not in text and "CONDA_TOKEN" in text


def test_variables_survive_the_shell():
    text = variables.as_shell({"PATH": os.environ["PATH"], "OMP_X": "it's \"$HOME\" `x`\nnext"}, [])
    assert subprocess.run(["bash", "-c", text + 'printf %s "$OMP_X"'], capture_output=True, text=True).stdout == "it's \"$HOME\" `x`\nnext"


def test_cells_that_went_to_workers_run_in_the_job():
    cells = ("%%pounce --gpu 1\nx = 1", "import pounce\n%load_ext pounce\n%pounce status\ny = 2", "s = '%d'",
             "%pounce status\ns = '100%pounce'\nif s:\n    %pounce vars",
             "if s:\n    %pounce hold --gpu 1 \\\n        --mem 2GB \\\n        --time 8h\ny = 1 + \\\n    1")
    made = notebook.for_batch(notebook_of(*cells), {})
    assert [notebook.source_of(cell) for _, cell in notebook.code_cells(made)] == [
        "# %%pounce --gpu 1\nx = 1", "import pounce\n# %load_ext pounce\n# %pounce status\ny = 2", "s = '%d'",
        "# %pounce status\ns = '100%pounce'\nif s:\n    pass  # %pounce vars",
        "if s:\n    pass  # %pounce hold --gpu 1 \\\n    # --mem 2GB \\\n    # --time 8h\ny = 1 + \\\n    1"]


def test_a_notebook_has_the_resources_of_its_cells_where_the_line_names_none():
    cells = ("%%pounce --gpu 1 --mem 2GB --time 5min\nx = 1", "%%pounce --cpus 4 --mem 1GB --class lion", "x")
    lines = notebook.worker_lines(notebook_of(*cells))
    assert with_lines(parse(["t.ipynb"]), lines).options == Options().changed(gpus=1, memory="2GB", cpus=4, class_="lion")
    assert with_lines(parse(["t.ipynb", "--cpus", "2"]), lines).options == Options().changed(cpus=2)


def test_parameters_follow_the_cell_of_defaults():
    made = notebook.for_batch(notebook_of("import os", "# parameters\nlr = 1\nname = ''", "lr"), {"lr": 1e-3, "name": "it's"})
    assert notebook.source_of(made["cells"][2]) == "# Parameters of this batch run\nlr = 0.001\nname = \"it's\""


@pytest.mark.parametrize("cells, parameters, words", [
    (("x = 1",), {"lr": 1}, "no cell of parameters"),
    (("# parameters\nlr = 1",), {"rl": 1}, "did you mean lr"),
    (("x = 1", "name = input('who? ')"), {}, r"code cell 2 calls input\(\)"),
    (("if True:\n    %matplotlib inline\n    name = input('who? ')",), {}, r"code cell 1 calls input\(\)"),
    (("x = (7\n    % int(input('who? ')))",), {}, r"code cell 1 calls input\(\)"),
    (("%pounce hold --gpu 1 \\\n    --time 8h\nname = input('who? ')",), {}, r"code cell 1 calls input\(\)"),
    (("import getpass\nkey = getpass.getpass()",), {}, r"calls getpass\(\)"),
])
def test_a_notebook_that_no_batch_job_can_run_is_refused(cells, parameters, words):
    with pytest.raises(errors.BadRequest, match=words):
        notebook.for_batch(notebook_of(*cells), parameters)


@pytest.mark.parametrize("text", ["run.input(3)", "input", "'input()'", "!input()", "def input_of(x): return x"])
def test_what_only_looks_like_a_question_is_none(text):
    notebook.for_batch(notebook_of(text), {})


@pytest.mark.parametrize("content, words", [("no json", "not JSON"), ('{"cells": 1, "nbformat": 4}', "format 4"), (None, "cannot be read")])
def test_what_is_no_notebook_is_refused(tmp_path, content, words):
    path = tmp_path / "x.ipynb"
    if content is not None:
        path.write_text(content)
    with pytest.raises(errors.BadRequest, match=words):
        notebook.read(str(path))


@pytest.mark.parametrize("metadata, language", [
    ({"kernelspec": {"name": "ir", "display_name": "R", "language": "R"}, "language_info": {"name": "R"}}, "R"),
    ({"kernelspec": {"name": "ir", "display_name": "R"}}, "R"),
    ({"kernelspec": {"name": "bash", "language": "bash"}}, "bash"),
    ({"language_info": {"name": "julia"}}, "julia"),
    ({"kernelspec": {"name": "ir", "language": "R"}, "language_info": {"name": "python"}}, "R"),  # its kernel was changed and has not run yet
])
def test_a_notebook_in_another_language_is_refused_with_what_runs_it(tmp_path, metadata, language):
    (tmp_path / "fit.ipynb").write_text(json.dumps({**notebook_of("x <- 1"), "metadata": metadata}))
    with pytest.raises(errors.BadRequest, match=rf"fit\.ipynb is a notebook in {language}, .*jupyter nbconvert --to notebook --execute"):
        notebook.read(str(tmp_path / "fit.ipynb"))


@pytest.mark.parametrize("metadata", [
    {}, {"kernelspec": {"name": "torch", "display_name": "My environment", "language": "python"}}, {"language_info": {"name": "python"}},
    {"kernelspec": {"name": "python3"}}, {"kernelspec": None, "language_info": None},
])
def test_a_notebook_of_any_python_kernel_is_read(tmp_path, metadata):
    (tmp_path / "fit.ipynb").write_text(json.dumps({**notebook_of("x = 1"), "metadata": metadata}))
    assert notebook.read(str(tmp_path / "fit.ipynb"))["cells"]


# ---- the line ----------------------------------------------------------------------------------------------------------


def test_a_line_is_read():
    asked = parse(shlex.split("train.ipynb -p lr=1e-3 -p name=cat -p deep=true --class lion --time 8h --submit --out a,b"))
    assert (asked.notebook, asked.submits, asked.brings) == ("train.ipynb", True, ("a", "b"))
    assert asked.parameters == {"lr": 1e-3, "name": "cat", "deep": True}
    assert asked.options == Options().changed(class_="lion", time="8h")


@pytest.mark.parametrize("words, said", [
    (["a.ipynb", "b.ipynb"], "one of"), (["a.ipynb", "--cell", "2"], "one of"), (["--cell", "x"], "number of a cell"),
    (["-p"], "-p lr=1e-3"), (["a.ipynb", "-p", "lr"], "NAME=VALUE"), (["a.ipynb", "--tiem", "8h"], "did you mean --time"),
    (["a.ipynb", "--time", "x"], "--time takes"), (["--out", "a b-c", "x.ipynb"], "none"),
    (["--resume", "a", "--follow", "b"], "one of"), (["--submit=yes"], "takes no value")])
def test_a_wrong_line_is_refused_with_what_is_right(words, said):
    with pytest.raises(errors.BadRequest, match=said):
        parse(words)


def test_a_notebook_that_holds_its_worker_has_the_hold_s_resources_and_time():
    """It was exported without a GPU."""
    source = notebook_of("import pounce\n%pounce hold --gpu 1 --time 8h --env " + sys.prefix, "%%pounce --cpus 4 --time 5min\nx = 1",
                         "%pounce hold --off", "if x:\n    %pounce hold --mem 2GB", "%pounce hold --help", "%pounce release")
    asked = with_lines(parse(["t.ipynb"]), notebook.worker_lines(source), notebook.hold_lines(source))

    assert (asked.options, asked.env) == (Options().changed(gpus=1, cpus=4, memory="2GB", time="8h"), sys.prefix)
    assert with_lines(parse(["t.ipynb", "--cpus", "2"]), [], notebook.hold_lines(source)).options == Options().changed(cpus=2)


def test_a_hold_that_goes_on_behind_a_backslash_is_read_to_its_end():
    """Its second line was left out, and stood in the job's cell as Python."""
    held = notebook.hold_lines(notebook_of("import pounce\n%pounce hold --gpu 1 \\\n    --mem 2GB \\\n    --time 8h\nx = 1"))

    assert with_lines(parse(["t.ipynb"]), [], held).options == Options().changed(gpus=1, memory="2GB", time="8h")


@pytest.mark.parametrize("line, words", [("hold --gpu 1 --out x", "are a cell's"), ("hold gpu", "takes options"), ("hold --gpus 1", "mean --gpu")])
def test_a_hold_that_the_notebook_could_not_run_is_refused(line, words):
    with pytest.raises(errors.BadRequest, match=words):
        with_lines(parse(["t.ipynb"]), [], [line])


# ---- what becomes of it ------------------------------------------------------------------------------------------------


def test_a_function_runs_as_a_job_and_its_value_is_found_by_name(slurm):
    run = run_of("def work(n): print('working'); return {'n': n * 2}", 21, name="double").submit()

    assert run.result(60) == {"n": 42}
    later = pounce.batch("double")
    assert (later.state, later.job, later.result(), later.log()) == ("done", 1, {"n": 42}, "working\n")


@pytest.mark.parametrize("program", ["call_function.py", "run_notebook.py"])
def test_a_module_beside_the_notebook_is_found_in_the_job(slurm, tmp_path, program):
    (tmp_path / "beside.py").write_text("answer = 42")
    with_ipython_alone = "import sys\nsys.modules['nbclient'] = None\n"
    if program == "call_function.py":
        run = run_of("def work():\n    import beside\n    return beside.answer")
    else:
        run = notebook_run("import beside\nvalue = beside.answer", brings=("value",))
        there = run.folder / program
        there.write_text(there.read_text().replace("import contextlib\n", f"import contextlib\n{with_ipython_alone}", 1))

    assert run.submit().result(60) == (42 if program == "call_function.py" else {"value": 42})


REPORTS = """
def work(gate):
    import os, subprocess, time, pounce
    subprocess.run(["sh", "-c", "pounce-report loss=0.5 step=3 --status 'epoch 1'"], check=True)
    pounce.report(rate=0.25, status="epoch 2")
    with open(os.environ["POUNCE_REPORT"], "w") as pipe: pipe.write("bad\\nlast=7\\n")
    while not os.path.exists(gate): time.sleep(0.02)
"""


def test_what_programs_of_a_run_report_is_told_while_it_runs_and_is_in_its_log(slurm, tmp_path):
    run = run_of(REPORTS, str(gate := tmp_path / "gate")).submit()
    until(lambda: run.reported.get("count") == 4)

    assert run.reported == {"status": "epoch 2", "numbers": {"loss": 0.5, "step": 3, "rate": 0.25, "last": 7}, "count": 4, "mlflow_run": ""}
    assert "running" in repr(run) and "; reports epoch 2; loss=0.5 step=3 rate=0.25 last=7; in " in repr(run)
    gate.touch()
    assert run.result(60) is None and run.reported["count"] == 4
    assert "pounce: epoch 1\n" in run.log() and "pounce: epoch 2\n" in run.log() and "a line of a report is left out: 'bad'" in run.log()
    assert not (run.folder / "reports.pipe").exists()


def test_a_notebook_comes_back_executed_with_its_parameters(slurm):
    run = notebook_run("# parameters\nlr = 1", "print('lr is', lr)\nscore = lr * 2", parameters={"lr": 4}, brings=("score",)).submit()

    assert run.result(90) == {"score": 8}
    assert "lr is 4" in output_of(run) and "lr is 4" in run.log()


def test_a_failed_cell_ends_the_run_with_its_error_and_the_cells_before_are_saved(slurm):
    run = notebook_run("print('before')", "1 / 0", "print('after')").submit()

    with pytest.raises(errors.TaskRaised, match="ZeroDivisionError"):
        run.result(90)
    assert run.state == "failed" and "before" in output_of(run) and "after" not in output_of(run)


def test_a_failed_function_tells_its_error(slurm):
    run = run_of("def work(): raise KeyError('lr')").submit()
    with pytest.raises(errors.TaskRaised, match="KeyError: 'lr'"):
        run.result(60)


COUNTS = """
def work(until):
    import pounce, sys
    done = pounce.restored(0) + 1
    pounce.checkpoint(done)
    if done < until:
        sys.exit(85)
    return done
"""


def test_exit_code_85_puts_the_job_back_and_it_goes_on_from_its_checkpoint(slurm):
    run = run_of(COUNTS, 3).submit()

    assert run.result(60) == 3
    assert run.log().count("exit code 85") == 2 and fake_slurm.jobs(slurm) == ["1"]
    assert not (run.folder / "checkpoint").exists()  # it is over


def test_a_run_that_asks_for_another_turn_for_ever_is_stopped(slurm):
    run = run_of(COUNTS, 10**6)
    run.script.write_text(run.script.read_text().replace("restarts=10", "restarts=2"))
    with pytest.raises(errors.TaskRaised, match=r"exit code 85.*--resume"):
        run.submit().result(60)
    assert run.log().count("goes back into the queue") == 2


def test_sys_exit_in_a_cell_is_the_run_s_exit_code(slurm):
    ends = "import sys, pounce\nif pounce.restored() is None:\n    pounce.checkpoint('half')\n    sys.exit(85)"
    run = notebook_run(ends, "print(pounce.restored())").submit()
    run.result(90)
    assert "half" in output_of(run)


WAITS = """
def work(gate):
    import os, time, pounce
    if pounce.restored() is None:
        pounce.checkpoint("first")
        print("saved", flush=True)
        while not os.path.exists(gate):
            time.sleep(0.02)
    return pounce.restored()
"""


@pytest.mark.parametrize("word, error", [
    ("TIMEOUT", errors.WalltimeReached), ("NODE_FAIL", errors.NodeFailed), ("OUT_OF_MEMORY", errors.OutOfMemory),
    ("CANCELLED", errors.JobCancelled), ("PREEMPTED", errors.Preempted)])
def test_a_job_that_slurm_ended_is_resumed_from_its_last_checkpoint(slurm, tmp_path, word, error):
    run = run_of(WAITS, str(tmp_path / "gate")).submit()
    until(lambda: "saved" in run.log())
    fake_slurm.end(slurm, "1", word)

    with pytest.raises(error, match="--resume work runs it again, from its last checkpoint"):
        run.result(60)
    assert (run.state, run.submit().result(60), run.job) == ("ended", "first", 2)


def without_its_end(slurm) -> BatchRun:
    """A run whose job is over, and has not written so as far as this machine sees."""
    run = run_of("def work(): return 5").submit()
    until(lambda: fake_slurm.word(slurm, "1") == "COMPLETED")
    (run.folder / "ended").rename(run.folder / "late")
    return run


def test_the_end_of_a_job_may_be_seen_late(slurm):
    run = without_its_end(slurm)
    assert run.state == "running"
    (run.folder / "late").rename(run.folder / "ended")
    assert run.result(60) == 5


def test_a_job_that_is_over_for_long_without_its_end_has_not_come_to_it(slurm, monkeypatch):
    run, now = without_its_end(slurm), time.monotonic()
    monkeypatch.setattr(runs, "_clock", lambda: now)
    assert run.state == "running"
    monkeypatch.setattr(runs, "_clock", lambda: now + 100)
    assert pounce.batch(run.name).state == "ended"


def test_a_folder_is_looked_at_again_as_nfs_needs_it(slurm):
    """A change of a folder by this machine has it ask the server again."""
    run = without_its_end(slurm)
    os.utime(run.folder, (1, 1))
    assert run.state == "running" and run.folder.stat().st_mtime > 1 and not list(run.folder.glob("looked*"))


def test_a_program_that_was_killed_for_its_memory_is_told_in_slurm_s_words(slurm):
    run = run_of("def work():\n    import os\n    os.kill(os.getpid(), 9)").submit()
    until(lambda: fake_slurm.word(slurm, "1") == "FAILED")
    fake_slurm.say(slurm, "1", "OUT_OF_MEMORY")
    with pytest.raises(errors.OutOfMemory, match="more memory"):
        run.result(60)


def test_a_slurm_that_does_not_answer_says_nothing_of_a_job(slurm, tmp_path, monkeypatch):
    run, asked, answers = run_of(WAITS, str(tmp_path / "gate")).submit(), [], commands.state

    def state(job):
        asked.append(job)
        if len(asked) == 2:
            (slurm / "outage").touch()
        return answers(job)

    monkeypatch.setattr(commands, "state", state)
    monkeypatch.setattr(runs, "_ASK_SLURM_S", 0.0)
    with pytest.raises(errors.Timeout, match="is running"):
        run.result(1.5)
    with pytest.raises(errors.SlurmUnreachable, match="Unable to contact"):
        run.state  # noqa: B018
    assert len(asked) > 2


def pending(slurm, name: str, script: Path) -> None:
    (slurm / "jobs" / "3.name").write_text(name)
    (slurm / "jobs" / "3.script").write_text(str(script))
    fake_slurm.say(slurm, "3", "PENDING")


def test_a_job_of_the_same_name_is_another_s(slurm, tmp_path):
    run = run_of("def work(): return 4")
    pending(slurm, run.name, other := tmp_path / "other.sbatch")
    assert run.state == "written"
    other.write_text(run.script.read_text().replace(str(run.folder), "/home/ada/other"))
    assert run.state == "written"


def test_a_job_of_a_copy_of_its_script_is_its_own(slurm, tmp_path):
    """export_sbatch returns the text, which may be saved anywhere."""
    run = run_of("def work(): return 4")
    copy = tmp_path / "printed.sbatch"
    copy.write_text(run.script.read_text())
    pending(slurm, run.name, copy)
    assert run.state == "waiting"


def test_a_run_that_was_submitted_by_hand_again_waits_and_that_job_is_cancelled(slurm, tmp_path, monkeypatch):
    run = run_of("def work(): return 4").submit()
    run.result(60)
    (tmp_path / "link").symlink_to(run.folder)
    pending(slurm, "another", tmp_path / "link" / run.script.name)
    cancelled = []
    monkeypatch.setattr(commands, "cancel", cancelled.append)

    run.cancel()

    assert (run.state, cancelled) == ("waiting", [3])


def test_a_script_that_is_submitted_again_while_it_runs_is_refused_by_its_lock(slurm, tmp_path):
    run = run_of(WAITS, str(tmp_path / "gate")).submit()
    until(lambda: "saved" in run.log())

    with pytest.raises(errors.NameTaken, match="running: job 1"):
        run.submit()
    by_hand = subprocess.run(["bash", str(run.script)], env={**os.environ, "SLURM_JOB_ID": "7"}, capture_output=True, text=True)
    assert by_hand.returncode == 1 and f"job 1 is this run already, by its lock {run.folder}/running" in by_hand.stderr
    (tmp_path / "gate").touch()
    assert run.result(60) == "first"


def test_an_environment_that_is_gone_is_named(slurm):
    run = run_of("def work(): pass")
    run.script.write_text(re.sub(r"^python=.*$", "python=/gone/env/bin/python", run.script.read_text(), flags=re.M))
    with pytest.raises(errors.TaskRaised, match="no /gone/env/bin/python"):
        run.submit().result(60)


ASKS_POUNCE = """
import pounce
pounce.checkpoint(1)
pounce.report(loss=0.5, status="here")
said = pounce.restored(), pounce.time_left(), list(pounce.steps([1])), pounce.__file__"""


@pytest.mark.parametrize("kind", ["function", "notebook"])
def test_it_runs_where_there_is_no_pounce_and_no_cloudpickle(slurm, tmp_path, kind):
    if kind == "function":
        run = run_of("def work():" + ASKS_POUNCE.replace("\n", "\n    ") + "\n    return said")
    else:
        run = notebook_run(ASKS_POUNCE, brings=("said",))
    (others := tmp_path / "others").mkdir()  # for what executes a notebook
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if kind == "notebook" and not path.name.startswith(("pounce", "_pounce", "__", "cloudpickle")) and path.suffix != ".pth":
            (others / path.name).symlink_to(path)
    bare = [sys.base_prefix + "/bin/" + name for name in ("python3", "python") if os.path.exists(sys.base_prefix + "/bin/" + name)]
    text = run.script.read_text().replace('"$python" -c', '"$python" -I -c')  # not our tree on PYTHONPATH
    run.script.write_text(re.sub(r"^python=.*$", f"python={bare[0]}", text, flags=re.M))
    (run.folder / "environment.sh").write_text(f"export PYTHONPATH={others}\n")

    said = (1, None, [1], str(run.folder / "without_pounce" / "pounce.py"))
    assert run.submit().result(60) == (said if kind == "function" else {"said": said})
    assert run.reported == {"status": "here", "numbers": {"loss": 0.5}, "count": 2, "mlflow_run": ""}


@pytest.mark.parametrize("kind", ["function", "notebook"])
def test_files_with_names_of_the_standard_library_s_modules_keep_no_run_from_beginning(slurm, tmp_path, kind):
    """`import pounce` failed beside a logging.py, and the run had the small module of that name without a word."""
    for name in ("asyncio", "email", "logging", "queue", "random", "secrets", "subprocess", "tempfile", "uuid"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('the file beside the notebook')")
    (tmp_path / "mine.py").write_text("number = 5")
    reads = "import mine, os, pounce\nfound = mine.number, os.path.basename(pounce.__file__)"
    if kind == "function":
        run = run_of("def work():\n    " + reads.replace("\n", "\n    ") + "\n    return found")
    else:
        run = notebook_run(reads, brings=("found",))
    found = run.submit().result(60)
    assert (found if kind == "function" else found["found"]) == (5, "__init__.py")


def test_folders_with_spaces_and_quotes_hold_a_run(slurm, tmp_path):
    parent = tmp_path / "it's \"my\" 100% $HOME"
    run = run_of("def work(): return 5", folder=str(parent), name="odd").submit()
    assert run.result(60) == 5
    assert pounce.batch("odd").folder == parent / "odd" and (tmp_path / "home/pounce-batch/odd").is_symlink()


def test_a_name_is_taken_once_and_found_where_none_was_chosen(slurm):
    assert [run_of("def work(): pass").name for _ in range(3)] == ["work", "work-2", "work-3"]
    with pytest.raises(errors.NameTaken, match="--resume work"):
        run_of("def work(): pass", name="work")
    with pytest.raises(errors.NoSuchName, match="work, work-2, work-3"):
        pounce.batch("other")


def test_a_name_whose_run_was_removed_is_free_again(slurm, tmp_path):
    run = run_of("def work(): pass", name="again", folder=str(tmp_path / "scratch"))
    shutil.rmtree(run.folder)
    assert run_of("def work(): pass", name="again").script.exists()


def test_what_is_in_the_way_and_no_run_is_named_as_that(slurm, tmp_path):
    (tmp_path / "scratch" / "mine").mkdir(parents=True)
    with pytest.raises(errors.NameTaken, match="scratch/mine is there, and is no batch run"):
        run_of("def work(): pass", name="mine", folder=str(tmp_path / "scratch"))
    (tmp_path / "home/pounce-batch/half").mkdir()
    with pytest.raises(errors.NameTaken, match="half is there, and is no batch run"):
        run_of("def work(): pass", name="half")
    with pytest.raises(errors.NoSuchName, match="none"):
        pounce.batch("half")


def test_a_run_that_cannot_be_written_leaves_no_folder(slurm, monkeypatch):
    monkeypatch.setattr(making, "_add_modules", lambda folder: (folder / "lib" / "x").mkdir())  # fails
    with pytest.raises(FileNotFoundError):
        run_of("def work(): pass", name="full")
    assert not (run_folder.home() / "full").exists()


def by_hand(run: BatchRun, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", str(run.script)], env={**os.environ, "SLURM_JOB_ID": "7", **variables}, capture_output=True, text=True)


def test_what_slurm_puts_back_by_itself_is_no_turn_that_the_run_asked_for(slurm):
    assert "goes back into the queue" in by_hand(run_of(COUNTS, 10**6), SLURM_RESTART_COUNT="50").stderr


def test_a_lock_is_left_alone_while_slurm_does_not_answer(slurm):
    run = run_of("def work(): pass")
    (run.folder / "running").symlink_to("5")
    (slurm / "outage").touch()
    refused = by_hand(run)
    assert refused.returncode == 1 and "squeue does not say whether it lives" in refused.stderr
    assert os.readlink(run.folder / "running") == "5"


def test_a_lock_of_a_job_that_is_gone_is_taken_and_given_back(slurm):
    run = run_of("def work(): pass")
    (run.folder / "running").symlink_to("5")
    assert by_hand(run).returncode == 0 and not os.path.lexists(run.folder / "running")


def test_a_lock_that_another_has_taken_since_is_its_own(slurm):
    run = run_of("def work(lock):\n    import os\n    os.unlink(lock)\n    os.symlink('8', lock)", str(run_folder.home() / "work" / "running"))
    assert by_hand(run).returncode == 0 and os.readlink(run.folder / "running") == "8"


def test_a_site_s_prologue_does_not_change_what_the_script_does_at_its_end(slurm, monkeypatch):
    monkeypatch.setattr(making, "placed", lambda options: Placement(prologue="set -eu\ntrap 'true' EXIT"))
    run = run_of(COUNTS, 10**6)
    ended = by_hand(run)
    assert (ended.returncode, (run.folder / "restarts").read_text()) == (85, "7\n") and not os.path.lexists(run.folder / "running")


def test_a_place_s_script_has_the_site_s_lines_and_the_environment_and_needs_a_command(slurm, tmp_path, monkeypatch):
    monkeypatch.setattr(making, "placed", lambda options: Placement(prologue="echo site"))
    script = making.of_place(Options(), "A lease", str(tmp_path / "env"))
    runs_it = [subprocess.run(["bash", "-s", "--", *command], input=script, capture_output=True, text=True) for command in ([], ["printenv", "VIRTUAL_ENV"])]
    assert [(done.returncode, done.stdout) for done in runs_it] == [(2, ""), (0, f"site\n{tmp_path}/env\n")]


IN_A_BOX = ("env", "BOX=a 'box'", "{command}", "--of-the-box")


def test_a_site_s_container_and_interpreter_run_the_job_s_python(slurm, tmp_path, monkeypatch):
    """The script ran its Python beside the container that workers are in."""
    python = tmp_path / "site python"
    python.write_text(f'#!/bin/sh\nexport BY_SITE=yes\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(making, "placed", lambda options: Placement(interpreter=str(python), container=IN_A_BOX))
    work = "def work():\n    import os, sys\n    return os.environ.get('BY_SITE'), os.environ['BOX'], sys.argv[-1]"

    assert run_of(work).submit().result(60) == ("yes", "a 'box'", "--of-the-box")
    assert run_of(work, env=sys.prefix).submit().result(60) == (None, "a 'box'", "--of-the-box")  # whose user has named another


def test_a_python_that_only_the_site_s_container_has_is_not_missed_outside(slurm, monkeypatch):
    box = ("sh", "-c", f'shift; exec {shlex.quote(sys.executable)} "$@"', "sh", "{command}")
    monkeypatch.setattr(making, "placed", lambda options: Placement(interpreter="/in/the/image/python", container=box))
    assert run_of("def work(): return 6").submit().result(60) == 6


def test_a_place_s_script_runs_its_command_in_the_site_s_container(slurm, monkeypatch):
    monkeypatch.setattr(making, "placed", lambda options: Placement(container=IN_A_BOX[:3]))
    script = making.of_place(Options(), "A lease")
    assert subprocess.run(["bash", "-s", "--", "printenv", "BOX"], input=script, capture_output=True, text=True).stdout == "a 'box'\n"


def test_a_result_that_others_could_have_written_is_not_opened(slurm):
    run = run_of("def work(): return 1").submit()
    run.result(60)
    (run.folder / "result.pickle").chmod(0o666)
    with pytest.raises(errors.ResultGone, match="alone"):
        run.result()
    run.folder.chmod(0o777)
    with pytest.raises(errors.ResultGone, match="alone"):
        pounce.batch(run.name)


def test_a_run_that_was_submitted_by_hand_is_known_by_its_name(slurm):
    run = run_of("def work(): return 4")
    subprocess.run(["sbatch", str(run.script)], check=True)
    assert run.result(60) == 4


def test_what_was_never_submitted_is_not_waited_for(slurm):
    with pytest.raises(errors.BadRequest, match="sbatch"):
        run_of("def work(): pass").result()


def test_a_run_that_takes_longer_goes_on(slurm, tmp_path):
    run = run_of(WAITS, str(tmp_path / "gate")).submit()
    with pytest.raises(errors.Timeout, match="goes on"):
        run.result(0.5)
    run.cancel()
    with pytest.raises(errors.JobCancelled):
        run.result(60)


def test_following_shows_what_it_prints(slurm, capsys):
    run_of("def work(): print('one'); print('two')").submit().follow(60)
    assert capsys.readouterr().out == "one\ntwo\n"


# ---- a site's own sbatch, and variables of Slurm's commands --------------------------------------------------------------


@pytest.mark.parametrize("printed, number", [
    ("1234\n", 1234), ("1234;cluster\n", 1234), ("Submitted batch job 1234\n", 1234), ("Submitted batch job 1234 on cluster west\n", 1234),
    ("*** 3 nodes are down ***\n\n1234\nYou have used 45% of 1000 hours\n", 1234), ("sbatch: lua: hello 7\n  1234;west  \n", 1234),
    ("Submitted batch job 1234\n1234\n", 1234), ("", 0), ("all is well\n", 0), ("2026\n1234\n", 0), ("1234 of 2000 hours\n", 0),
])
def test_the_job_s_number_is_the_line_that_is_one(printed, number):
    assert commands.job_number(printed) == number


SUBMITS = "def work(): return 7"


def wrapped(slurm: Path, lines: str) -> None:
    """The site's sbatch; `"$own" "$@"` in it is Slurm's."""
    sbatch = slurm / "bin" / "sbatch"
    sbatch.rename(own := slurm / "slurms-own-sbatch")
    sbatch.write_text(f"#!/bin/sh\nown={shlex.quote(str(own))}\n{lines}\n")
    sbatch.chmod(0o755)


@pytest.mark.parametrize("lines", [
    'echo "*** Welcome to West. ***"; "$own" "$@"; echo "45 % of your quota"',
    'echo "2026"; "$own" "$@"',  # which of the two it is tells the queue
    '"$own" "$@" > /dev/null',
])
def test_a_run_that_a_site_s_own_sbatch_submits_is_followed_to_its_end(slurm, lines):
    wrapped(slurm, lines)
    run = run_of("""
        def work():
            import time
            while not open("go").read(): time.sleep(0.01)
            return 7
    """, name="wrapped")
    (slurm.parent / "go").touch()
    run.submit()
    (slurm.parent / "go").write_text("go")
    assert (run.job, run.result(60)) == (int(fake_slurm.jobs(slurm)[-1]), 7)


def test_what_a_site_s_rules_say_of_a_job_that_they_take_is_shown(slurm, capsys):
    wrapped(slurm, 'echo "sbatch: 79 minutes: you get 5." >&2; "$own" "$@"')
    run_of(SUBMITS, name="told").submit()

    assert capsys.readouterr().err == "pounce: sbatch: 79 minutes: you get 5.\n"


def test_a_site_s_sbatch_that_tells_nothing_of_a_job_is_not_taken_for_a_refusal(slurm):
    wrapped(slurm, "echo filed under 12 of March")
    with pytest.raises(errors.OutcomeUnknown, match="filed under 12 of March.*found by its script"):
        run_of(SUBMITS, name="filed").submit()


def test_a_job_that_has_begun_before_anybody_told_its_number_is_the_run_s(slurm, monkeypatch):
    run = run_of(SUBMITS, name="begun")
    monkeypatch.setattr(commands, "of_script", lambda script: 0)
    wrapped(slurm, f'"$own" "$@" > /dev/null; while [ ! -s {shlex.quote(str(run.folder / "jobs"))} ]; do :; done')
    assert run.submit().result(60) == 7


def test_what_a_user_has_set_for_the_output_of_slurm_s_commands_does_not_change_what_becomes_of_a_run(slurm, monkeypatch):
    for name, value in {"SQUEUE_USERS": "bob", "SQUEUE_FORMAT": "%j", "SLURM_TIME_FORMAT": "relative", "SACCT_FORMAT": "JobID"}.items():
        monkeypatch.setenv(name, value)
    run = run_of(SUBMITS, name="plain")
    (run.folder / "running").symlink_to("5")  # its script asks squeue for that job
    assert run.submit().result(60) == 7


def test_a_command_of_slurm_reads_none_of_its_own_variables_but_those_that_find_slurm():
    given = dict.fromkeys(["PATH", "SLURM_CONF", "SLURM_JWT", "SLURM_CLUSTERS", "SLURM_JOB_ID", "SLURM_TIME_FORMAT", "SRUN_DEBUG", "SQUEUE_SORT",
                           "SACCT_FORMAT", "SBATCH_WAIT", "SCANCEL_INTERACTIVE"], "x")
    always = {"PATH", "SLURM_CONF", "SLURM_JWT"}
    of_others = {"squeue": "SQUEUE_SORT", "sacct": "SACCT_FORMAT", "sbatch": "SBATCH_WAIT", "scancel": "SCANCEL_INTERACTIVE"}
    for command, own in of_others.items():
        assert commands.environment_for(command, given).keys() == always | {*of_others.values()} - {own}, command


def test_what_the_script_leaves_open_sbatch_takes_from_the_user_s_own_variables():
    given = {"SBATCH_ACCOUNT": "ml", "SBATCH_QOS": "lion", "SBATCH_WAIT": "1", "SBATCH_ARRAY_INX": "1-10", "SBATCH_TIMELIMIT": "10"}
    script = "#!/bin/bash\n#SBATCH --qos=tiger\n#SBATCH --time=30\necho --account\n"
    assert commands.wishes_beside(script, given) == {"SBATCH_ACCOUNT": "ml"}


def test_without_slurm_s_commands_it_says_what_to_do(slurm, monkeypatch):
    run = run_of("def work(): pass")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(errors.NoSlurm, match="sbatch takes the script as it is"):
        run.submit()


def test_a_call_that_cannot_be_made_leaves_no_folder(slurm):
    with pytest.raises(errors.BadRequest, match="-p NAME=VALUE"):
        run_of("def work(n): pass")
    assert run_folder.names() == []


def test_the_stand_in_answers_as_pounce_does():
    from pounce import on_worker
    from pounce._batch.job import pounce_here

    for name in ("checkpoint", "restored", "time_left"):
        ours, theirs = (list(inspect.signature(getattr(module, name)).parameters) for module in (on_worker, pounce_here))
        assert ours == theirs


# ---- from a lease and from a call --------------------------------------------------------------------------------------


def test_a_call_and_a_lease_are_exported_as_job_scripts(home):
    home.environment.pop("VIRTUAL_ENV", None)
    reports = home.run("""
        client = pounce.Client(cpus=2, memory="1GB", env=sys.prefix)
        def gate(path):
            import time
            while not os.path.exists(path): time.sleep(0.02)
            return 7
        here = os.path.abspath("gate")
        future = client.submit(gate, here)
        while not client.leases(): time.sleep(0.02)
        report(call=pounce.export_sbatch(future), lease=pounce.export_sbatch(client.leases()[0]))
        open(here, "w").close()
        report(result=future.result(60))
        report(late=error_of(lambda: pounce.export_sbatch(future)))
    """).reports
    for script in (reports["call"], reports["lease"]):
        assert "#SBATCH --cpus-per-task=2\n#SBATCH --mem=1024M\n" in script and script.startswith("#!/bin/bash\n")
    ours = f"export VIRTUAL_ENV={sys.prefix}\n"
    assert ours in reports["lease"] and ours in Path(home.folder, "pounce-batch", "gate", "environment.sh").read_text()
    assert 'exec "$@"' in reports["lease"] and "call_function.py" in reports["call"]
    assert reports["result"] == 7 and "has ended" in reports["late"]["text"]
    job = {**home.environment, "SLURM_JOB_ID": "1"}
    again = subprocess.run(["bash", "-s"], input=reports["call"], env=job, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert list(Path(home.folder, "pounce-batch", "gate").glob("result.pickle"))
