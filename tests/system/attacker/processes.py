"""Other people's processes, as the kernel lets any program try them; and programs."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess

libc = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH, PTRACE_SEIZE, PIDFD_OPEN, PIDFD_GETFD = 16, 0x4206, 434, 438


class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def called(result: int) -> dict:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return {"done": result}


def trace(request: dict) -> dict:
    return called(libc.ptrace(PTRACE_SEIZE, request["pid"], None, None))


def peek(request: dict) -> dict:
    buffer = ctypes.create_string_buffer(16)
    here, there = Piece(ctypes.addressof(buffer), 16), Piece(0x400000, 16)
    return called(libc.process_vm_readv(request["pid"], ctypes.byref(here), 1, ctypes.byref(there), 1, 0))


def take_descriptor(request: dict) -> dict:
    """Each of the first: one that can be had is enough."""
    pidfd = libc.syscall(PIDFD_OPEN, request["pid"], 0)
    called(pidfd)
    try:
        return called(max(libc.syscall(PIDFD_GETFD, pidfd, fd, 0) for fd in range(32)))
    finally:
        os.close(pidfd)


def signal(request: dict) -> dict:
    os.kill(request["pid"], request.get("signal", 15))
    return {"done": 0}


def renice(request: dict) -> dict:
    os.setpriority(os.PRIO_PROCESS, request["pid"], 19)
    return {"done": 0}


def limit(request: dict) -> dict:
    resource.prlimit(request["pid"], resource.RLIMIT_NOFILE, (1, 1))
    return {"done": 0}


def pin(request: dict) -> dict:
    os.sched_setaffinity(request["pid"], {0})
    return {"done": 0}


def command(request: dict) -> dict:
    """words, [input]: a program's exit code and what it printed."""
    done = subprocess.run(request["words"], input=request.get("input", ""), capture_output=True, text=True, errors="replace",
                          timeout=20, cwd="/", env={**os.environ, **request.get("environment", {})})
    return {"code": done.returncode, "output": done.stdout + done.stderr}


REQUESTS = {"trace": trace, "peek": peek, "take_descriptor": take_descriptor, "signal": signal, "renice": renice, "limit": limit,
            "pin": pin, "command": command}
