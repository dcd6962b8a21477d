"""Many connections, many hellos, many bytes."""

from __future__ import annotations

import resource
import socket

import zmq
from raw import address
from wire import Peer, pack

HELD: list[socket.socket] = []


def half_open(request: dict) -> dict:
    """endpoints, count: connections that say nothing and stay until `let_go`."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    for number in range(request["count"]):
        HELD.append(socket.socket())
        HELD[-1].setblocking(False)
        HELD[-1].connect_ex(address(request["endpoints"][number % len(request["endpoints"])]))
    return {"held": len(HELD)}


def let_go(_: dict) -> dict:
    for one in HELD:
        one.close()
    HELD.clear()
    return {"held": 0}


def many_hellos(request: dict) -> dict:
    """endpoint, daemon_key, count, [header]: one connection, all at once; how they were answered."""
    peer = Peer()
    met = peer.connect(request["endpoint"], request["daemon_key"])
    peer.socket.sndhwm = peer.socket.rcvhwm = 0
    hello = pack("hello", role="client", proof="peer", key=peer.public, session="ab" * 16, **request.get("header", {}))
    answers = 0
    for _ in range(request["count"]):
        try:
            peer.socket.send_multipart([hello, b""], zmq.NOBLOCK)
        except zmq.Again:
            peer.socket.poll(50)
        while peer.socket.poll(0):
            peer.socket.recv_multipart()
            answers += 1
    peer.close()
    return {"handshake": met, "answers": answers}


def many_parts(request: dict) -> dict:
    """endpoint, daemon_key, mib: one message of parts of 8,000 bytes, as much of it as is taken."""
    peer = Peer()
    met = peer.connect(request["endpoint"], request["daemon_key"])
    peer.socket.sndtimeo = 3000
    try:
        peer.socket.send_multipart([bytes(8000)] * (request["mib"] * 1024 * 1024 // 8000), copy=False)
    except zmq.Again:
        pass
    link = peer.next_event(6)
    peer.close()
    return {"handshake": met, "link": link}


def names_of_the_next(request: dict) -> dict:
    """endpoint, daemon_key, starts, every, names, newcomers: takes the names that libzmq will give to later connections, then
    makes some. A ROUTER numbers them from a number of its own; who has a name of that number already ends the process."""
    named = []
    for start in request["starts"]:
        for number in range(request["names"]):
            named.append(Peer())
            name = (start + number * request["every"]) % 2**32
            named[-1].connect(request["endpoint"], request["daemon_key"], identity="00" + name.to_bytes(4, "big").hex(), seconds=2)
    met = []
    for _ in range(request["newcomers"]):
        newcomer = Peer()
        met.append(newcomer.connect(request["endpoint"], request["daemon_key"], seconds=2))
        newcomer.close()
    for one in named:
        one.close()
    return {"met": sorted(set(met))}


REQUESTS = {"names_of_the_next": names_of_the_next, "half_open": half_open, "let_go": let_go, "many_hellos": many_hellos,
            "many_parts": many_parts}
