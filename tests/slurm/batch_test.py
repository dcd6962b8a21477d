"""Batch runs on the real cluster: the script that pounce prints is one for sbatch, and a run is one job of its class."""

from __future__ import annotations

import re
import shutil
import textwrap

import nbformat
import pytest
from login_node import GPU_IN_SQUEUE, ROOT, wait_until
from notebooks import Executed, code_cells, printed, shown
from notebooks import written as notebook_of

MADE = """
    from pathlib import Path
    from pounce import errors
    from pounce._batch import making
    from pounce._batch.run import BatchRun
    from pounce._engine.options import Options
    def run_of(function, *args, folder="", **options):
        return BatchRun(making.of_function(function, args, {}, making.Request(Options().changed(**options), folder=folder)))
    def error_of(call):
        try:
            call()
        except errors.PounceError as e:
            return dict(type=type(e).__name__, text=str(e))
"""


def written(alice, source: str):
    return alice.python(textwrap.dedent(MADE) + textwrap.dedent(source))


def in_accounting(alice, job: int) -> list[str]:
    """name, class, GPUs asked for, state of each job with that number."""
    rows = alice.run("sacct", "--noheader", "--allocations", "--parsable2", f"--jobs={job}", "--format=JobName,QOS,ReqTRES,State")
    return rows.splitlines()


def accounted(alice, job: int) -> list[str]:
    """They, when they have ended and slurmdbd has heard of their beginning too."""
    return wait_until(lambda: [row for row in in_accounting(alice, job) if row.endswith("COMPLETED") and "|Unknown|" not in row], 30, "the accounting has it")


def test_a_class_that_slurm_does_not_offer_is_refused_before_the_script_is_written(make_user):
    alice = make_user()
    run = written(alice, """
        report(error=error_of(lambda: run_of(abs, -3, class_="tiger", cpus=1, folder="~/pounce-tiger")))
        report(made=os.path.exists(os.path.expanduser("~/pounce-tiger")))
    """)

    error = run.reported("error")

    assert error["type"] == "UnknownClass" and "'tiger'" in error["text"] and "cheetah, lion" in error["text"]
    assert run.reported("made") is False


def test_the_example_runs_as_one_job_of_its_class_and_is_executed(make_user):
    alice = make_user()
    folder = alice.folder / "12_batch"
    shutil.copytree(ROOT / "examples" / "12_batch", folder)
    shutil.copy(ROOT / "packaging" / "run_notebook.py", folder)
    folder.chmod(0o777)  # alice writes there

    alice.start(["python", "-u", str(folder / "run_notebook.py"), str(folder / "batch.ipynb"), "--seconds", "150"]).ended(170)

    cells = code_cells(nbformat.read(folder / "batch-executed.ipynb", as_version=4))
    assert shown(cells[3], "text/plain") == ["{'fitted': (3.0, 1.0)}"] and "begins at epoch 0" in printed(cells[3])
    assert shown(cells[5], "text/plain") == ["3.1"]
    job = int(printed(cells[1]).partition("job ")[2].partition(";")[0])
    (row,) = accounted(alice, job)
    name, qos, *_ = row.split("|")
    assert name.startswith("train") and qos == "lion"


def test_the_printed_script_of_a_call_is_what_sbatch_takes(make_user):
    alice = make_user()
    run = alice.python("""
        import pounce, subprocess
        from pathlib import Path
        client = pounce.Client()
        def three_ways(n): return sum(range(n))
        here = three_ways(1000)
        future = client.options(gpus=1, cpus=2, class_="cheetah", time="10min").submit(three_ways, 1000)
        script = Path.home() / f"printed-{os.getpid()}.sbatch"
        script.write_text(pounce.export_sbatch(future))
        leased = future.result(100)
        client.close()
        report(text=script.read_text())
        test = subprocess.run(["sbatch", "--test-only", str(script)], capture_output=True, text=True)
        report(test=test.returncode, said=test.stderr)
        job = int(subprocess.run(["sbatch", "--parsable", str(script)], check=True, capture_output=True, text=True).stdout)
        name = [line for line in script.read_text().splitlines() if "--job-name=" in line][0].partition("=")[2]
        report(job=job, results=[here, leased, pounce.batch(name).result(100)])
    """)
    assert run.reported("results", 150) == [499500] * 3
    text, job = run.reported("text"), run.reported("job")
    assert "#SBATCH --gres=gpu:1\n" in text and "#SBATCH --cpus-per-task=2\n" in text
    assert run.reported("test") == 0, run.reported("said")
    (row,) = accounted(alice, job)
    assert "|cheetah|" in row and "gres/gpu=1" in row


