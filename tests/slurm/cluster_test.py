"""The disposable cluster is what the other tests take it for: asked through Slurm's own commands."""

from __future__ import annotations

import json
import os
import re
import subprocess
import uuid
from pathlib import Path

import pytest
from login_node import SHARED, wait_until


@pytest.fixture
def run(cluster):
    """Runs a command in the cluster as a user, optionally inside a node's network namespace."""

    def run(*command: str, user: str = "root", node: str | None = None, stdin: str | None = None):
        place = ["--in", node] if node else []
        words = [str(cluster), "run", "--as", user, *place, "--", *command]
        return subprocess.run(words, input=stdin, capture_output=True, text=True, timeout=120)

    return run


@pytest.fixture
def ask(run):
    """The output of a command that must succeed."""

    def ask(*command: str, **where) -> str:
        answer = run(*command, **where)
        assert answer.returncode == 0, answer.stderr
        return answer.stdout.strip()

    return ask


@pytest.fixture
def status(cluster) -> dict:
    answer = subprocess.run([str(cluster), "status", "--json"], capture_output=True, text=True, timeout=60)
    assert answer.returncode == 0, answer.stdout
    return json.loads(answer.stdout)


def job_state(ask, job: str) -> str:
    return re.search(r"JobState=(\w+)", ask("scontrol", "show", "job", job)).group(1)


# ---- what is there ----


def test_both_nodes_are_up_with_the_promised_cpus_memory_and_gpus(ask):
    rows = ask("sinfo", "--noheader", "--Node", "--format=%N|%c|%m|%G").splitlines()
    assert rows == [
        "g1|32|131072|gpu:a100:4",
        "g2|32|131072|gpu:a100:2,gpu:a100_3g.20gb:2",
    ]


def test_each_class_has_the_limits_of_the_founding_documents(ask):
    rows = ask("sacctmgr", "-nP", "show", "qos", "format=name,maxwall,maxjobspu,maxtrespu").splitlines()
    assert {"cheetah|00:30:00|20|", "lion|1-00:00:00|4|", "tabby|12:00:00|1|"} <= set(rows)
    assert "panther|7-00:00:00|1|gres/gpu=0" in rows


@pytest.mark.parametrize("user", ["alice", "bob"])
def test_ordinary_users_have_all_classes_and_cheetah_by_default(ask, user):
    row = ask("sacctmgr", "-nP", "show", "assoc", f"user={user}", "format=account,qos,defaultqos")
    assert row == "ml|cheetah,lion,panther,tabby|cheetah"


def test_limits_are_readable_from_the_controller_by_an_ordinary_user(ask):
    text = ask("scontrol", "show", "assoc_mgr", "qos=cheetah", "flags=qos", user="alice")
    assert "MaxWallPJ=30" in text


def test_up_on_a_running_cluster_changes_nothing(cluster, status):
    again = subprocess.run([str(cluster), "up"], capture_output=True, text=True, timeout=60)
    assert "already up" in again.stdout
    after = json.loads(subprocess.run([str(cluster), "status", "--json"], capture_output=True, text=True).stdout)
    assert after["daemons"] == status["daemons"]


def test_a_node_on_which_a_job_is_just_ending_is_up(cluster, ask):
    job = ask("sbatch", "--parsable", "--output=/dev/null", "--wrap", "trap '' TERM; while :; do sleep 0.1; done", user="alice")
    wait_until(lambda: job_state(ask, job) == "RUNNING", 30, "it runs")
    ask("scancel", "--full", job, user="alice")
    wait_until(lambda: ask("squeue", "--noheader", "--jobs", job, "--format=%t") == "CG", 20, "it is ending")

    assert subprocess.run([str(cluster), "status"], capture_output=True, text=True).returncode == 0


def test_no_daemon_holds_a_descriptor_of_who_started_it(status):
    for name, pid in status["daemons"].items():
        files = {path.name: str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()}
        assert files["0"] == "/dev/null", name
        assert files["1"].startswith(status["dir"] + "/log/") and files["2"] == files["1"], name
        assert not [path for path in files.values() if path.startswith("/run/lock")], name


def test_the_host_keeps_its_hardware_address_when_a_login_node_with_a_lower_one_comes(cluster):
    """Else all who had learned that one find nobody, for half a minute, when the login node goes."""
    address = Path(f"/sys/class/net/pounce{SHARED}/address")
    before = address.read_text()
    subprocess.run(["ip", "link", "add", "lowest0", "address", "02:00:00:00:00:01", "type", "veth", "peer", "name", "lowest1"], check=True)
    try:
        subprocess.run(["ip", "link", "set", "lowest0", "master", f"pounce{SHARED}", "up"], check=True)
        assert address.read_text() == before
    finally:
        subprocess.run(["ip", "link", "delete", "lowest0"], check=True)


# ---- running as a user ----


def test_a_user_starts_at_home_with_a_clean_environment(ask):
    assert ask("sh", "-c", "pwd; id -un; id -Gn; umask", user="alice").split() == ["/home/alice", "alice", "alice", "0022"]
    names = {line.partition("=")[0] for line in ask("env", user="alice").splitlines()}
    assert not {name for name in names if name.startswith("SLURM_")} - {"SLURM_CONF"}


