"""What any program of a lease reports: pounce-report, a line into the pipe, a Python of its own. docs/reports.md has the form."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig

import pytest
from conftest import made_home
from docs_test import blocks
from pounce._worker.reports.report_line import LINE_BYTES, WrongLine, read, written

PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc000000301010018dd8db00000000049454e44ae426082")


def program(name: str) -> str:
    found = shutil.which(name, path=os.environ.get("POUNCE_BUILD") or sysconfig.get_path("scripts"))
    assert found, f"no {name}"
    return found


# ---- all at once, in one lease ----

REPORTING = r"""
    import pathlib, stat, subprocess
    SCRIPT = '''
    pounce-report loss=0.5 step=1 --status "epoch 1
    of 2" && pounce-report --file curve.png
    cat lines > "$POUNCE_REPORT"
    "$PYTHON" -c 'import pounce; pounce.report(loss=0.25, step=2, status="epoch 2")'
    '''
    def works(python, go_on):
        import multiprocessing, time
        pipe = pathlib.Path(os.environ["POUNCE_REPORT"])
        modes = [stat.filemode(each.stat().st_mode) for each in (pipe, pipe.parent)]
        subprocess.run(["sh", "-ec", SCRIPT], env={**os.environ, "PYTHON": python}, check=True)
        forked = multiprocessing.get_context("fork").Process(target=pounce.report, kwargs={"forked": True})
        forked.start(), forked.join()
        pounce.report(last=float("nan"))
        while not pathlib.Path(go_on).exists(): time.sleep(0.02)
        subprocess.run(["pounce-report", "end=1"], check=True)
        return modes, str(pipe), [name for name in os.environ if name.startswith("POUNCE_")]
    client = pounce.Client()
    future = client.submit(works, sys.executable, os.getcwd() + "/go")
    while len(future.reports) < 7: time.sleep(0.02)
    def status(*words):
        return subprocess.run([PROGRAM, "status", *words], check=True, capture_output=True, text=True, timeout=60).stdout
    while not (row := json.loads(status("--json"))["leases"][0]).get("reported", {}).get("numbers", {}).get("last"): time.sleep(0.05)
    report(row=row["reported"], text=status())
    open("go", "w").close()
    modes, pipe, names = future.result(60)
    report(modes=modes, names=names, reports=json.loads(json.dumps(future.reports)))
    report(again=client.submit(lambda: os.environ["POUNCE_REPORT"]).result(60) == pipe)
    client.close()
    subprocess.run([PROGRAM, "release", "--all"], check=True, capture_output=True, timeout=60)
    while os.path.exists(os.path.dirname(pipe)): time.sleep(0.02)
    report(gone=True)
