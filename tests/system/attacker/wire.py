"""A peer of ZeroMQ with CURVE, and the frames of a message."""

from __future__ import annotations

import json
import time

import zmq
from zmq.utils.monitor import recv_monitor_message

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


def frame(of: str | dict) -> bytes:
    """Text as it is; {"type": …} a header; {"hex": …}; {"text": …, "times": …}."""
    if isinstance(of, str):
        return of.encode()
    if "hex" in of:
        return bytes.fromhex(of["hex"])
    if "times" in of:
        return of["text"].encode() * of["times"]
    return json.dumps({"v": 2, **of}).encode()


def say(answer: dict) -> None:
    print(json.dumps(answer), flush=True)


class Peer:
    """One DEALER with a key pair of its own (or a given one)."""

    def __init__(self, keys: list[str] | None = None):
        self.public, self.secret = keys or [key.decode() for key in zmq.curve_keypair()]

    def connect(self, endpoint: str, server_key: str = "", mechanism: str = "curve", identity: str = "",
                seconds: float = PATIENCE_S) -> str:
        """What became of the handshake: succeeded, refused, cut, or silence."""
        self.socket = context.socket(zmq.DEALER)
        self.socket.linger, self.socket.sndtimeo, self.socket.rcvtimeo = 0, 1000, PATIENCE_S * 1000
        self.socket.reconnect_ivl = 300
        if identity:
            self.socket.routing_id = bytes.fromhex(identity)
        if mechanism == "curve":
            self.socket.curve_publickey, self.socket.curve_secretkey = self.public.encode(), self.secret.encode()
            self.socket.curve_serverkey = server_key.encode()
        elif mechanism == "plain":
            self.socket.plain_username, self.socket.plain_password = b"alice", b"alice"
        self.monitor = self.socket.get_monitor_socket(sum(HANDSHAKE))
        self.socket.connect(endpoint)
        return self.next_event(seconds)

    def next_event(self, seconds: float) -> str:
        if not self.monitor.poll(seconds * 1000):
            return "silence"
        return HANDSHAKE[recv_monitor_message(self.monitor)["event"]]

    def ask(self, frames: list[bytes], seconds: float = PATIENCE_S) -> dict | None:
        """The answer, or None when there is none: the connection was cut, or nobody spoke."""
        try:
            self.socket.send_multipart(frames)
            deadline = time.monotonic() + seconds
            while not self.socket.poll(20):
                if self.monitor.poll(0) or time.monotonic() > deadline:
                    return None
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

    def close(self) -> None:
        self.socket.disable_monitor()
        self.monitor.close(0)
        self.socket.close(0)
