"""A login node of the disposable cluster: a network namespace on its bridge, so that scenarios run side by side.

pounced names its instance by the network namespace among other things: every login node has daemons of its own, and
one scenario's killed daemon is nobody else's. A User runs programs there as an ordinary user.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
CLUSTER = ROOT / "packaging" / "cluster"
SHARED = int(os.environ.get("POUNCE_CLUSTER_ID", "0"))  # the cluster of all tests but those that stop its daemons

RELEASE = os.environ.get("POUNCE_CLUSTER_SLURM", "")  # of the clusters' Slurm; empty: the system's


def release_is_at_least(release: str) -> bool:
    return (RELEASE or "22.05") >= release


GPU_IN_SQUEUE = "gres/gpu" if release_is_at_least("23.11") else "gres:gpu"


def cluster_folder(cluster_id: int) -> Path:
    return Path(os.environ.get("POUNCE_CLUSTER_DIR") or ("/opt/pounce-cluster" + (f"-{cluster_id}" if cluster_id else "")))


_OWN_NUMBERS = range(20, 150)  # below: those that suites and people name; above: ports that Linux gives to connections


@contextlib.contextmanager
def own_cluster_number() -> Iterator[int]:
    """A cluster's number that nothing else on this machine has while the block runs: suites start clusters beside each other, and
    other runs of these tests may be under way. What a killed run left under it is ended first."""
    for number in _OWN_NUMBERS:
        lock = os.open(f"/run/lock/pounce-tests-{number}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        try:
            if cluster_folder(number).exists():
                subprocess.run([str(CLUSTER), "down"], check=True, env={**os.environ, "POUNCE_CLUSTER_ID": str(number)}, stdout=subprocess.DEVNULL)
            yield number
        finally:
            os.close(lock)
        return
    raise AssertionError(f"all of {_OWN_NUMBERS} are taken")


def built_helper(build: Path) -> list[Path]:
    """pounce-slurm for the cluster that is up, with the links to its library where it is not the system's."""
    if not RELEASE:
        return [build / "pounce-slurm"]
    (folder,) = cluster_folder(SHARED).glob("share/pounce/pounce-slurm/*/libslurm.so.*")
    return list(folder.iterdir())


# What a scenario script starts with: every line it reports is one JSON object on standard output.
PRELUDE = """
import faulthandler, json, os, signal, sys, time
faulthandler.enable()  # SIGABRT writes where each thread is
def report(**facts):
    print("REPORT " + json.dumps(facts), flush=True)
def error(e):
    return dict(type=type(e).__name__, text=str(e), context=dict(getattr(e, "context", {}) or {}))
"""


def wait_until(condition, seconds: float, what: str):
    """The condition's first true value; waits on the condition, never on a duration. One that takes long, such as a command's answer, is
    looked at more rarely: the processors are for what is waited for."""
    deadline = time.monotonic() + seconds
    while True:
        begun = time.monotonic()
        if value := condition():
            return value
        ended = time.monotonic()
        if ended > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(min(0.5, max(0.1, 3 * (ended - begun))))


def reports_in(text: str) -> list[dict]:
    """Those that are whole, each behind "REPORT "; the first at the beginning."""
    with contextlib.suppress(json.JSONDecodeError):
        report, end = json.JSONDecoder().raw_decode(text)
        return [report, *reports_in(text[end:].removeprefix("REPORT "))]
    return []


class Running:
    """A program a user has started."""

    def __init__(self, process: subprocess.Popen, log: Path):
        self.process, self.log = process, log

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def reports(self) -> list[dict]:
        # Not always at a line's beginning, and not always one to a line: unbuffered, a text and its newline are two writes.
        return [report for line in self.output.splitlines() for report in reports_in(line.partition("REPORT ")[2])]

    def reported(self, key: str, seconds: float = 60):
        """The value of `key` in the first report that has it."""

        def look():
            found = [r for r in self.reports if key in r]
            if not found and self.process.poll() is not None and not [r for r in self.reports if key in r]:
                raise AssertionError(f"ended with code {self.process.returncode} without reporting {key!r}:\n{self.output}")
            return found

        try:
            return wait_until(look, seconds, f"a report of {key!r}")[0][key]
        except AssertionError as late:
            if self.process.poll() is not None:
                raise
            raise AssertionError(f"{late}; so far:\n{self.output}{self.where_it_is()}") from None

    def ended(self, seconds: float = 90) -> Running:
        """Waits for the end; an end by error is the test's failure, with the output shown."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {seconds} s:\n{self.output}{self.where_it_is()}") from None
        assert code == 0, f"exit code {code}:\n{self.output}"
        return self

    def where_it_is(self) -> str:
        """Its processes and what they wait for, and the stacks of a scenario's threads; the scenario ends by this."""
        before, lines = len(self.output), [""]
        with contextlib.suppress(psutil.NoSuchProcess, OSError, subprocess.TimeoutExpired):  # it ends just now
            for one in [psutil.Process(self.process.pid), *psutil.Process(self.process.pid).children(recursive=True)]:
                waits_in = Path(f"/proc/{one.pid}/wchan").read_text()  # a function of the kernel
                lines.append(f"{one.pid} {one.status()} in {waits_in}: {' '.join(one.cmdline())[:200]}")
                if any(Path(word).name.startswith("scenario") for word in one.cmdline()):
                    one.send_signal(signal.SIGABRT)
            self.process.wait(10)
        return "\n".join([*lines, self.output[before:]])


_namespaces: list[int] = []  # of login nodes that are gone


class LoginNode:
    """One network namespace with an address on the cluster's bridge."""

    def __init__(self, number: int, cluster_id: int = SHARED):
        self.cluster_id = cluster_id
        self.name = f"pounce{cluster_id}-login{number}"
        self.address = f"10.77.{cluster_id}.{100 + number}"
        self.link = f"pl{cluster_id}x{number}"
        # Always the same: the host and the nodes still know the link of an earlier login node with this address.
        self.hardware = f"02:77:00:{cluster_id:02x}:00:{number:02x}"
        self.started: list[subprocess.Popen] = []
        self.own: dict[str, Path] = {}  # folders that it does not share with the other nodes
        self._logins: dict[str, list[str]] = {}  # user: the words that a command of theirs stands behind

    def keeps_to_itself(self, folder: str) -> Path:
        """From now on `folder` is this node's own, as a machine's own disk; returns where its files are for the test."""
        self.own[folder] = Path(tempfile.mkdtemp(prefix="pounce-disk-"))
        self.own[folder].chmod(0o1777)
        return self.own[folder]

    def connect(self) -> None:
        bridge, gateway = f"pounce{self.cluster_id}", f"10.77.{self.cluster_id}.254"
        ip = lambda *words: subprocess.run(["ip", *words], check=True)
        if Path("/run/netns", self.name).exists():
            self.disconnect()  # of a test run that was killed
        ip("netns", "add", self.name)
        ip("link", "add", self.link, "type", "veth", "peer", "name", "eth0", "address", self.hardware, "netns", self.name)
        ip("link", "set", self.link, "master", bridge, "up")
        ip("-n", self.name, "link", "set", "lo", "up")
        ip("-n", self.name, "address", "add", f"{self.address}/24", "dev", "eth0")
        ip("-n", self.name, "link", "set", "eth0", "up")
        for address in re.findall(r"^nameserver\s+((?!127\.)[0-9.]+)", Path("/etc/resolv.conf").read_text(), re.M):
            ip("-n", self.name, "route", "add", "unreachable", address)  # as in packaging/cluster.d/nodes.sh
        ip("-n", self.name, "route", "add", "default", "via", gateway)

    def pids(self) -> list[int]:
        found = subprocess.run(["ip", "netns", "pids", self.name], capture_output=True, text=True, check=True)
        return [int(word) for word in found.stdout.split()]

    def disconnect(self) -> None:
        for pid in self.pids():
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        for process in self.started:
            process.wait()
        # Kept open, so that no later namespace has its number: by that pounced knows where it runs, and it would take this
        # one's jobs and journal for its own.
        _namespaces.append(os.open(f"/run/netns/{self.name}", os.O_RDONLY | os.O_CLOEXEC))
        # The link first: a closing connection can hold the namespace, and so its link's name, after its deletion.
        subprocess.run(["ip", "link", "delete", self.link], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "netns", "delete", self.name], check=True)
        for folder in self.own.values():
            shutil.rmtree(folder)

    def command(self, user: str | None, words: list[str], environment: dict[str, str] | None = None) -> list[str]:
        settings = [f"{name}={value}" for name, value in (environment or {}).items()]
        unset = [w for name, value in (environment or {}).items() if value is None for w in ("-u", name)]
        settings = [s for s in settings if not s.endswith("=None")]
        mounts = "".join(f"mount --bind {source} {folder} && " for folder, source in self.own.items())
        apart = ["unshare", "--mount", "sh", "-c", mounts + 'exec "$@"', "sh"] if mounts else []
        return ["nsenter", f"--net=/run/netns/{self.name}", *apart, *self._login(user or "root"), "env", *unset, *settings, *words]

    def _login(self, user: str) -> list[str]:
        """As `cluster run` has it, which takes several times as long as what most commands do."""
        if user not in self._logins:
            env = {**os.environ, "POUNCE_CLUSTER_ID": str(self.cluster_id)}
            told = subprocess.run([str(CLUSTER), "run", "--words", "--as", user], env=env, check=True, capture_output=True, text=True)
            self._logins[user] = told.stdout.split("\0")[:-1]
        return self._logins[user]


