"""Quantities that do not depend on how busy the machine is: wake-ups, reads and writes, bytes on the wire, memory touched.

Each function can run here or be submitted to a worker, which then answers for its own process.
"""

from __future__ import annotations

import os
import resource
import socket
import stat
import struct
from typing import NamedTuple

# struct tcp_info of linux/tcp.h: tcpi_bytes_acked (4.1) is what the peer has got
_BYTES_ACKED = 120


class Usage(NamedTuple):
    """Of one process, all its threads, since it began."""

    switches: int       # voluntary context switches: each is a sleep, and so a wake-up
    reads_writes: int   # read(2) and write(2): signals between threads, pipes; network traffic is not among them
    cpu_s: float
    peak_bytes: int     # the most memory it ever held

    def since(self, before: Usage) -> Usage:
        return Usage(self.switches - before.switches, self.reads_writes - before.reads_writes, self.cpu_s - before.cpu_s,
                     self.peak_bytes - before.peak_bytes)


def usage() -> Usage:
    own = resource.getrusage(resource.RUSAGE_SELF)
    with open("/proc/self/io") as file:
        io = dict(line.split(": ") for line in file.read().splitlines())
    return Usage(own.ru_nvcsw, int(io["syscr"]) + int(io["syscw"]), own.ru_utime + own.ru_stime, own.ru_maxrss * 1024)


def shared_bytes() -> int:
    """Of this process: memory that other processes can have too (memfds), mapped or not."""
    total = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("/memfd:pounce-object"):
                total += os.stat(int(name)).st_blocks * 512
        except OSError:  # closed meanwhile
            continue
    return total


def bytes_sent() -> int:
    """By this process over the TCP connections that it has open now: what its peers have acknowledged."""
    total = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            if not stat.S_ISSOCK(os.stat(int(name)).st_mode):
                continue
            with socket.socket(fileno=os.dup(int(name))) as own:
                if own.family in (socket.AF_INET, socket.AF_INET6) and own.type == socket.SOCK_STREAM:
                    info = own.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
                    total += struct.unpack_from("Q", info, _BYTES_ACKED)[0]
        except OSError:  # closed meanwhile, or a listener
            continue
    return total
