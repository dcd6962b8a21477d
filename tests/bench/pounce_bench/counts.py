"""Quantities that do not depend on the machine's load: wake-ups, reads and writes, bytes on the wire, memory touched.

Each function can run here or be submitted to a worker, where it measures the worker's process.
"""

from __future__ import annotations

import os
import resource
import socket
import stat
import struct
from typing import NamedTuple

# struct tcp_info of linux/tcp.h: tcpi_bytes_acked (4.1) is what the peer has received
_BYTES_ACKED = 120


class Usage(NamedTuple):
    """The usage of one process with all its threads, since it began."""

    switches: int         # voluntary context switches: each is a sleep, and so a wake-up
    zeromq_switches: int  # those of ZeroMQ's own threads among them
    page_faults: int      # served without a disk
    bytes_written: int    # by write(2) and pwrite(2), memory that processes share included; not by sockets
    reads_writes: int     # read(2) and write(2): signals between threads, pipes; network traffic is not among them
    cpu_s: float
    memory_bytes: int     # resident now
    peak_bytes: int       # largest resident size since the last usage(); on a worker since the task began

    def since(self, before: Usage) -> Usage:
        """The difference. `peak_bytes`: by how much the peak exceeds the memory before."""
        return Usage(self.switches - before.switches, self.zeromq_switches - before.zeromq_switches,
                     self.page_faults - before.page_faults, self.bytes_written - before.bytes_written,
                     self.reads_writes - before.reads_writes, self.cpu_s - before.cpu_s,
                     self.memory_bytes - before.memory_bytes, self.peak_bytes - before.memory_bytes)


def usage() -> Usage:
    own = resource.getrusage(resource.RUSAGE_SELF)
    memory = _fields("/proc/self/status")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # resets the peak
    zeromq = sum(_switches_of_zeromq(thread) for thread in os.listdir("/proc/self/task"))
    io = _fields("/proc/self/io")
    return Usage(own.ru_nvcsw, zeromq, own.ru_minflt, io["wchar"], io["syscr"] + io["syscw"], own.ru_utime + own.ru_stime,
                 memory["VmRSS"] * 1024, memory["VmHWM"] * 1024)


def _switches_of_zeromq(thread: str) -> int:
    try:
        with open(f"/proc/self/task/{thread}/comm") as file:
            is_zeromqs = file.read().startswith("ZMQbg")
        return _fields(f"/proc/self/task/{thread}/status")["voluntary_ctxt_switches"] if is_zeromqs else 0
    except FileNotFoundError:  # it has ended
        return 0


def _fields(path: str) -> dict[str, int]:
    """The numeric fields, by their names."""
    with open(path) as file:
        rows = [line.replace(":", " ").split() for line in file]
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}


def shared_bytes() -> int:
    """Memory of this process that other processes can share (memfds), mapped or not."""
    total = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("/memfd:pounce-object"):
                total += os.stat(int(name)).st_blocks * 512
        except OSError:  # closed meanwhile
            continue
    return total


def bytes_sent() -> int:
    """Bytes sent over the open TCP connections of this process and acknowledged by its peers."""
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
