"""Bytes on a tcp port that are no ZeroMQ, or a wrong one; many ports at a time, each with all of them."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

GREETING = bytes([0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F])


def greeting(mechanism: bytes, major: int = 3, minor: int = 1, as_server: int = 0) -> bytes:
    return GREETING + bytes([major, minor]) + mechanism.ljust(20, b"\0") + bytes([as_server]) + bytes(31)


SAID = {
    "http": b"GET / HTTP/1.1\r\nHost: pounced\r\n\r\n",
    "tls": bytes.fromhex("16030100c8010000c40303") + bytes(192),
    "ssh": b"SSH-2.0-OpenSSH_9.2\r\n",
    "noise": bytes(range(256)) * 16,
    "zmtp 1": bytes([1, 0]) + bytes([5, 0]) + b"hell",
    "zmtp 2": GREETING + bytes([1, 5, 0, 0]) + bytes([0, 4]) + b"hell",
    "gssapi": greeting(b"GSSAPI") + bytes([4, 6, 5]) + b"HELLO",
    "null, at once a message": greeting(b"NULL") + bytes([4, 6, 5]) + b"READY" + bytes([0, 4]) + b"hell",
    "half a greeting": GREETING,
    "a greeting and nothing": greeting(b"CURVE"),
    "as the server": greeting(b"CURVE", as_server=1),
    "a command of 4 GiB": greeting(b"CURVE") + bytes([6, 0, 0, 0, 1, 0, 0, 0, 0]),
    "a message before the handshake": greeting(b"CURVE") + bytes([0, 4]) + b"hell",
    "an initiate first": greeting(b"CURVE") + bytes([6, 0, 0, 0, 0, 0, 0, 1, 1]) + b"\x08INITIATE" + bytes(248),
}


def address(endpoint: str) -> tuple[str, int]:
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    return host, int(port)


def one(endpoint: str, said: bytes, slowly: bool, outcome: dict) -> None:
    start = time.monotonic()
    with contextlib.suppress(OSError), socket.create_connection(address(endpoint), 5) as peer:
        peer.settimeout(12)
        for part in [said[at:at + 1] for at in range(len(said))] if slowly else [said]:
            peer.sendall(part)
            time.sleep(0.2 if slowly else 0)
        while got := peer.recv(65536):
            outcome["heard"] = outcome.get("heard", b"") + got
    outcome["seconds"] = time.monotonic() - start


def raw(request: dict) -> dict:
    """endpoints, said (a name of the table or {"hex"}), [slowly]: what each port answers, and after how long it hangs up."""
    said = bytes.fromhex(request["said"]["hex"]) if isinstance(request["said"], dict) else SAID[request["said"]]
    outcomes = [{"seconds": 99.0} for _ in request["endpoints"]]
    threads = [threading.Thread(target=one, args=(endpoint, said, request.get("slowly", False), outcome))
               for endpoint, outcome in zip(request["endpoints"], outcomes, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"longest_s": max(outcome["seconds"] for outcome in outcomes),
            "heard": max(len(outcome.get("heard", b"")) for outcome in outcomes)}


REQUESTS = {"raw": raw}
