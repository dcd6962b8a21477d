"""A daemon and a client small enough to read, for tests of the real pounce-worker: plain pyzmq, no pounce imported.

`FakeDaemon` has a handshake endpoint and a control channel, accepts every key file proof and records what the supervisor says. `FakeClient` speaks
the data protocol. Both wait on conditions with a deadline, never for a duration.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import hmac
import json
import os
import pickle
import secrets
import shutil
import signal
import struct
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any

import zmq
from zmq.utils.monitor import recv_monitor_message
from zmq_contexts import end, new_context

DEADLINE_S = int(os.environ.get("POUNCE_TEST_DEADLINE_S", "30"))
LEASE = "00112233445566ff"


def pack(kind: str, **fields) -> bytes:
    return json.dumps({"v": 2, "type": kind, **fields}).encode()


class Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


xxh3 = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
xxh3.restype, xxh3.argtypes = Hash, [ctypes.c_char_p, ctypes.c_size_t]


def digest(payload: bytes) -> str:
    """XXH3-128, by which functions are named."""
    hashed = xxh3(payload, len(payload))
    return f"{hashed.high:016x}{hashed.low:016x}"


class Key:
    def __init__(self):
        self.public, self.secret = zmq.curve_keypair()

    @property
    def text(self) -> str:
        return self.public.decode()


def in_its_run(epoch: int) -> int:
    """Interpreters are counted anew in each run of a requeued job, from so many on."""
    return epoch % 1_000_000


class FakeDaemon:
    def __init__(self, folder: Path, heartbeat_ms: int = 200):
        self.folder, self.heartbeat_ms = folder, heartbeat_ms
        self.key, self.context = Key(), new_context()
        self.zap = self.context.socket(zmq.REP)
        self.zap.bind("inproc://zeromq.zap.01")
        self.handshake, self.handshake_endpoint = self._server()
        self.control, self.control_endpoint = self._server()
        self.route: bytes | None = None  # of the supervisor, on the control channel
        self.heard: list[dict] = []      # everything it said on the control channel, in order
        self.hellos: list[dict] = []
        self.answer_beats = True
        self.sockets: list[zmq.Socket] = []  # of clients, kept until all are closed
        self.key_file = folder / "key"
        if not self.key_file.exists():  # else that of the daemon before this one
            self.key_file.write_bytes(secrets.token_bytes(32))
        self.key_file.chmod(0o600)
        folder.chmod(0o700)
        self.publish()

    def _server(self):
        socket = self.context.socket(zmq.ROUTER)
        socket.curve_server, socket.curve_secretkey, socket.curve_publickey = True, self.key.secret, self.key.public
        socket.zap_domain = b"fake"
        port = socket.bind_to_random_port("tcp://127.0.0.1")
        return socket, f"tcp://127.0.0.1:{port}"

    def publish(self, seal: str | None = None):
        """The endpoint file: a statement, and under it a seal, by default ours."""
        statement = json.dumps({
            "v": 1, "instance": "aabbccddeeff", "cluster": "fake", "pid": os.getpid(), "uid": os.getuid(),
            "key": self.key.text, "handshake": ["ipc:///nowhere", self.handshake_endpoint], "munge_socket": "",
            "proof": "key_file", "key_file": str(self.key_file), "launcher": "local", "version": "0.1.0", "log": "",
        })
        fresh = self.folder / "endpoint.new"
        fresh.write_text(f"{statement}\n{self.seal(statement) if seal is None else seal}\n")
        fresh.rename(self.folder / "endpoint")

    def seal(self, statement: str) -> str:
        digest = hashlib.blake2b(f"{len(statement)}:{statement}".encode(), digest_size=32).digest()
        return hmac.new(self.key_file.read_bytes(), b"PNC-SEAL\0v1" + digest, "sha512").digest()[:32].hex()

    def turn(self, timeout_ms: int = 20):
        poller = zmq.Poller()
        for socket in (self.zap, self.handshake, self.control):
            poller.register(socket, zmq.POLLIN)
        for socket, _ in poller.poll(timeout_ms):
            frames = socket.recv_multipart()
            if socket is self.zap:
                version, request = frames[0], frames[1]
                socket.send_multipart([version, request, b"200", b"OK", b"", b""])
            elif socket is self.handshake:
                self.hellos.append(json.loads(frames[1]))
                welcome = pack("welcome", control=["ipc:///nowhere", self.control_endpoint], instance="aabbccddeeff",
                               heartbeat_ms=self.heartbeat_ms)
                socket.send_multipart([frames[0], welcome])
            else:
                self._in_control(frames)

    def _in_control(self, frames):
        message = json.loads(frames[1])
        self.route = frames[0]
        if message["type"] == "beat" and self.answer_beats and not message["answer"]:
            self.say(pack("beat", answer=True, sent_ns=message["sent_ns"], clock_ns=1))
        self.heard.append(message)

    def say(self, message: bytes):
        self.control.send_multipart([self.route, message])

    def all(self, kind: str) -> list[dict]:
        return [message for message in self.heard if message["type"] == kind]

    def wait(self, condition, what: str):
        """Serves until condition() is true; its value."""
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            value = condition()
            if value:
                return value
            self.turn()
        raise AssertionError(f"not within {DEADLINE_S} s: {what}; heard {[m['type'] for m in self.heard][-12:]}")

    def wait_for(self, kind: str, count: int = 1) -> dict:
        return self.wait(lambda: len(self.all(kind)) >= count and self.all(kind)[count - 1], f"{count} x {kind}")

    def ready(self, epoch: int = 0) -> dict:
        """Waits for the announcement of that interpreter of this run of the job, in worker_up if it was the first to be ready."""
        def found():
            ups = self.all("interpreter_up") + [up for up in self.all("worker_up") if up["interpreter_ready"]]
            return [up for up in ups if in_its_run(up["epoch"]) == epoch]

        return self.wait(found, f"an interpreter of epoch {epoch}")[0]

    def close(self):
        end(self.context, [*self.sockets, self.handshake, self.control, self.zap])


class FakeClient:
    """One session on one worker."""

    messages = 0  # as they came: several may be one

    def __init__(self, daemon: FakeDaemon, session: str | None = None, key: Key | None = None):
        self.daemon, self.key = daemon, key or Key()
        self.session = session or secrets.token_hex(16)
        self.heard: list[list[bytes]] = []
        self.said = 0  # beats
        daemon.say(pack("admit", lease=LEASE, session=self.session, key=self.key.text))

    def connect(self, endpoint: str, key: str, until: str = "attached", **versions: Any) -> FakeClient:
        """Until the worker admits us and answers: our introduction comes to it on another way and may be later."""
        self.open(endpoint, key)
        self.attach(**versions)

        def answered():
            while self.events.poll(0):
                if recv_monitor_message(self.events)["event"] == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
                    self.socket.close()  # such a socket never tries again
                    self.open(endpoint, key)
                    self.attach(**versions)
            return self.all(until)

        self.wait(answered, until)
        return self

    def open(self, endpoint: str, key: str):
        self.socket = self.daemon.context.socket(zmq.DEALER)
        self.socket.sndtimeo = DEADLINE_S * 1000
        self.socket.rcvhwm = 16  # so that what overtakes 300 MiB does so however late this process looks
        self.socket.curve_serverkey = key.encode()
        self.socket.curve_publickey, self.socket.curve_secretkey = self.key.public, self.key.secret
        self.events = self.socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_DISCONNECTED)
        self.socket.connect(endpoint)
        self.daemon.sockets += [self.socket, self.events]

    def wait_until_cut(self):
        def cut():
            while self.events.poll(0):
                if recv_monitor_message(self.events)["event"] == zmq.EVENT_DISCONNECTED:
                    return True
            return False

        self.wait(cut, "the end of the connection")

    def attach(self, python: str = f"{sys.version_info.major}.{sys.version_info.minor}", pounce: str = "0.1.0",
               **more: Any):
        with contextlib.suppress(zmq.Again):  # refused before this was sent: such a socket has nobody to send to, for ever
            self.say(pack("attach", session=self.session, pounce=pounce, python=python, cloudpickle="", no_bulk=True, **more), wait=False)

    def say(self, *frames, wait: bool = True):
        self.socket.send_multipart(list(frames), 0 if wait else zmq.DONTWAIT, copy=False)

    def send_function(self, function, pickled: bytes | None = None) -> str:
        import cloudpickle

        payload = pickled or cloudpickle.dumps(function)
        identity = digest(payload)
        self.say(pack("function", function=identity), payload)
        return identity

    def submit(self, function, *args, **kwargs) -> str:
        return self.submit_known(self.send_function(function), *args, **kwargs)

    def submit_known(self, function: str, *args, objects=(), task: str | None = None, attempt: int = 0, **kwargs) -> str:
        task = task or secrets.token_hex(16)
        buffers = []
        data = pickle.dumps((args, kwargs), 5, buffer_callback=buffers.append)
        self.say(pack("task", task=task, function=function, objects=list(objects), attempt=attempt), data,
                 *[buffer.raw() for buffer in buffers])
        return task

    def turn(self, timeout_ms: int = 20):
        if self.socket.poll(timeout_ms):
            while self.socket.poll(0):
                self.messages += 1
                self.heard += unpacked(self.socket.recv_multipart())

    def all(self, kind: str, **fields) -> list[tuple[dict, list[bytes]]]:
        found = []
        for frames in self.heard:
            header = json.loads(frames[0])
            if header["type"] == kind and all(header.get(name) == value for name, value in fields.items()):
                found.append((header, frames[1:]))
        return found

    def wait(self, condition, what: str):
        def looked():
            self.turn(1)
            return condition()

        return self.daemon.wait(looked, what)

    def wait_for(self, kind: str, **fields) -> tuple[dict, list[bytes]]:
        return self.wait(lambda: (self.all(kind, **fields) or [None])[0], f"{kind} {fields}")

    def outcome(self, task: str) -> tuple[dict, list[bytes]]:
        return self.wait_for("outcome", task=task)

    def result(self, task: str):
        header, frames = self.outcome(task)
        assert header["ok"], header["error"]
        return pickle.loads(frames[0], buffers=frames[1:])

    def acknowledge(self, task: str):
        """And the worker has read it: what pounced says to it travels another way."""
        self.said += 1
        self.say(pack("ack", tasks=[task]))
        self.say(pack("beat", answer=False, sent_ns=self.said))
        self.wait_for("beat", answer=True, sent_ns=self.said)

    def error(self, task: str) -> dict:
        header, _ = self.outcome(task)
        assert not header["ok"]
        return header["error"]

    def printed(self, task: str, stream: str = "stdout") -> str:
        return b"".join(frames[0] for _, frames in self.all("output", task=task, stream=stream)).decode()


def packed(messages: list[list[bytes]]) -> list[bytes]:
    """Several messages as one (docs/protocol.md, 6.2)."""
    parts = []
    for frames in messages:
        parts.append(struct.pack("<I", len(frames)))
        for frame in frames:
            parts += [struct.pack("<I", len(frame)), frame]
    return [pack("several", messages=len(messages)), b"".join(parts)]


def unpacked(frames: list[bytes]) -> list[list[bytes]]:
    header = json.loads(frames[0])
    if header["type"] != "several":
        return [frames]
    data, at, messages = frames[1], 0, []
    for _ in range(header["messages"]):
        (count,) = struct.unpack_from("<I", data, at)
        at += 4
        message = []
        for _ in range(count):
            (size,) = struct.unpack_from("<I", data, at)
            message.append(data[at + 4 : at + 4 + size])
            at += 4 + size
        messages.append(message)
    assert at == len(data)
    return messages


def worker_program() -> str:
    """pounce-worker of $POUNCE_BUILD, else the installed one beside the interpreter."""
    build = os.environ.get("POUNCE_BUILD")
    found = shutil.which("pounce-worker", path=build or sysconfig.get_path("scripts"))
    assert found, "no pounce-worker: set POUNCE_BUILD to a CMake build directory, or install pounce for this interpreter"
    return found


def package_path() -> dict[str, str]:
    """Where a build directory is tested, its package: the sources with the built module."""
    build = os.environ.get("POUNCE_BUILD")
    return {"PYTHONPATH": str(Path(build) / "site")} if build else {}


class RealWorker:
    """The real pounce-worker with the real interpreter, in the role of a job's first process."""

    def __init__(self, daemon: FakeDaemon, folder: Path, *options: str, interpreter=(sys.executable,), workers: int = 1,
                 **environment: str):
        self.log = folder / "lease.log"
        self.directory = folder / "notebook"
        self.directory.mkdir(exist_ok=True)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("POUNCE_")}
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [worker_program(), "serve", "--lease", LEASE, "--workers", str(workers), "--handshake", daemon.handshake_endpoint,
                 "--daemon-key", daemon.key.text, "--proof", "key_file", "--key-file", str(daemon.key_file),
                 "--endpoint-file", str(daemon.folder / "endpoint"), "--heartbeat-ms", str(daemon.heartbeat_ms),
                 *options, "--", *interpreter],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory,
                env={**inherited, **package_path(), **environment},
            )

    def tree(self) -> list[int]:
        """The living processes below the supervisor."""
        children: dict[int, list[int]] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    after_name = (entry / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                if after_name[0] != "Z":
                    children.setdefault(int(after_name[1]), []).append(int(entry.name))
        found = [self.process.pid]
        for pid in found:
            found.extend(children.get(pid, []))
        return found[1:]

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise
