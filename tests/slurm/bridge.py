"""What goes over a bridge of the cluster: every frame, taken by a raw socket, put together again per TCP stream.

A payload that was cut into segments, sent again or taken in another order is found all the same.
"""

from __future__ import annotations

import contextlib
import ctypes
import select
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import BinaryIO

ETH_P_ALL, SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_STATISTICS, PACKET_MR_PROMISC = 0x0003, 263, 1, 6, 1
SO_ATTACH_FILTER, SO_RCVBUFFORCE, BPF_RET = 26, 33, 6
LENGTH = struct.Struct("=I")  # before each frame, on its way to the test


class Traffic:
    """Streams by (source, source port, destination, destination port)."""

    def __init__(self, frames: list[bytes]):
        segments: dict[tuple, dict[int, bytes]] = {}
        for frame in frames:
            if parsed := tcp_segment(frame):
                stream, sequence, payload = parsed
                known = segments.setdefault(stream, {})
                if len(known.get(sequence, b"")) < len(payload):
                    known[sequence] = payload
        self.streams = {stream: join(parts) for stream, parts in segments.items()}

    def contains(self, needle: bytes) -> bool:
        return any(needle in data for data in self.streams.values())

    def streams_that_begin_with(self, what: bytes) -> int:
        return sum(data.startswith(what) for data in self.streams.values())

    def between(self, one: str, other: str) -> int:
        """Bytes between two addresses (or beginnings of addresses), both ways."""
        return sum(len(data) for (source, _, to, _), data in self.streams.items()
                   if source.startswith(one) and to.startswith(other) or source.startswith(other) and to.startswith(one))


def tcp_segment(frame: bytes):
    """(stream, sequence number, payload) of a frame with TCP over IPv4 and something in it."""
    if len(frame) < 54 or frame[12:14] != b"\x08\x00" or frame[23] != 6:
        return None
    header = 14 + (frame[14] & 15) * 4
    end = 14 + struct.unpack(">H", frame[16:18])[0]
    source_port, to_port, sequence = struct.unpack(">HHI", frame[header:header + 8])
    payload = frame[header + (frame[header + 12] >> 4) * 4:end]
    if not payload:
        return None
    stream = (socket.inet_ntoa(frame[26:30]), source_port, socket.inet_ntoa(frame[30:34]), to_port)
    return stream, sequence, payload


def join(parts: dict[int, bytes]) -> bytes:
    """In order of their numbers, which may wrap, what was sent twice once. Streams here are shorter than 2 GiB."""
    first = next(iter(parts))
    data, reached = bytearray(), None
    for sequence in sorted(parts, key=lambda number: (number - first + 2**31) % 2**32):
        payload = parts[sequence]
        known = 0 if reached is None else (reached - sequence) % 2**32
        if known < 2**31:  # else there is a gap before it
            payload = payload[known:]
        if payload:
            data += payload
            reached = (sequence + len(parts[sequence])) % 2**32
    return bytes(data)


class Capture:
    """All frames of one interface from `with` to stop(), taken by a process of its own: a thread of the test's would share
    Python's lock with it, and lose frames while the test searches memory."""

    def __init__(self, interface: str):
        self.interface = interface

    def __enter__(self) -> Capture:
        self.taken = tempfile.TemporaryFile()  # noqa: SIM115: closed by __exit__
        self.taker = subprocess.Popen([sys.executable, __file__, self.interface], stdin=subprocess.PIPE, stdout=self.taken, stderr=subprocess.PIPE)
        assert self.taker.stderr.readline() == b"taking\n"
        return self

    def stop(self) -> Traffic:
        """Ends the capture; nothing may have been dropped, else absence would prove nothing."""
        _, dropped = self.taker.communicate()  # it ends when its input does
        assert self.taker.returncode == 0 and int(dropped) == 0, f"{dropped.decode()} frames were dropped"
        self.taken.seek(0)
        return Traffic(list(frames_in(self.taken)))

    def __exit__(self, *_) -> None:
        self.taker.kill()
        self.taker.communicate()
        self.taken.close()


def frames_in(file: BinaryIO) -> Iterator[bytes]:
    while size := file.read(LENGTH.size):
        yield file.read(*LENGTH.unpack(size))


# ---- the process that takes them -----------------------------------------------------------------------------------------


def take(interface: str) -> None:
    """Writes frames to the standard output until the standard input ends, then how many were dropped to the standard error."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as packets:
        packets.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 256 * 1024 * 1024)
        packets.bind((interface, 0))
        membership = struct.pack("iHH8s", socket.if_nametoindex(interface), PACKET_MR_PROMISC, 0, b"")
        packets.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, membership)
        print("taking", file=sys.stderr, flush=True)
        while True:
            ready = select.select([packets, sys.stdin], [], [])[0]
            if packets in ready:
                put(packets.recv(1 << 17))
            elif sys.stdin in ready:
                break
        take_nothing_more(packets)
        put_what_is_here(packets)
        _, dropped = struct.unpack("II", packets.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
    sys.stdout.buffer.flush()
    print(dropped, file=sys.stderr)


def put(frame: bytes) -> None:
    sys.stdout.buffer.write(LENGTH.pack(len(frame)) + frame)


def take_nothing_more(packets: socket.socket) -> None:
    """Others go on talking on this interface: without this the end would never come."""
    nothing = ctypes.create_string_buffer(struct.pack("HBBI", BPF_RET, 0, 0, 0))
    packets.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", 1, ctypes.addressof(nothing)))


def put_what_is_here(packets: socket.socket) -> None:
    packets.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            put(packets.recv(1 << 17))


if __name__ == "__main__":
    take(sys.argv[1])