class User:
    """An ordinary user (alice, bob, mallory; None: root) on a login node, with a pounced configuration of their own."""

    def __init__(self, node: LoginNode, user: str | None, **config):
        self.folder = Path(tempfile.mkdtemp(prefix="pounce-test-"))
        self.folder.chmod(0o755)
        if isinstance(config.get("policy"), dict):  # a site's, not a path
            (self.folder / "policy.json").write_text(json.dumps(config["policy"]))
            config = {**config, "policy": str(self.folder / "policy.json")}
        self.node, self.user, self.config = node, user, config
        self.config_file = self.folder / "pounced.json"
        self.config_file.write_text(json.dumps(config))
        self.count = 0

    def environment(self, extra: dict) -> dict:
        own = {"POUNCE_CONFIG": str(self.config_file)} if self.config else {}
        if self.node.cluster_id:
            own["POUNCE_CLUSTER_ID"] = str(self.node.cluster_id)
        return {**own, **extra}

    def start(self, words: list[str], **extra) -> Running:
        self.count += 1
        log = self.folder / f"{self.count}.log"
        env = dict(os.environ)
        if self.node.cluster_id:
            env["POUNCE_CLUSTER_ID"] = str(self.node.cluster_id)
        with log.open("wb") as sink:
            process = subprocess.Popen(self.node.command(self.user, words, self.environment(extra)), env=env,
                                       stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT)
        self.node.started.append(process)
        return Running(process, log)

    def python(self, source: str, **extra) -> Running:
        """Starts a script; functions of a script are pickled by value, as a notebook's are."""
        script = self.folder / f"scenario{self.count}.py"
        script.write_text(PRELUDE + textwrap.dedent(source))
        script.chmod(0o644)
        return self.start(["python", "-u", str(script)], **extra)

    def batch(self, source: str, options: str) -> Running:
        """Starts sbatch with a program that runs this Python. What that prints comes when its job has ended."""
        program, inside, out = self.folder / "program.sh", self.folder / "inside.py", f"{self.folder.name}.out"
        inside.write_text(source)
        program.write_text(f"#!/bin/sh\npython -u {inside}\n")
        for path in (program, inside):
            path.chmod(0o644)
        return self.start(["sh", "-c", f"cd && sbatch --wait --parsable {options} --output={out} {program}; cat {out}"])

    def run(self, *words: str, check: bool = True, **extra) -> str:
        env = dict(os.environ)
        if self.node.cluster_id:
            env["POUNCE_CLUSTER_ID"] = str(self.node.cluster_id)
        done = subprocess.run(self.node.command(self.user, list(words), self.environment(extra)), env=env,
                              capture_output=True, text=True, timeout=90)
        assert not check or done.returncode == 0, f"{words}: {done.stdout}\n{done.stderr}"
        return done.stdout

    def jobs(self, tag: str = "") -> list[dict]:
        """This user's jobs of pounce that Slurm still shows as queued, running or ending."""
        rows = self.run("squeue", "--noheader", "--me", "--format=%i|%T|%j|%k").splitlines()  # --states=R hides one with a flag beside it
        jobs = [dict(zip(("id", "state", "name", "comment"), row.split("|"), strict=True)) for row in rows]
        return [job for job in jobs if job["comment"].startswith(f"pounce:1:{tag}")]

    def endpoint(self) -> dict:
        return json.loads(self.run("pounced", "ensure").splitlines()[-1])
