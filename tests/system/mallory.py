"""A stranger's program: plain pyzmq, written from docs/protocol.md; imports nothing of pounce.

Reads one JSON request on standard input, does it, prints one JSON answer. Run as mallory it is the attack; the same
program run as alice is the control that shows that the attack was done right. Requests are the functions below.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket as sockets
import subprocess
import sys
import time

import zmq
from zmq.utils.monitor import recv_monitor_message
from zmq.utils.z85 import decode as z85_decode

PATIENCE_S = 4  # longer than any handshake is given (docs/protocol.md §3)
HANDSHAKE = {
    zmq.EVENT_HANDSHAKE_SUCCEEDED: "succeeded",
    zmq.EVENT_HANDSHAKE_FAILED_AUTH: "refused",
    zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL: "refused",
    zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL: "refused",
    zmq.EVENT_DISCONNECTED: "cut",
}
context = zmq.Context()


def pack(kind: str, **fields) -> bytes:
    return json.dumps({"v": 2, "type": kind, **fields}).encode()


class Peer:
    """One DEALER with a key pair of its own (or a given one)."""

    def __init__(self, keys: list[str] | None = None):
        public, secret = keys or [key.decode() for key in zmq.curve_keypair()]
        self.public, self.secret = public, secret

    def connect(self, endpoint: str, server_key: str = "", mechanism: str = "curve", identity: str = "") -> str:
        """What became of the handshake: succeeded, refused, cut, or silence."""
        self.socket = context.socket(zmq.DEALER)
        self.socket.linger, self.socket.sndtimeo, self.socket.rcvtimeo = 0, 1000, PATIENCE_S * 1000
        if identity:
            self.socket.routing_id = bytes.fromhex(identity)
        if mechanism == "curve":
            self.socket.curve_publickey, self.socket.curve_secretkey = self.public.encode(), self.secret.encode()
            self.socket.curve_serverkey = server_key.encode()
        elif mechanism == "plain":
            self.socket.plain_username, self.socket.plain_password = b"alice", b"alice"
        self.monitor = self.socket.get_monitor_socket(sum(HANDSHAKE))
        self.socket.connect(endpoint)
        return self.next_event(PATIENCE_S)

    def next_event(self, seconds: float) -> str:
        if not self.monitor.poll(seconds * 1000):
            return "silence"
        return HANDSHAKE[recv_monitor_message(self.monitor)["event"]]

    def ask(self, frames: list[bytes]) -> dict | None:
        """The answer, or None when there is none: the connection was cut, or nobody spoke."""
        try:
            self.socket.send_multipart(frames)
            return json.loads(self.socket.recv_multipart()[0])
        except zmq.Again:
            return None

    def wait_for(self, kind: str, seconds: float = 60) -> dict:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.socket.poll(200):
                message = json.loads(self.socket.recv_multipart()[0])
                if message["type"] in (kind, "refused", "request_failed", "lease_ended"):
                    return message
            else:  # never as the answer to an answer: that once kept two processors busy
                self.socket.send_multipart([pack("beat", answer=False, sent_ns=1)])
        return {"type": f"no {kind} within {seconds} s"}


# ---- proofs, byte by byte as docs/protocol.md §4 gives them ------------------------------------------------------------


def claim(daemon_key: str, own_key: str, role: str, subject: str) -> bytes:
    parts = [b"PNC-HELLO\0v1", z85_decode(daemon_key), z85_decode(own_key)]
    return b"".join(parts + [bytes([len(text)]) + text.encode() for text in (role, subject)])


def munge(payload: bytes, munge_socket: str, uid: int) -> bytes:
    words = ["munge", "--socket", munge_socket, "--restrict-uid", str(uid)]
    return subprocess.run(words, input=payload, capture_output=True, check=True).stdout.strip()


def key_file(payload: bytes, secret: bytes) -> bytes:
    return hmac.new(secret, payload, hashlib.sha512).digest()[:32]  # HMAC-SHA512-256, libsodium's crypto_auth


def proof_for(request: dict, own_key: str) -> bytes:
    if "credential" in request:  # somebody else's
        return bytes.fromhex(request["credential"])
    payload = claim(request["daemon_key"], own_key, request["role"], request["subject"])
    if request["proof"] == "munge":
        return munge(payload, request["munge_socket"], request["uid"])
    if request["proof"] == "key_file":
        if "key_file" in request:
            with open(request["key_file"], "rb") as file:
                return key_file(payload, file.read())
        return key_file(payload, bytes.fromhex(request["guessed_key"]))
    return b""


# ---- requests ----------------------------------------------------------------------------------------------------------


def handshake(request: dict) -> dict:
    """endpoint, server_key, mechanism, [keys], [identity]: only the handshake."""
    peer = Peer(request.get("keys"))
    return {"handshake": peer.connect(request["endpoint"], request.get("server_key", ""), request["mechanism"])}


def hello(request: dict) -> dict:
    """endpoint, daemon_key, role, subject, proof and what it needs; [claimed_key], [keys], [identity], [extra_frames]."""
    peer = Peer(request.get("keys"))
    handshake = peer.connect(request["endpoint"], request["daemon_key"], identity=request.get("identity", ""))
    proof = proof_for(request, peer.public)
    names = {"client": "session", "worker": "lease"}
    header = pack("hello", role=request["role"], proof=request["proof"], key=request.get("claimed_key", peer.public),
                  version="mallory", **{names[request["role"]]: request["subject"]})
    frames = [header, proof] + [bytes(size) for size in request.get("extra_frames", [])]
    answer = peer.ask(frames)
    link = peer.next_event(0.5) if answer is None else "open"
    return {"handshake": handshake, "answer": answer, "link": link, "credential": proof.hex(),
            "keys": [peer.public, peer.secret]}


def enter(request: dict) -> dict:
    """unix: a path, as any program may try it."""
    try:
        with sockets.socket(sockets.AF_UNIX) as unix:
            unix.connect(request["unix"])
        return {"entered": True}
    except OSError as error:
        return {"entered": False, "error": type(error).__name__}


def imitate(request: dict) -> dict:
    """bind: an address. Poses as pounced (or as a worker) with another key and says who spoke to it."""
    public, secret = zmq.curve_keypair()
    router = context.socket(zmq.ROUTER)
    router.curve_server, router.curve_publickey, router.curve_secretkey = True, public, secret
    router.bind(request["bind"])
    say({"bound": router.last_endpoint.rstrip(b"\0").decode(), "key": public.decode()})
    sys.stdin.readline()  # until the one who asked has seen enough
    heard = []
    while router.poll(0):
        heard.append(router.recv_multipart()[-1].hex())
    return {"heard": heard}


def session(request: dict) -> dict:
    """endpoint, daemon_key, proof, python, pounce, directory, interpreter, environment: a whole client, to `attached`.

    Says what it got, then stays until standard input ends. As alice this is the control of every other request.
    """
    subject = os.urandom(16).hex()
    met = hello({**request, "role": "client", "subject": subject})
    if not met["answer"] or met["answer"]["type"] != "welcome":
        return met
    control = Peer(met["keys"])
    control.connect(met["answer"]["control"][0], request["daemon_key"])
    control.socket.send_multipart([pack("open_session", session=subject, pid=os.getpid(), host="here",
                                     directory=request["directory"], interpreter=request["interpreter"],
                                     environment=request["environment"])])
    requests = [{"id": 1, "resources": {"class": request["class"], "memory_mib": 200}, "waiting": 1, "running": 0, "holds": []}]
    control.socket.send_multipart([pack("demand", session=subject, requests=requests)])
    granted = control.wait_for("granted")
    if granted["type"] != "granted":
        return {"answer": granted}
    worker = Peer(met["keys"])
    worker.connect(granted["endpoint"], granted["key"])
    worker.socket.send_multipart([pack("attach", session=subject, pounce=request["pounce"], python=request["python"])])
    say({"granted": granted, "attached": worker.wait_for("attached"), "session": subject, "public": met["keys"][0],
         "control": met["answer"]["control"]})
    while not stdin_ended():
        control.socket.send_multipart([pack("beat", answer=False, sent_ns=1)])
        worker.socket.send_multipart([pack("beat", answer=False, sent_ns=1)])
        for peer in (control, worker):
            while peer.socket.poll(0):
                peer.socket.recv_multipart()
    control.socket.send_multipart([pack("close_session", session=subject)])
    return {"closed": control.socket.poll(300) == 0}


def stdin_ended() -> bool:
    poller = zmq.Poller()
    poller.register(sys.stdin.fileno(), zmq.POLLIN)
    return bool(poller.poll(500)) and not sys.stdin.readline()


def say(answer: dict) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    question = json.loads(sys.stdin.readline())
    say({"handshake": handshake, "hello": hello, "enter": enter, "imitate": imitate, "session": session}[question["question"]](question))
