"""What goes over a bridge of the cluster: every frame, taken by a raw socket, put together again per TCP stream.

A payload that was cut into segments, sent again or taken in another order is found all the same.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import threading

ETH_P_ALL, SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_STATISTICS, PACKET_MR_PROMISC = 0x0003, 263, 1, 6, 1
SO_ATTACH_FILTER, SO_RCVBUFFORCE, BPF_RET = 26, 33, 6


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
    """All frames of one interface from `with` to stop()."""

    def __init__(self, interface: str):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 256 * 1024 * 1024)
        self.socket.bind((interface, 0))
        index = socket.if_nametoindex(interface)
        membership = struct.pack("iHH8s", index, PACKET_MR_PROMISC, 0, b"")
        self.socket.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, membership)
        self.socket.settimeout(0.2)
        self.frames: list[bytes] = []
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._take)

    def __enter__(self) -> Capture:
        self.thread.start()
        return self

    def _take(self) -> None:
        while True:
            try:
                self.frames.append(self.socket.recv(1 << 17))
            except TimeoutError:
                if self.stopping.is_set():
                    return

    def stop(self) -> Traffic:
        """Ends the capture; nothing may have been dropped, else absence would prove nothing."""
        self._end()
        _, dropped = struct.unpack("II", self.socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
        assert dropped == 0, f"{dropped} frames were dropped"
        return Traffic(self.frames)

    def _end(self) -> None:
        """Others go on talking on this interface: nothing of it is taken any more, and what is here already is read to its end."""
        take_nothing = ctypes.create_string_buffer(struct.pack("HBBI", BPF_RET, 0, 0, 0))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", 1, ctypes.addressof(take_nothing)))
        self.stopping.set()
        self.thread.join()

    def __exit__(self, *_) -> None:
        self._end()
        self.socket.close()
