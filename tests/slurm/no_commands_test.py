"""pounce speaks libslurm: through a lease's whole life no program of ours executes a Slurm command.

Every execve of client, pounced, pounce-slurm and pouncectl is traced from the login node, and those of pounce-worker and its
interpreter from the node's slurmd on.
"""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest
from login_node import wait_until

SLURM_COMMANDS = {"sacct", "sacctmgr", "salloc", "sattach", "sbatch", "sbcast", "scancel", "scontrol", "sdiag", "sinfo",
                  "sprio", "squeue", "sreport", "srun", "sshare", "sstat", "strigger", "sview"}
LIFE = """
    import pounce, subprocess
    client = pounce.Client()
    report(result=client.options(gpus=1, class_="cheetah").submit({function}, 9).result(100))
    report(jobs=len(client.queue()))
    for words in (["status"], ["queue"], ["version", "--json"]):
        subprocess.run(["pouncectl", *words], check=True, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(client.queue()) and time.monotonic() < deadline:
        time.sleep(0.2)
    report(after=len(client.queue()))
    client.close()
"""


class Trace:
    def __init__(self, file: Path):
        self.text = file.read_text(errors="replace")

    def programs(self) -> set[str]:
        """Names of the programs that were really executed."""
        return {Path(path).name for path in re.findall(r'execve\("([^"]+)".*= 0$', self.text, re.M)}


def of_a_life(folder: Path, node: Path, alice, function: str = "abs") -> tuple[Trace, Trace, list]:
    """(what the login node's side executed, what the compute node's side executed, reports)."""
    script = folder / "life.py"
    prelude = "import json, os, time\ndef report(**f): print('REPORT ' + json.dumps(f), flush=True)\n"
    lines = [line.removeprefix("    ") for line in LIFE.format(function=function).splitlines()]
    script.write_text(prelude + "\n".join(lines))
    login = folder / "login.trace"
    login.touch()
    login.chmod(0o666)
    run = alice.start(["strace", "-f", "-s", "4096", "-e", "trace=execve", "-o", str(login), "python", str(script)])
    run.ended(120)
    return Trace(login), Trace(node), run.reports


def environment_of(pid: str) -> str:
    """Empty: the process has ended."""
    try:
        return Path(f"/proc/{pid}/environ").read_text().replace("\0", "\n")
    except (ProcessLookupError, FileNotFoundError):
        return ""


@pytest.fixture
def traced_node(quiet_cluster, tmp_path):
    """A file with every execve under the slurmds of a cluster of its own."""
    file = tmp_path / "node.trace"
    pids = subprocess.run(["pgrep", "-f", "slurmd -D -N g[12]"], capture_output=True, text=True, check=True).stdout.split()
    conf = f"SLURM_CONF=/opt/pounce-cluster-{quiet_cluster}/"
    ours = [pid for pid in pids if conf in environment_of(pid)]
    assert ours
    tracer = subprocess.Popen(["strace", "-f", "-s", "4096", "-e", "trace=execve", "-o", str(file),
                               *[word for pid in ours for word in ("-p", pid)]], stderr=subprocess.PIPE, text=True)
    for _ in ours:
        assert "attached" in tracer.stderr.readline()
    yield quiet_cluster, file
    tracer.send_signal(signal.SIGINT)
    tracer.communicate(timeout=20)


def test_no_program_of_ours_executes_a_slurm_command(traced_node, login_node, make_user):
    cluster, node_trace = traced_node
    alice = make_user(node=login_node(cluster), idle_release_s=2, daemon_idle_exit_s=1)

    login, node, reports = of_a_life(alice.folder, node_trace, alice)

    assert {"result": 9} in reports and {"jobs": 1} in reports and {"after": 0} in reports
    assert {"pounced", "pounce-slurm", "pouncectl"} <= login.programs()  # the trace saw them all
    assert "pounce-worker" in node.programs() and "pounce._worker" in node.text
    assert (login.programs() | node.programs()) & SLURM_COMMANDS == set()


def test_the_trace_would_have_shown_one(traced_node, login_node, make_user):
    cluster, node_trace = traced_node
    alice = make_user(node=login_node(cluster), idle_release_s=2, daemon_idle_exit_s=1)

    _, node, _ = of_a_life(alice.folder, node_trace, alice, "lambda n: __import__('os').system('sinfo >/dev/null') or n")

    assert wait_until(lambda: "sinfo" in node.programs(), 1, "the planted sinfo")
