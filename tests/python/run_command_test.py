"""``pouncectl run``: a program in a lease, as if it ran here."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from types import SimpleNamespace

import pytest
from pounce import command_line, errors
from pounce._worker import command, interpreter
from pounce.errors import BadRequest
from pounce.run_command import OPTIONS, page, parsed


def pouncectl() -> str:
    return shutil.which("pouncectl", path=os.environ.get("POUNCE_BUILD") or sysconfig.get_path("scripts"))


@pytest.fixture
def started(home):
    """Starts `pouncectl run` and ends it with the test."""
    running: list[subprocess.Popen] = []

    def start(*words: str, text: bool = True, program: list[str] | None = None) -> subprocess.Popen:
        command = [*(program or [pouncectl()]), "run", *words]
        path = os.pathsep.join([os.path.dirname(sys.executable), home.environment.get("PATH", "")])  # with our python
        running.append(subprocess.Popen(command, env={**home.environment, "PATH": path}, cwd=home.folder, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=text))
        return running[-1]

    yield start
    for process in running:
        with process:  # closes what was not read
            process.kill()


def ended(process: subprocess.Popen) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=90)
    return process.returncode, out, err


def test_output_exit_code_and_folder_are_the_program_s(home, started):
    code, out, err = ended(started("--", "sh", "-c", "pwd; echo to stderr >&2; exit 7"))
    assert (code, out, err) == (7, f"{home.folder}\n", "to stderr\n")


def test_words_behind_the_program_are_its_own(started):
    assert ended(started("--gpu", "1", "printf", "%s|", "--gpu", "a b", "--", "it's"))[:2] == (0, "--gpu|a b|--|it's|")


def test_bytes_that_are_no_text_come_as_they_are(started, tmp_path):
    data = bytes(range(256)) * 1000 + "ä€😀".encode()
    (tmp_path / "data").write_bytes(data)
    run = started("--", "sh", "-c", f"cat {tmp_path}/data; cat {tmp_path}/data >&2", text=False)
    assert run.communicate(timeout=90) == (data, data)


def test_where_nobody_reads_on_it_ends_as_a_program_in_a_pipe_does(started):
    run = started("--", "sh", "-c", "while echo more; do sleep 0.02; done", text=False)
    assert run.stdout.readline() == b"more\n"
    run.stdout.close()
    assert run.wait(60) == 128 + signal.SIGPIPE
    assert b"Error" not in run.stderr.read()


def test_a_signal_that_is_ignored_here_stays_ignored(started):
    run = started("--", "sh", "-c", "echo ready; sleep 0.3; exit 5", program=["nohup", pouncectl()])
    assert run.stdout.readline() == "ready\n"
    run.send_signal(signal.SIGHUP)
    assert ended(run)[0] == 5


def test_what_the_program_leaves_behind_ends_with_it_and_not_with_the_worker(monkeypatch, tmp_path):
    monkeypatch.setattr(interpreter, "core", SimpleNamespace(answer=time.sleep))
    assert command.run(["sh", "-c", f"sleep 1000 > /dev/null 2>&1 & echo $! > {tmp_path}/left; exit 3"]) == 3
    deadline = time.monotonic() + 30
    while is_alive(int((tmp_path / "left").read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_inside_a_job_it_leases_where_that_is_said(home, started):
    home.environment.update(SLURM_JOB_ID="7", SLURMD_NODENAME="g1", SLURM_CPUS_ON_NODE="1", SLURM_MEM_PER_NODE="4096")
    config, job = home.config.read_text(), home.environment.pop("POUNCE_CONFIG")
    home.config.unlink()
    code, _, err = ended(started("--gpu", "2", "--", "true"))
    assert code == 125 and "--lease leases beside it" in err, err
    home.environment["POUNCE_CONFIG"] = job
    home.config.write_text(config)
    assert ended(started("--lease", "--", "echo", "there"))[:2] == (0, "there\n")


def test_output_comes_while_it_runs(started, tmp_path):
    gate = tmp_path / "gate"
    run = started("--", "sh", "-c", f"echo first; while [ ! -e {gate} ]; do sleep 0.02; done; echo last")
    assert run.stdout.readline() == "first\n"
    gate.touch()
    assert ended(run)[:2] == (0, "last\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_goes_to_the_program_and_what_it_does_then_counts(started, number):
    run = started("--", "bash", "-c", f"trap 'echo got; exit 9' {int(number)}; echo ready; while :; do sleep 0.05; done")
    assert run.stdout.readline() == "ready\n"
    run.send_signal(number)
    assert ended(run)[:2] == (9, "got\n")


def test_a_program_that_a_signal_ends_is_told_as_a_shell_tells_it(started):
    run = started("--", "sh", "-c", "echo ready; exec sleep 100")
    assert run.stdout.readline() == "ready\n"
    run.terminate()
    assert ended(run)[0] == 128 + signal.SIGTERM


@pytest.mark.parametrize("words, code, said", [
    (["--", "no-such-program"], 127, "no-such-program: No such file"), (["--", "/"], 126, "/: Permission denied"),
    (["--", "/etc/passwd/x"], 126, "Not a directory"), (["--", "./no-program"], 126, "Exec format error"),
    (["--gup", "1", "--", "true"], 2, "there is no option --gup"), (["--gpu"], 2, "needs a value"), ([], 2, "no command"),
    (["--gpu", "99", "--", "true"], 125, "GPU")])
def test_what_cannot_run_says_why_with_the_usual_codes(home, started, words, code, said):
    (home.folder / "no-program").write_bytes(b"\0\1\2")
    (home.folder / "no-program").chmod(0o755)
    found, _, err = ended(started(*words))
    assert (found, said in err) == (code, True), err


def test_a_signal_while_it_waits_takes_the_request_back(home, started, tmp_path):
    never = tmp_path / "worker"
    never.write_text("#!/bin/sh\nexec sleep 1000\n")
    never.chmod(0o755)
    home.config.write_text(json.dumps({**json.loads(home.config.read_text()), "pounce_worker": str(never)}))
    run = started("--", "touch", str(tmp_path / "ran"))
    deadline = time.monotonic() + 60
    while not any(home.folder.glob(".local/state/pounce/*/*/leases/*.log")):  # its lease has been asked for
        assert time.monotonic() < deadline
        time.sleep(0.02)
    run.terminate()
    assert ended(run)[0] == 128 + signal.SIGTERM and not (tmp_path / "ran").exists()


def test_the_page_names_each_option():
    assert [word for word, option in OPTIONS.items() if option.help and f"{word} {option.value}" not in page()] == []


def test_what_follows_the_options_is_the_command():
    assert parsed(["--slurm", "a=1", "--slurm=b", "--spread", "--", "--x"]) == ({"--slurm": ["a=1", "b"], "--spread": True}, ["--x"])
    with pytest.raises(BadRequest):
        parsed(["--"])


@pytest.mark.parametrize(("error", "code"), [(errors.BadRequest("no run is named", "Name one."), 2), (errors.LeaseEnded("it went"), 1)])
def test_a_command_says_an_error_in_words_or_as_the_document_that_was_requested(capsys, error, code):
    def fails(words):
        raise error

    assert [command_line.answered("job", "", fails, words) for words in ([], ["x", "--json"])] == [code, code]

    said = capsys.readouterr()
    assert said.err == f"pouncectl job: {error}\n"
    assert json.loads(said.out)["error"] == {"code": error.code, "text": error.text, "remedy": error.remedy, "context": error.context}