"""


@pytest.fixture(scope="module")
def reporting():
    with made_home(heartbeat_ms=100) as home:
        (home.folder / "curve.png").write_bytes(PNG)
        (home.folder / "lines").write_bytes(b"val=3 acc=.5e0\n\n loss=abc\n\xff\xfe=1\nno report\nfile=there\n" + b"x" * 20_000 + b"\nx=1\n")
        home.environment["PATH"] = os.pathsep.join([os.path.dirname(program("pounce-report")), home.environment.get("PATH", "")])
        yield home.run(f"    PROGRAM = {program('pouncectl')!r}" + REPORTING)


def test_what_programs_report_is_in_the_future_in_its_order(reporting):
    png = reporting.reports["reports"][1]["file"]
    numbers = [each for each in reporting.reports["reports"] if "file" not in each]

    assert os.path.isabs(png) and png.endswith("/curve.png")
    assert numbers[0] == {"loss": 0.5, "step": 1, "status": "epoch 1 of 2"}
    assert numbers[1:3] == [{"val": 3, "acc": 0.5}, {"x": 1}]
    assert numbers[3:5] == [{"loss": 0.25, "step": 2}, {"status": "epoch 2"}]
    assert numbers[5] == {"forked": 1} and "last" in numbers[6] and numbers[-1] == {"end": 1}


def test_a_line_of_another_form_is_left_out_and_said(reporting):
    told = [line for line in reporting.stderr.splitlines() if line.startswith("pounce: a line of a report is left out")]

    assert len(told) == 5 and told[-1].endswith("further ones are not told")
    assert "'abc' in 'loss=abc' is no number" in told[0] and "'there' is no absolute path" in told[3]
    assert f"longer than {LINE_BYTES} bytes" in told[4]


def test_pouncectl_status_has_the_last_status_and_numbers(reporting):
    row = reporting.reports["row"]

    assert row["status"] == "epoch 2" and "mlflow_run" not in row
    assert row["numbers"] == {"loss": "0.25", "step": "2", "val": "3", "acc": "0.5", "x": "1", "forked": "1", "last": "nan"}
    assert "it reports epoch 2; acc=0.5 forked=1 last=nan loss=0.25 step=2 val=3 x=1\n" in reporting.reports["text"]


def test_the_pipe_is_the_users_alone_and_goes_with_the_lease(reporting):
    assert reporting.reports["modes"] == ["prw-------", "drwx------"]
    assert reporting.reports["again"] is True and reporting.reports["gone"] is True


def test_a_worker_has_its_own_pipe_whatever_the_notebook_names(home):
    home.environment["POUNCE_REPORT"] = "/nowhere/of-another-lease"

    run = home.run("""
        pounce.report(loss=1)
        os.environ["POUNCE_REPORT"] = "/nowhere/changed"
        with pounce.Client() as client:
            report(there=client.submit(lambda: os.environ["POUNCE_REPORT"]).result(60))
    """)

    assert not run.reports["there"].startswith("/nowhere")


# ---- the program itself ----

@pytest.mark.parametrize("words, says", [
    (["loss"], "'loss' is no report"),
    (["loss=abc"], "'abc' in 'loss=abc' is no number"),
    (["loss=0x1"], "'0x1' in 'loss=0x1' is no number"),
    (["lo ss=1"], "'lo ss' is no name of a number"),
    (["status=1"], "Write --status instead"),
    (["--statsu", "x"], "Did you mean --status?"),
    (["--status"], "--status needs a value"),
    (["--file", "/nowhere/curve.png"], "there is no file /nowhere/curve.png"),
    (["--file", "/"], "/ is no file"),
    (["--status", "x" * LINE_BYTES], "is too long"),
    ([], "nothing is said"),
])
def test_a_wrong_word_is_named(words, says):
    run = subprocess.run([program("pounce-report"), *words], capture_output=True, text=True, timeout=60)

    assert run.returncode == 2 and says in run.stderr and run.stderr.count("\n") == 1 and not run.stdout


@pytest.mark.parametrize("pipe, says", [(None, "POUNCE_REPORT is not set"), ("/nowhere/pipe", "the worker does not listen"),
                                        ("/dev/null", "is no pipe"), ("{folder}/left", "it has ended")])
def test_outside_a_lease_it_says_so(pipe, says, tmp_path):
    os.mkfifo(tmp_path / "left")
    env = {name: value for name, value in os.environ.items() if name != "POUNCE_REPORT"}
    env |= {"POUNCE_REPORT": pipe.format(folder=tmp_path)} if pipe else {}

    run = subprocess.run([program("pounce-report"), "loss=1"], capture_output=True, text=True, timeout=60, env=env)

    assert run.returncode == 1 and says in run.stderr and run.stderr.count("\n") == 1


# ---- the form of a line ----

@pytest.mark.parametrize("line, content", [
    (b"loss=0.3 step=7", {"loss": 0.3, "step": 7}),
    (b"\tloss=1e3   val/acc=-.5 \r", {"loss": 1000.0, "val/acc": -0.5}),
    (b"loss=1 status=epoch 3 = of 4", {"loss": 1, "status": "epoch 3 = of 4"}),
    (b"status=\xff", {"status": "�"}),
    (b"file=/a b/c=d.png", {"file": "/a b/c=d.png"}),
    (b"n=123456789012345678901234567890", {"n": 1.2345678901234568e29}),
    (b"", {}), (b"  ", {}),
])
def test_a_line_says(line, content):
    assert read(line) == content


@pytest.mark.parametrize("line", [b"loss", b"loss=", b"=1", b"loss=1_0", b"loss=0x1", b"l\0=1", b"file=a", b"file=/\xff", b"a=1 b", b"x" * 101 + b"=1",
                                  "loss=٣".encode(), b"file=/a\0b"])
def test_a_line_of_another_form_is_wrong(line):
    with pytest.raises(WrongLine):
        read(line)


def test_a_python_program_writes_lines_that_read_the_same():
    content = {"loss": 0.1, "step": 3, "ok": True, "left_out": None, "text": "no number", "status": "epoch 3", "file": "/a.png"}

    lines = written(content).splitlines()

    assert {name: value for line in lines for name, value in read(line).items()} == {"loss": 0.1, "step": 3, "ok": 1, "status": "epoch 3", "file": "/a.png"}


def test_what_the_page_shows_runs(home):
    (example,) = blocks("docs/reports.md", "python")

    assert home.run(example).stdout == "{'loss': 0.5, 'step': 1, 'status': 'epoch 2 of 2'}\n"
