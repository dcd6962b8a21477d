"""pouncectl before a real pounced with the local launcher: what it shows, what it gives back, what it finds wrong."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys

import cloudpickle
import pytest
from daemon_world import DEADLINE_S, program, wait

LONG = 3600  # no lease of these tests is given back by time


def ctl(home, *words: str, code: int = 0) -> str:
    done = home.run("pouncectl", *words)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout


@pytest.fixture
def kept(make_home, enter):
    """A client whose task waits for a worker that is never given back by time, and its home."""
    home = make_home(idle_release_s=LONG)
    client = enter(home.ensure())
    client.open_session(home.folder)
    client.demand(waiting=1, gpus=1)
    client.granted = client.wait_for("granted")
    return client, home


# ---- what it shows ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["status", "queue", "leases", "nodes"])
def test_it_never_starts_a_daemon(home, command):
    assert json.loads(ctl(home, command, "--json", code=3))["error"]["code"] == "daemon_unavailable"
    assert home.daemons() == []


def test_status_and_queue_show_the_daemon_and_its_leases(home, session):
    status = json.loads(ctl(home, "status", "--json"))
    assert status["pid"] == session.endpoint["pid"]
    assert status["leases"][0]["lease"] == session.granted["lease"]
    text = ctl(home, "status")
    assert session.granted["lease"][:8] in text and f"pid {os.getpid()}" in text and "\x1b" not in text
    queue = json.loads(ctl(home, "queue", "--json"))
    assert queue["jobs"][0]["lease"] == session.granted["lease"]
    assert "CPU standing in" in ctl(home, "queue")


def test_nodes_are_none_where_no_driver_tells_of_a_gpu(home, session):
    assert json.loads(ctl(home, "nodes", "--json")) == {"nodes": []}
    assert ctl(home, "nodes").startswith("no nodes: ")


def test_leases_shows_what_is_held_for_whom(home, session):
    head, row = ctl(home, "leases").splitlines()
    assert head.split()[:3] == ["LEASE", "ASKS", "STATE"]  # no class was named: no column for it
    for word in (session.granted["lease"][:8], "1 GPU", "busy", "CPU standing in", "1 waits", f"{home.folder} (pid {os.getpid()})"):
        assert word in row, word
    (lease,) = json.loads(ctl(home, "leases", "--json"))["leases"]
    assert lease["lease"] == session.granted["lease"] and lease["pid"] == os.getpid()
    assert lease["waiting"] == 1 and lease["age_s"] >= lease["state_s"] >= 0


def test_no_leases_is_said_in_words(home):
    home.ensure()
    assert "no leases" in ctl(home, "leases") and json.loads(ctl(home, "leases", "--json")) == {"leases": []}
    assert "no notebook" in ctl(home, "status")


def test_version_tells_its_parts(home):
    version = json.loads(ctl(home, "version", "--json"))
    assert version["pounce"] and version["protocol"] >= 1
    assert "libslurm" in version
    assert re.search(r"/libmunge[^/]*\.so\.\d", version["libmunge"])
    assert version["cloudpickle"] == cloudpickle.__version__


@pytest.mark.parametrize("command", ["status", "leases", "release", "cancel", "logs", "queue", "usage", "doctor", "setup", "rebuild", "version"])
def test_every_command_has_help_with_examples_and_exit_codes(home, command):
    text = ctl(home, command, "--help")
    assert f"pouncectl {command}" in text.partition("Examples:")[2] and "Exit codes:" in text


@pytest.mark.parametrize("words", [(), ("release",), ("release", "ab", "--all"), ("logs", "ab", "--daemon"), ("status", "ab")])
def test_wrong_usage_exits_2(home, words):
    ctl(home, *words, code=2)


def test_a_mistyped_command_is_answered_with_the_one_that_is_meant(home):
    done = home.run("pouncectl", "statsu")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("there is no command 'statsu'; did you mean 'status'?\n")


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_colours_are_for_terminals_without_no_color(home, session, no_color, coloured):
    ours, theirs = pty.openpty()
    subprocess.run([program("pouncectl"), "status"], stdout=theirs, check=True, timeout=DEADLINE_S,
                   env=home.environment | {"TERM": "xterm", "NO_COLOR": no_color})
    os.close(theirs)
    assert (b"\x1b[" in os.read(ours, 65536)) == coloured
    os.close(ours)


# ---- what it gives back -------------------------------------------------------------------------------------------------


def test_release_lets_a_lease_serve_its_tasks_first(kept):
    client, home = kept
    client.demand(waiting=0, running=1, gpus=1)
    text = ctl(home, "release", client.granted["lease"][:4])
    assert "as soon as it is idle" in text and "--now" in text
    assert "goes back when idle" in ctl(home, "leases")
    assert len(home.workers()) == 1
    client.demand(waiting=0, gpus=1)
    assert client.wait_for("lease_ended")["lease"] == client.granted["lease"]
    wait(lambda: not home.workers(), "the worker's end")


def test_release_gives_an_idle_lease_back_at_once(kept):
    client, home = kept
    client.demand(waiting=0, gpus=1)
    wait(lambda: json.loads(ctl(home, "leases", "--json"))["leases"][0]["state"] == "idle", "idleness")
    assert "its worker ends" in ctl(home, "release", "--all")
    assert client.wait_for("lease_ended")["error"]["code"] == "lease_ended"
    wait(lambda: not home.workers(), "the worker's end")


def test_release_now_ends_what_runs_and_what_waits_with_its_reason(kept):
    client, home = kept
    client.demand(waiting=1, running=1, gpus=1)
    (told,) = json.loads(ctl(home, "release", "--now", "--json", client.granted["lease"]))["leases"]
    assert told["lease"] == client.granted["lease"] and told["state"] == "draining"
    for message in ("request_failed", "lease_ended"):
        error = client.wait_for(message)["error"]
        assert error["code"] == "lease_ended" and error["cause"] == {"code": "released", "word": "pouncectl release --now"}
    wait(lambda: not home.workers(), "the worker's end")


def test_cancel_ends_all_of_a_session_and_of_no_other(kept, enter):
    client, home = kept
    other = enter(client.endpoint)
    other.open_session(home.folder)
    other.demand(waiting=1)
    other.wait_for("granted")
    ctl(home, "cancel", "--session", client.subject[:8])
    assert client.wait_for("lease_ended")["error"]["code"] == "job_cancelled"
    assert [lease["session"] for lease in json.loads(ctl(home, "leases", "--json"))["leases"]
            if lease["state"] == "busy"] == [other.subject]


def test_an_unknown_lease_is_answered_with_those_there_are(home, session):
    done = home.run("pouncectl", "release", "zz")
    assert done.returncode == 1
    assert '"zz"' in done.stderr and session.granted["lease"][:8] in done.stderr


# ---- logs ---------------------------------------------------------------------------------------------------------------


def test_logs_shows_the_daemons_log_with_and_without_a_daemon(home):
    endpoint = home.ensure()
    last = ctl(home, "logs", "--lines", "1")
    assert last.count("\n") == 1
    home.end_daemon(endpoint["pid"], signal.SIGTERM)
    told = json.loads(ctl(home, "logs", "--daemon", "--json"))
    assert told["log"] == endpoint["log"] and any("launcher=local" in line for line in told["lines"])


def test_logs_shows_what_a_leases_job_printed(home, session):
    log = home.state(session.endpoint) / "leases" / f"{session.granted['lease']}.log"
    wait(log.exists, "the job's log")
    assert ctl(home, "logs", session.granted["lease"][:6], "--lines", "100000") in log.read_text()
    done = home.run("pouncectl", "logs", "zz")
    assert done.returncode == 1 and session.granted["lease"][:8] in done.stderr


def test_logs_follows_what_comes(home, enter):
    client = enter(home.ensure())
    shown = home.folder / "shown"

    def seen():
        client.say("welcome", control=[], instance="", heartbeat_ms=1)  # refused: a line of the log, with its session
        return client.subject in shown.read_text()

    with shown.open("w") as sink:
        reader = subprocess.Popen([program("pouncectl"), "logs", "--follow", "--lines", "0"], env=home.environment, stdout=sink)
    try:
        wait(seen, "a line that came later")
    finally:
        reader.kill()
        reader.wait()


def test_logs_sends_nothing_to_a_terminal_that_acts_on_it(home, session):
    """A task prints what it likes: colours, and what clears the screen or passes for another line."""
    lease = session.granted["lease"]
    log = home.state(session.endpoint) / "leases" / f"{lease}.log"
    wait(log.exists, "the job's log")
    printed = b"\x1b]0;yours\x07\x1b[2Jmine\rours \xff\xe2\x80\xae\tend " + b"x" * 10_000
    shown = r"\x1b]0;yours\x07\x1b[2Jmine\x0dours \xff\xe2\x80\xae\tend " + "x" * 10_000 + "\n"

    with log.open("ab") as file:
        file.write(b"first " + printed + b"\n")
    command = [program("pouncectl"), "logs", lease, "--follow", "--lines", "1"]
    with subprocess.Popen(command, env=home.environment, stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout.readline() == "first " + shown
        with log.open("ab") as file:
            file.write(b"then " + printed)
            file.flush()
            file.write(b"\n")
        assert follower.stdout.readline() == "then " + shown
        follower.kill()
    assert ctl(home, "logs", lease, "--lines", "1") == "then " + shown


def test_logs_without_any_says_so(home):
    done = home.run("pouncectl", "logs")
    assert done.returncode == 3 and "no pounced has run here" in done.stderr


# ---- doctor -------------------------------------------------------------------------------------------------------------


def doctor(home, *words: str, code: int = 0) -> dict[str, dict]:
    found = json.loads(ctl(home, "doctor", "--json", "--python", sys.executable, *words, code=code))
    return {check["check"]: check for check in found["checks"]}


def test_doctor_finds_nothing_wrong_here(home):
    checks = doctor(home)
    assert {check["state"] for check in checks.values()} <= {"ok", "note"}
    assert "none runs" in checks["daemon"]["text"] and home.daemons() == []
    home.ensure()
    assert "answers" in doctor(home)["daemon"]["text"]


def test_doctor_prints_a_line_for_each_check_and_colours_none_in_a_pipe(home):
    text = ctl(home, "doctor", "--python", sys.executable)
    assert text.splitlines()[0].split()[:2] == ["ok", "programs"]
    assert text.splitlines()[-1] == "nothing is wrong" and "\x1b" not in text


def test_doctor_names_a_slurm_conf_that_is_not_there(home):
    home.config.write_text("{}")
    home.environment["SLURM_CONF"] = str(home.folder / "missing.conf")
    checks = doctor(home, code=1)
    assert checks["configuration"]["state"] == checks["slurm.conf"]["state"] == "wrong"
    assert "missing.conf" in checks["slurm.conf"]["text"] and "SLURM_CONF" in checks["slurm.conf"]["fix"]


def test_doctor_knows_another_projects_pounce(home):
    other = home.folder / "pounce.py"
    other.write_text("")
    home.environment["PYTHONPATH"] = str(home.folder)
    python = doctor(home, code=1)["Python"]
    assert python["state"] == "wrong" and str(other) in python["text"] and python["fix"] == f"Rename or remove {other}"


def test_doctor_takes_no_file_of_the_folder_where_somebody_stands_for_the_library(home):
    def python():
        said = home.run("pouncectl", "doctor", "--json", "--python", sys.executable, cwd=home.folder).stdout
        return next(check for check in json.loads(said)["checks"] if check["check"] == "Python")

    for name in ("email", "json", "logging", "random"):
        (home.folder / f"{name}.py").write_text("raise RuntimeError('the file beside the notebook')")
    assert python()["state"] == "ok"
    (home.folder / "pounce.py").write_text("")
    assert f"{home.folder}/pounce.py is another pounce" in python()["text"]


def test_doctor_refuses_a_runtime_folder_that_is_a_link(home):
    (home.runtime / "pounce").symlink_to(home.folder)
    runtime = doctor(home, code=1)["runtime folder"]
    assert runtime["state"] == "wrong" and "XDG_RUNTIME_DIR" in runtime["fix"]


def test_doctor_names_a_broken_configuration(home):
    home.config.write_text('{"idle_relase_s": 5}')
    configuration = doctor(home, code=1)["configuration"]
    assert configuration["state"] == "wrong" and "idle_relase_s" in configuration["text"] and configuration["fix"]


def test_doctor_does_not_wait_for_a_daemon_that_hangs(home):
    endpoint = home.ensure()
    os.kill(endpoint["pid"], signal.SIGSTOP)
    try:
        daemon = doctor(home, code=1)["daemon"]
    finally:
        os.kill(endpoint["pid"], signal.SIGCONT)
    assert daemon["state"] == "wrong" and str(endpoint["pid"]) in daemon["text"]
