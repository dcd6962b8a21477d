"""The server of the floors: ``python -m pounce_bench.server tcp|tcp-reused|zmq|zmq-plain|echo [address]``. It uses no code of pounce.

A request is a pickled ``(function, args, sizes)`` and the buffers of those sizes, received into one fresh array each;
the answer likewise. `tcp-reused` and `zmq-plain` (not encrypted) receive each large buffer into the memory of the last one
of its size. Any user of the machine can reach its port, and it unpickles what it receives. So the first line of its
standard input is a credential: the words that a TCP connection or one without encryption begins with, or the key of a CURVE
connection. Then it prints one line of JSON with its address; it ends with its standard input.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import pickle
import socket
import struct
import sys
import threading
from typing import Any

CHUNK = 1024 * 1024  # the frame size of the CURVE floor and of pounce: the cheapest one


def pack(value: Any) -> tuple[bytes, list[memoryview]]:
    buffers: list[pickle.PickleBuffer] = []
    body = pickle.dumps(value, 5, buffer_callback=buffers.append)
    raw = [buffer.raw() for buffer in buffers]
    return struct.pack("<QQ", len(body), len(raw)) + struct.pack(f"<{len(raw)}Q", *(b.nbytes for b in raw)) + body, raw


def unpack_head(head: bytes) -> tuple[bytes, list[int]]:
    length, count = struct.unpack_from("<QQ", head)
    sizes = list(struct.unpack_from(f"<{count}Q", head, 16))
    return head[16 + 8 * count : 16 + 8 * count + length], sizes


class Memory:
    """Where buffers are received: fresh memory for each, or the memory of the last large one of its size."""

    def __init__(self, reused: bool = False):
        self._reused: dict[int, Any] | None = {} if reused else None

    def of(self, size: int) -> Any:
        if self._reused is None or size < CHUNK:
            return _memory(size)
        if size not in self._reused:
            self._reused.clear()  # one size at a time
            self._reused[size] = _memory(size)
        return self._reused[size]


class TcpPeer:
    """Messages over one connection."""

    def __init__(self, connection: socket.socket, reuses: bool = False):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection, self._memory = connection, Memory(reuses)

    def send(self, value: Any) -> None:
        head, buffers = pack(value)
        self._connection.sendall(struct.pack("<Q", len(head)) + head)
        for buffer in buffers:
            self._connection.sendall(buffer)

    def receive(self) -> Any:
        (length,) = struct.unpack("<Q", self._exactly(8))
        body, sizes = unpack_head(bytes(self._exactly(length)))
        return pickle.loads(body, buffers=[self._exactly(size) for size in sizes])

    def _exactly(self, size: int) -> Any:
        data = self._memory.of(size)
        view, got = memoryview(data), 0
        while got < size:
            more = self._connection.recv_into(view[got:])
            if more == 0:
                raise EOFError
            got += more
        return data


class ZmqPeer:
    """Messages over one DEALER or ROUTER; large buffers in frames of CHUNK bytes, copied into one array."""

    _only: bytes | None = None  # the one route that is heard

    def __init__(self, zmq_socket: Any, routed: bool, reuses: bool = False):
        self._socket, self._routed, self._route, self._memory = zmq_socket, routed, b"", Memory(reuses)

    def admit(self, words: bytes) -> None:
        """Waits for the peer that says these words, and hears no other from then on."""
        while True:
            route, said = self._socket.recv_multipart()[:2]
            if hmac.compare_digest(said, words):
                self._only = self._route = route
                return

    def send(self, value: Any) -> None:
        head, buffers = pack(value)
        self._send([head])
        for buffer in buffers:
            for start in range(0, buffer.nbytes, CHUNK):
                self._send([buffer[start : start + CHUNK]], copy=False)

    def receive(self) -> Any:
        body, sizes = unpack_head(self._receive().bytes)
        return pickle.loads(body, buffers=[self._gather(size) for size in sizes])

    def _gather(self, size: int) -> Any:
        data = self._memory.of(size)
        view, got = memoryview(data), 0
        while got < size:
            frame = self._receive().buffer
            view[got : got + frame.nbytes] = frame
            got += frame.nbytes
        return data

    def _send(self, frames: list[Any], copy: bool = True) -> None:
        self._socket.send_multipart([self._route, *frames] if self._routed else frames, copy=copy)

    def _receive(self) -> Any:
        while True:
            frames = self._socket.recv_multipart(copy=False)
            if self._routed and self._only is not None and frames[0].bytes != self._only:
                continue
            if self._routed:
                self._route = frames[0].bytes
            return frames[-1]


def _memory(size: int) -> Any:
    if size < CHUNK:
        return bytearray(size)
    import numpy

    return numpy.empty(size, dtype=numpy.uint8)  # unlike a bytearray, it is not filled with zeros first


def curve_socket(zmq: Any, kind: int) -> tuple[Any, str]:
    """A socket with a new key pair, and its public key."""
    public, secret = zmq.curve_keypair()
    made = zmq.Context.instance().socket(kind)
    made.linger = 0
    made.curve_publickey, made.curve_secretkey = public, secret
    return made, public.decode()


class Admitted:
    """Tells ZeroMQ's authenticator the one CURVE key that may connect."""

    def __init__(self, key: str):
        self._key = key.encode()

    def callback(self, domain: str, key: bytes) -> bool:
        return hmac.compare_digest(key, self._key)


def connection_of(listener: socket.socket, words: bytes) -> socket.socket:
    """The first connection that begins with these words; the others are closed."""
    while True:
        connection, _ = listener.accept()
        connection.settimeout(5)
        with contextlib.suppress(OSError):
            if hmac.compare_digest(connection.recv(len(words), socket.MSG_WAITALL), words):
                connection.settimeout(None)
                return connection
        connection.close()


def serve(peer: Any) -> None:
    while True:
        function, args = peer.receive()
        peer.send(function(*args))


def main(kind: str, address: str = "127.0.0.1") -> None:
    credential = sys.stdin.readline().strip()
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    if kind in ("tcp", "tcp-reused"):
        listener = socket.create_server((address, 0))
        print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
        serve(TcpPeer(connection_of(listener, credential.encode()), kind == "tcp-reused"))
    import zmq
    if kind == "zmq-plain":
        router = zmq.Context.instance().socket(zmq.ROUTER)
        router.linger, router.router_mandatory = 0, True
        print(json.dumps({"port": router.bind_to_random_port(f"tcp://{address}")}), flush=True)
        peer = ZmqPeer(router, True, reuses=True)
        peer.admit(credential.encode())
        serve(peer)
    from zmq.auth.thread import ThreadAuthenticator

    router, key = curve_socket(zmq, zmq.ROUTER)
    authenticator = ThreadAuthenticator(router.context)
    authenticator.start()
    authenticator.configure_curve_callback("bench", Admitted(credential))
    router.curve_server, router.zap_domain = True, b"bench"
    router.router_mandatory = True  # waits when its queue is full, and drops nothing
    print(json.dumps({"port": router.bind_to_random_port(f"tcp://{address}"), "key": key}), flush=True)
    while kind == "echo":
        router.send_multipart(router.recv_multipart())
    serve(ZmqPeer(router, True))


if __name__ == "__main__":
    main(*sys.argv[1:])