# As tests/python/time_limit_test.py has them for each place where pounce takes a time.
TIMES = ["30", "90:30", "36:00:00", "00:20:00", "1-12", "1-12:30", "1-", "1-12:30:15", "1:90:00", "UNLIMITED"]


def test_a_time_is_what_sbatch_takes_it_for(make_user):
    run = make_user().python(f"""
        import subprocess
        from pounce import _core
        from pounce._engine.options import Options
        def of_slurm(time):
            words = ["--hold", "--qos=panther", "--mem=100M", "--wrap=true", f"--time={{time}}"]
            job = subprocess.run(["sbatch", "--parsable", *words], check=True, capture_output=True, text=True).stdout.strip()
            limit = subprocess.run(["squeue", "--noheader", f"--jobs={{job}}", "--format=%l"], check=True, capture_output=True, text=True).stdout.strip()
            subprocess.run(["scancel", job], check=True)
            return limit
        def written(time):
            return Options().changed(time=time).resources.time_min if time != "UNLIMITED" else time
        for time in {TIMES}:
            report(**{{time: [of_slurm(time), of_slurm(written(time)), _core.time_limit_s(time)]}})
    """)
    for time in TIMES:
        slurms, of_what_pounce_writes, seconds = run.reported(time, 60)
        assert slurms == of_what_pounce_writes, time
        assert seconds == float("inf") if slurms == "UNLIMITED" else -(-seconds // 60) == minutes_of(slurms), (time, slurms)


def minutes_of(limit: str) -> int:
    """Of squeue's words: days-hours:minutes:seconds, from the right."""
    days, _, clock = limit.rpartition("-")
    parts = [0, 0, *map(int, clock.split(":"))][-3:]
    return int(days or 0) * 1440 + parts[0] * 60 + parts[1]


def test_a_run_is_followed_whatever_a_site_s_sbatch_prints_and_its_user_has_set(make_user):
    run = written(make_user(), """
        import shutil, tempfile
        tools = Path(tempfile.mkdtemp())
        own = shutil.which("sbatch")
        (tools / "sbatch").write_text(f'#!/bin/sh\\necho "*** West is full. ***"\\n{own} "$@"\\ncode=$?\\necho "45 % of 1000 hours"\\nexit $code\\n')
        (tools / "sbatch").chmod(0o755)
        os.environ.update(PATH=f"{tools}:{os.environ['PATH']}", SQUEUE_USERS="bob", SQUEUE_STATES="PENDING", SQUEUE_FORMAT2="JobID", SACCT_FORMAT="JobID",
                          SLURM_TIME_FORMAT="relative", SLURM_CLUSTERS="west", SBATCH_QOS="lion", SBATCH_TIMELIMIT="7", SBATCH_WAIT="1")
        def left():
            import pounce
            return pounce.time_left()
        run = run_of(left, cpus=1, memory="100MB", class_="cheetah", time="10:00").submit()
        report(job=run.job, states=[run.state], left=run.result(100), end=run.state)
    """)
    assert run.reported("end", 120) == "done" and 300 < run.reported("left") <= 600


def test_a_lease_is_exported_as_a_script_for_a_command(make_user):
    run = make_user().python("""
        import pounce, subprocess, time
        from pathlib import Path
        with pounce.Client(gpus=1, class_="cheetah", time="10min") as client:
            client.submit(pow, 2, 3).result(100)
            script, out = Path.home() / f"lease-{os.getpid()}.sbatch", Path.home() / f"lease-{os.getpid()}.out"
            script.write_text(pounce.export_sbatch(client.leases()[0]))
        says = "import os; print(os.environ['SLURM_JOB_QOS'], 'GPU', os.environ['CUDA_VISIBLE_DEVICES'])"
        subprocess.run(["sbatch", "--wait", f"--output={out}", str(script), "python", "-c", says], check=True)
        report(said=out.read_text())
    """)
    assert re.fullmatch(r"cheetah GPU \d\n", run.reported("said", 150))


def test_what_explain_prints_of_a_lease_is_run_by_hand(make_user):
    """As somebody does who copies the lines: the script goes to sbatch, its job is there with the same resources, and is ended."""
    alice = make_user()
    by_hand = """
import pathlib, re, subprocess
assert not said.stderr, said.stderr
lines, _, script = said.stdout.partition("\\n\\n")
submit, show, cancel = [line.split() for line in lines.splitlines()[1:4]]
pathlib.Path(submit[1]).write_text(script)
run = lambda *words: subprocess.run(words, check=True, capture_output=True, text=True).stdout
number = run(*submit[:-1], "sleep", "600").split()[-1]
facts = run(*[word.replace(job, number) for word in show], "--noheader", "--format=%q %b %C %l").strip()
run(*[word.replace(job, number) for word in cancel])
facts, run("squeue", "--noheader", "--jobs", number, "--states=PENDING,RUNNING")"""
    cells = Executed(alice, notebook_of(
        alice, "import pounce\nclient = pounce.Client(gpus=1, cpus=2, class_='cheetah', time='10min')\nclient.submit(pow, 2, 3).result()",
        "job = str(client.leases()[0].job)", "%%capture said\n%pounce explain $job", by_hand, "client.close()")).cells()

    assert shown(cells[3], "text/plain") == [f"('cheetah {GPU_IN_SQUEUE}:1 2 10:00', '')"]


def test_a_policy_decides_class_qos_and_partition_as_for_a_lease(make_user):
    classes = {"quick": {"qos": "cheetah", "partition": "bigcats", "walltime": "30min"}, "long": {"qos": "lion", "walltime": "1d"}}
    policy = {"classes": classes, "prologue": "export OF_THE_SITE=yes"}
    run = written(make_user(policy=policy), """
        run = run_of(lambda: os.environ["OF_THE_SITE"], time="2h")
        report(text=run.script.read_text())
        report(value=run.submit().result(100))
        report(refused=error_of(lambda: run_of(abs, 1, time="3d")))
    """)
    assert run.reported("value", 150) == "yes"
    assert "#SBATCH --qos=lion\n" in run.reported("text")
    assert run.reported("refused")["type"] == "Unsatisfiable"


def test_a_site_s_container_wraps_what_the_script_runs(make_user):
    if shutil.which("bwrap") is None:
        pytest.skip("there is no bubblewrap: packaging/install-system --only test installs it")
    run = written(make_user(policy={"container": "bwrap --dev-bind / / --unshare-uts --hostname 'box' {command}"}), """
        import socket
        run = run_of(socket.gethostname).submit()
        report(value=run.result(100), log=run.log())
    """)
    assert run.reported("value", 120) == "box", run.reported("log")


def test_a_folder_with_spaces_and_quotes_is_sbatch_s_too(make_user):
    run = written(make_user(), """
        parent = Path.home() / f"it's \\"my\\" 100% $HOME {os.getpid()}"
        run = run_of(abs, -3, folder=str(parent)).submit()
        report(value=run.result(100), log=(run.folder / "job.log").exists())
    """)
    assert run.reported("value", 120) == 3 and run.reported("log")


def test_a_run_whose_time_was_over_is_resumed_and_one_that_asks_twice_goes_back_into_the_queue_twice(make_user):
    """Two runs side by side, since a walltime of Slurm's is a minute at least. It keeps a job that was put back for two: here not."""
    alice = make_user()
    run = written(alice, """
        import subprocess
        def long_work():
            import pounce, time
            steps = pounce.restored(0)
            if steps: return steps
            while True:
                steps += 1
                pounce.checkpoint(steps)
                time.sleep(0.05)
        def asks_again():
            import pounce, sys
            done = pounce.restored(0) + 1
            pounce.checkpoint(done)
            left = pounce.time_left()
            if done < 3: sys.exit(85)
            return done, left is not None and 0 < left <= 600
        over, again = run_of(long_work, time="1min").submit(), run_of(asks_again, time="10min").submit()
        state = lambda: subprocess.check_output(["squeue", "--noheader", f"--jobs={again.job}", "--format=%T"], text=True).strip()
        for times in (1, 2):
            while again.log().count("goes back") < times: time.sleep(0.1)
            while state() != "PENDING": time.sleep(0.1)  # not COMPLETING any more
            # Not at once: slurmd takes a credential of the second in which it revoked the last one for revoked, and the job has FAILED.
            subprocess.run(["scontrol", "update", f"JobId={again.job}", "StartTime=now+3"], check=True)
        report(over=error_of(lambda: over.result(250)))
        report(steps=over.submit().result(100), jobs=len((over.folder / "jobs").read_text().split()))
        report(again=again.result(250), job=again.job, log=again.log())
    """)
    assert run.reported("over", 280)["type"] == "WalltimeReached"
    assert run.reported("steps", 120) > 100 and run.reported("jobs") == 2
    assert run.reported("again", 280) == [3, True] and run.reported("log").count("goes back into the queue") == 2
    assert len(accounted(alice, run.reported("job"))) == 1


def test_a_script_that_is_submitted_while_it_runs_is_refused_by_its_lock(make_user):
    run = written(make_user(), """
        import subprocess
        gate = Path.home() / f"gate-{os.getpid()}"
        def waits(gate):
            import os, time
            print("runs", flush=True)
            while not os.path.exists(gate): time.sleep(0.05)
            return 1
        run = run_of(waits, str(gate)).submit()
        while "runs" not in run.log(): time.sleep(0.1)
        done = subprocess.run(["sbatch", "--wait", "--parsable", str(run.script)], capture_output=True, text=True)
        report(code=done.returncode, log=run.log(), lock=f"{run.folder}/running", twice=error_of(run.submit))
        gate.touch()
        report(value=run.result(100))
    """)
    assert run.reported("value", 150) == 1
    assert run.reported("code") == 1 and run.reported("lock") in run.reported("log")
    assert run.reported("twice")["type"] == "NameTaken"


@pytest.mark.xdist_group("nodes")  # with the others that take a node of the spare cluster down
def test_a_run_whose_node_is_lost_goes_on_from_its_checkpoint(quiet_cluster, admin, login_node, make_user):
    """Slurm ends it as NODE_FAIL and puts it back by itself, under the same number; it keeps such a job for a while: here not."""
    alice = make_user(node=login_node(quiet_cluster))
    run = written(alice, """
        gate = Path.home() / f"gate-{os.getpid()}"
        def steps(gate):
            import os, pounce, time
            begun_at = done = pounce.restored(0)
            print("on", os.environ["SLURMD_NODENAME"], flush=True)
            while not os.path.exists(gate):
                done += 1
                pounce.checkpoint(done)
                time.sleep(0.05)
            return begun_at
        run = run_of(steps, str(gate), cpus=1, time="10min").submit()
        while not (run.folder / "checkpoint").exists(): time.sleep(0.1)
        report(job=run.job, lost=run.log().split()[1])
        while run.log().count("on g") < 2: time.sleep(0.1)
        gate.touch()
        report(end=run.result(100), job_after=run.job, jobs=len((run.folder / "jobs").read_text().split()))
    """)
    lost, job = run.reported("lost", 100), run.reported("job")

    admin("scontrol", "update", f"nodename={lost}", "state=down", "reason=test")
    show = lambda: admin("scontrol", "show", "job", str(job))
    wait_until(lambda: "JobState=PENDING" in show() and "Restarts=1" in show(), 60, "Slurm has put it back")
    admin("scontrol", "update", f"JobId={job}", "StartTime=now+3")  # a slurmd remembers the credential that it has just revoked
    steps = run.reported("end", 150)

    assert steps > 0
    assert run.reported("job_after") == job and run.reported("jobs") == 1
    is_back = lambda: "down" not in admin("sinfo", "--noheader", f"--nodes={lost}", "--format=%T")
    wait_until(is_back, 60, "its slurmd has told that it is there (ReturnToService)")
