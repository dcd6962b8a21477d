"""A worker's abstract Unix address (docs/protocol.md §11), spoken by hand."""

from __future__ import annotations

import json
import socket
import struct


def connect(key: str, in_line: bool = True) -> socket.socket:
    """`in_line`: waits while the line of those who were not accepted yet is full, as after a crowd; else that is an error."""
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    peer.settimeout(None if in_line else 3)
    peer.connect("\0pounce-worker/" + key)
    peer.settimeout(3)
    return peer


def message(*frames: bytes) -> bytes:
    return struct.pack(f"=I{len(frames)}Q", len(frames), *map(len, frames)) + b"".join(frames)


def said_by(peer: socket.socket, said: bytes) -> dict:
    """What comes back until the other end closes, or three seconds pass."""
    heard = b""
    try:
        if said:
            peer.sendall(said)
        while got := peer.recv(65536):
            heard += got
        return {"heard": heard.hex(), "closed": True}
    except (ConnectionResetError, BrokenPipeError):
        return {"heard": heard.hex(), "closed": True}
    except TimeoutError:
        return {"heard": heard.hex(), "closed": False}


def local(request: dict) -> dict:
    """key, [header] or [hex]: one connection that says that."""
    said = message(json.dumps(request["header"]).encode()) if "header" in request else bytes.fromhex(request.get("hex", ""))
    with connect(request["key"]) as peer:
        return said_by(peer, said)


def local_crowd(request: dict) -> dict:
    """key, connections: how many of them stand at the end."""
    peers = []
    try:
        for _ in range(request["connections"]):
            peers.append(connect(request["key"], in_line=False))
    except OSError as error:
        return {"stopped": type(error).__name__, "made": len(peers)}
    finally:
        for peer in peers:
            peer.close()
    return {"made": len(peers)}


REQUESTS = {"local": local, "local_crowd": local_crowd}
