"""Handshakes, and hellos with proofs, byte by byte as docs/protocol.md §4 gives them."""

from __future__ import annotations

import hashlib
import hmac
import subprocess
import time

import zmq
from wire import PATIENCE_S, Peer, context, frame, pack
from zmq.utils.z85 import decode as z85_decode


def claim(daemon_key: str, own_key: str, role: str, subject: str) -> bytes:
    parts = [b"PNC-HELLO\0v1", z85_decode(daemon_key), z85_decode(own_key)]
    return b"".join(parts + [bytes([len(text)]) + text.encode() for text in (role, subject)])


def munge(payload: bytes, request: dict) -> bytes:
    words = ["munge", "--socket", request["munge_socket"], "--restrict-uid", str(request["uid"])]
    words += ["--ttl", str(request["ttl"])] if "ttl" in request else []
    return subprocess.run(words, input=payload, capture_output=True, check=True).stdout.strip()


def key_file(payload: bytes, secret: bytes) -> bytes:
    return hmac.new(secret, payload, hashlib.sha512).digest()[:32]  # HMAC-SHA512-256, libsodium's crypto_auth


def proof_for(request: dict, own_key: str) -> bytes:
    if "credential" in request:  # somebody else's
        return bytes.fromhex(request["credential"])
    payload = claim(request.get("audience", request["daemon_key"]), own_key, request["role"], request["subject"])
    if "payload" in request:
        payload = bytes.fromhex(request["payload"])
    if request["proof"] == "munge":
        return munge(payload, request)
    if request["proof"] == "key_file":
        if "key_file" in request:
            with open(request["key_file"], "rb") as file:
                return key_file(payload, file.read())
        return key_file(payload, bytes.fromhex(request["guessed_key"]))
    return b""


def handshake(request: dict) -> dict:
    """endpoint, server_key, mechanism, [keys]: only the handshake."""
    peer = Peer(request.get("keys"))
    try:
        return {"handshake": peer.connect(request["endpoint"], request.get("server_key", ""), request.get("mechanism", "curve"))}
    finally:
        peer.close()


def hello(request: dict) -> dict:
    """endpoint, daemon_key, role, subject, proof and what it needs; [claimed_key], [keys], [identity], [extra_frames], [wait_s],
    [patience_s]."""
    peer = Peer(request.get("keys"))
    patience_s = request.get("patience_s", PATIENCE_S)
    met = peer.connect(request["endpoint"], request["daemon_key"], identity=request.get("identity", ""), seconds=patience_s)
    proof = proof_for(request, peer.public)
    time.sleep(request.get("wait_s", 0))
    names = {"client": "session", "worker": "lease"}
    header = {"role": request["role"], "proof": request["proof"], "key": request.get("claimed_key", peer.public), "version": "mallory",
              names[request["role"]]: request["subject"], **request.get("header", {})}
    frames = [pack("hello", **header), proof] + [bytes(size) for size in request.get("extra_frames", [])]
    answer = peer.ask(frames, patience_s)
    link = peer.next_event(0.5) if answer is None else "open"
    peer.close()
    return {"handshake": met, "answer": answer, "link": link, "credential": proof.hex(), "keys": [peer.public, peer.secret]}


def strange_hello(request: dict) -> dict:
    """endpoint, daemon_key, frames: anything else in place of a hello."""
    peer = Peer()
    met = peer.connect(request["endpoint"], request["daemon_key"])
    answer = peer.ask([frame(of) for of in request["frames"]])
    link = peer.next_event(0.5) if answer is None else "open"
    peer.close()
    return {"handshake": met, "answer": answer, "link": link}


def imitate(request: dict) -> dict:
    """bind: an address. Poses as pounced (or as a worker) with another key; what spoke to it is the answer to `heard`."""
    public, secret = zmq.curve_keypair()
    router = context.socket(zmq.ROUTER)
    router.curve_server, router.curve_publickey, router.curve_secretkey = True, public, secret
    router.bind(request["bind"])
    IMITATIONS.append(router)
    return {"bound": router.last_endpoint.rstrip(b"\0").decode(), "key": public.decode()}


def heard(_: dict) -> dict:
    return {"heard": [router.recv_multipart()[-1].hex() for router in IMITATIONS for _ in range(100) if router.poll(0)]}


IMITATIONS: list[zmq.Socket] = []
REQUESTS = {"handshake": handshake, "hello": hello, "strange_hello": strange_hello, "imitate": imitate, "heard": heard}
