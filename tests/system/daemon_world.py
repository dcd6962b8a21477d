"""A home folder with its pounced, and a client of the control channel in plain pyzmq: no pounce is imported.

Everything waits on conditions with a deadline, never for a duration.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import zmq
from zmq_contexts import end, new_context

DEADLINE_S = int(os.environ.get("POUNCE_TEST_DEADLINE_S", "30"))
HELLOS, HELLO_PATIENCE_MS = 3, 5000  # a hello is repeated, as programs do
SHORT = {
    "launcher": "local", "stand_in_gpus": 1, "heartbeat_ms": 200, "idle_release_s": 0.4, "drain_s": 5,
    "poll_min_s": 0.1, "poll_max_s": 0.4, "orphan_grace_s": 5, "worker_silence_s": 1, "reconcile_interval_s": 2,
}


def program(name: str) -> str:
    """Of $POUNCE_BUILD, a CMake build folder, else the installed one."""
    found = shutil.which(name, path=os.environ.get("POUNCE_BUILD") or sysconfig.get_path("scripts"))
    assert found, f"no {name}: set POUNCE_BUILD to a build folder, or install pounce for this interpreter"
    return found


def wait(condition, what: str):
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.01)
    raise AssertionError(f"not within {DEADLINE_S} s: {what}")


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Home:
    """A user's home of its own, so that nothing of another test, or of the user's, is in the way."""

    def __init__(self, folder: Path, **config):
        self.folder = folder
        self.config = folder / "pounced.json"
        self.config.write_text(json.dumps(SHORT | config))
        runtime = Path(f"/tmp/pt-{secrets.token_hex(4)}")  # short: a socket's path has 107 bytes
        runtime.mkdir(mode=0o700)
        self.runtime = runtime
        names = ("PATH", "LANG", "USER", "LOGNAME")
        self.environment = {name: os.environ[name] for name in names if name in os.environ}
        self.environment |= {"HOME": str(folder), "XDG_RUNTIME_DIR": str(runtime), "POUNCE_CONFIG": str(self.config)}

    def run(self, name: str, *arguments: str, **more) -> subprocess.CompletedProcess:
        options = {"capture_output": True, "text": True, "timeout": DEADLINE_S, "env": self.environment} | more
        return subprocess.run([program(name), *arguments], **options)

    def start(self, *arguments: str) -> subprocess.Popen:
        return subprocess.Popen([program("pounced"), "ensure", *arguments], env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def ensure(self, *arguments: str) -> dict:
        done = self.run("pounced", "ensure", *arguments)
        assert done.returncode == 0, (done.stdout, done.stderr)
        return json.loads(done.stdout)

    def failure(self, *arguments: str) -> dict:
        done = self.run("pounced", "ensure", *arguments)
        assert done.returncode == 1, (done.returncode, done.stdout, done.stderr)
        return json.loads(done.stdout)["error"]

    def state(self, endpoint: dict) -> Path:
        return Path(endpoint["log"]).parent

    def daemons(self) -> list[int]:
        """The processes that serve this home, by the configuration on their command line."""
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if b"serve" in words and str(self.config).encode() in words and running(int(entry.name)):
                    found.append(int(entry.name))
        return found

    def end_daemon(self, pid: int, how: signal.Signals) -> None:
        """Returns when it holds nothing: a dying process has lost its command line before its locks and sockets."""
        os.kill(pid, how)
        wait(lambda: not running(pid), "the daemon's end")

    def workers(self) -> list[int]:
        return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and self._is_worker(entry)]

    def _is_worker(self, entry: Path) -> bool:
        try:
            words = (entry / "cmdline").read_bytes()
        except OSError:
            return False
        return b"--endpoint-file" in words and str(self.folder).encode() in words and running(int(entry.name))

    def close(self):
        for pid in self.daemons() + self.workers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait(lambda: not self.daemons() and not self.workers(), "the end of the daemon and its workers")
        shutil.rmtree(self.runtime)


class ControlChannel:
    """One key: says hello at the handshake endpoint over ipc, then talks on the control channel."""

    def __init__(self, endpoint: dict, role: str = "client", subject: str | None = None):
        self.endpoint = endpoint
        self.subject = subject or secrets.token_hex(16 if role == "client" else 8)
        self.context = new_context()
        self.public, self.secret = zmq.curve_keypair()
        self.heard: list[dict] = []
        self.sockets: list[zmq.Socket] = []
        self.welcome = self.hello(role)
        self.socket = None
        if self.welcome["type"] == "welcome":
            self.socket = self.connect(self.welcome["control"][0])

    def connect(self, endpoint: str, watch: int = 0) -> zmq.Socket:
        socket = self.context.socket(zmq.DEALER)
        socket.sndtimeo, socket.rcvtimeo = 2000, DEADLINE_S * 1000
        socket.curve_publickey, socket.curve_secretkey = self.public, self.secret
        socket.curve_serverkey = self.endpoint["key"].encode()
        self.sockets.append(socket)
        if watch:
            self.sockets.append(socket.get_monitor_socket(watch))
        socket.connect(endpoint)
        return socket

    def hello(self, role: str, over: str = "ipc", **fields) -> dict:
        subject = {"session": self.subject, "lease": ""} if role == "client" else {"session": "", "lease": self.subject}
        header = {"role": role, "proof": "peer", "key": self.public.decode(), "version": "test"} | subject | fields
        endpoint = next(handshake for handshake in self.endpoint["handshake"] if handshake.startswith(over))
        for _ in range(HELLOS):
            handshake = self.connect(endpoint)
            handshake.send_multipart([pack("hello", **header), b""])
            answered = handshake.poll(HELLO_PATIENCE_MS) and json.loads(handshake.recv_multipart()[0])
            handshake.close()
            if answered:
                return answered
        raise AssertionError(f"{HELLOS} hellos at {endpoint} were not answered")

    def say(self, kind: str, **fields):
        self.socket.send_multipart([pack(kind, **fields)])

    def wait_for(self, kind: str, **fields) -> dict:
        """The first message of that kind, not taken before, with these fields; the others are kept."""
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            for message in self.heard:
                if message["type"] == kind and fields.items() <= message.items():
                    self.heard.remove(message)
                    return message
            if self.socket.poll(50):
                self.heard.append(json.loads(self.socket.recv_multipart()[0]))
            elif self.beats:
                self.say("beat", answer=False, sent_ns=1, clock_ns=0)
        raise AssertionError(f"no {kind} {fields} within {DEADLINE_S} s; heard {self.heard[-8:]}")

    beats = False  # True: a session that shows that it lives while it waits

    def open_session(self, directory: Path, session: str | None = None):
        self.beats = True
        path = Path(os.environ["POUNCE_BUILD"]) / "site" if "POUNCE_BUILD" in os.environ else None
        environment = {"PATH": os.environ["PATH"]} | ({"PYTHONPATH": str(path)} if path else {})
        self.say("open_session", session=session or self.subject, pid=os.getpid(), host="here",
                 directory=str(directory), interpreter=[sys.executable], environment=environment)

    def demand(self, waiting: int, running: int = 0, gpus: int = 0, holds: tuple[str, ...] = ()):
        resources = {"class": "", "gpus": gpus, "gpu_type": "", "cpus": 0, "memory_mib": 0, "time_min": 0}
        request = {"id": 1, "resources": resources, "waiting": waiting, "running": running, "holds": list(holds)}
        self.say("demand", session=self.subject, requests=[request])

    def close(self):
        end(self.context, self.sockets)


def pack(kind: str, **fields) -> bytes:
    return json.dumps({"v": 2, "type": kind, **fields}).encode()