def test_exit_code_and_input_pass_through(run):
    assert run("sh", "-c", "exit 7", user="bob").returncode == 7
    assert run("tr", "a-z", "A-Z", user="bob", stdin="meow").stdout == "MEOW"


def test_a_home_is_closed_to_other_users(run):
    assert run("ls", "/home/alice", user="bob").returncode != 0


# ---- jobs ----


def test_a_batch_job_with_a_gpu_is_told_which_one(ask):
    output = f"/home/alice/gpu-{uuid.uuid4().hex}.out"
    ask("sbatch", "--wait", "--gres=gpu:a100:2", "--mem=100M", f"--output={output}", "--wrap", "echo $CUDA_VISIBLE_DEVICES",
        user="alice")
    devices = ask("cat", output, user="alice")
    ask("rm", output, user="alice")
    assert re.fullmatch(r"\d,\d", devices)


def test_a_slice_is_asked_for_by_its_name(ask):
    shown = ask("srun", "--gres=gpu:a100_3g.20gb:1", "--mem=100M", "sh", "-c", "echo $SLURMD_NODENAME", user="bob")
    assert shown == "g2"


def test_a_job_runs_as_its_user_and_nobody_more(ask):
    assert ask("srun", "--mem=100M", "id", "-un", user="alice") == "alice"


def test_panther_gives_no_gpu(ask):
    job = ask("sbatch", "--parsable", "--qos=panther", "--gres=gpu:1", "--mem=100M", "--wrap", "true", user="bob")
    try:
        reason = lambda: re.search(r"Reason=(\w+)", ask("scontrol", "show", "job", job)).group(1)
        wait_until(lambda: reason() == "QOSMaxGRESPerUser", 20, "the limit is the reason of waiting")
    finally:
        ask("scancel", job)


def test_a_user_without_an_association_is_refused(run):
    answer = run("sbatch", "--wrap", "true", user="mallory")
    assert answer.returncode != 0
    assert "Invalid account" in answer.stderr


def test_a_job_beyond_its_memory_ends_out_of_memory(ask):
    if "cgroup" not in ask("scontrol", "show", "config").partition("TaskPlugin ")[2].splitlines()[0]:
        pytest.skip("cgroups are not writable here: the cluster enforces no memory limits")
    eat = "python3 -c 'x = b\"x\" * (600 << 20)'"
    job = ask("sbatch", "--parsable", "--mem=200M", "--output=/dev/null", "--wrap", eat, user="alice")
    ends = ("OUT_OF_MEMORY", "COMPLETED", "FAILED", "CANCELLED")
    wait_until(lambda: job_state(ask, job) in ends, 60, f"the end of job {job}")
    assert job_state(ask, job) == "OUT_OF_MEMORY"


# ---- the network ----


def test_each_node_has_an_address_of_its_own(ask):
    shown = ask("srun", "--nodes=2", "--ntasks=2", "--label", "--mem=100M", "ip", "-brief", "-4", "address", "show", "eth0",
                user="alice")
    assert re.search(r"^0: .* 10\.77\.\d+\.1/24", shown, re.M)
    assert re.search(r"^1: .* 10\.77\.\d+\.2/24", shown, re.M)


# Listens on an address of its node's own, tells the port, answers who called.
LISTENER = """
import socket, sys
server = socket.create_server((sys.argv[1], 0))
server.settimeout(60)
print(server.getsockname()[1], flush=True)
visitor, address = server.accept()
visitor.sendall(address[0].encode())
"""
CALLER = "import socket, sys; print(socket.create_connection((sys.argv[1], int(sys.argv[2])), 10).recv(99).decode())"


def test_a_process_on_one_node_talks_tcp_to_one_on_the_other(cluster, ask, status):
    here, there = (status["nodes"][name]["address"] for name in ("g1", "g2"))
    words = [str(cluster), "run", "--as", "alice", "--in", "g2", "--", "python3", "-c", LISTENER, there]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as listener:
        port = listener.stdout.readline().strip()
        assert ask("python3", "-c", CALLER, there, port, user="bob", node="g1") == here
    assert listener.returncode == 0


def test_loopback_of_one_node_is_not_that_of_another(cluster, run):
    words = [str(cluster), "run", "--in", "g2", "--", "python3", "-c", LISTENER, "127.0.0.1"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as listener:
        port = listener.stdout.readline().strip()
        assert "ConnectionRefusedError" in run("python3", "-c", CALLER, "127.0.0.1", port, node="g1").stderr
        listener.terminate()


def test_it_comes_up_again_although_a_closing_connection_still_holds_the_old_network(cluster, quiet_cluster):
    env = {**os.environ, "POUNCE_CLUSTER_ID": str(quiet_cluster)}
    with open(f"/run/netns/pounce{quiet_cluster}-g1"):
        for command in ("down", "up"):
            done = subprocess.run([str(cluster), command], env=env, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
