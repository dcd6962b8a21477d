"""How much memory this process may still take, by the limits of its cgroups and by the machine's free memory."""

from __future__ import annotations

import contextlib
import math
import os

_CGROUPS, _OWN = "/sys/fs/cgroup", "/proc/self/cgroup"


def bytes_left() -> float:
    """Infinite if there is no information."""
    return min(_of_machine(), *_of_cgroups())


def _of_machine() -> float:
    with contextlib.suppress(OSError, ValueError), open("/proc/meminfo") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return math.inf


def _of_cgroups() -> list[float]:
    """For version 2: `memory.max` of each cgroup on the way up. Under version 1 only the machine's memory counts."""
    remaining = [math.inf]
    with contextlib.suppress(OSError, ValueError, StopIteration), open(_OWN) as file:
        path = next(line.rstrip("\n")[3:] for line in file if line.startswith("0::"))
        while path not in ("", "/"):
            folder = _CGROUPS + path
            with contextlib.suppress(OSError, ValueError):  # no limit: it says "max"
                remaining.append(_number(folder, "memory.max") - _number(folder, "memory.current"))
            path = os.path.dirname(path)
    return remaining


def _number(folder: str, name: str) -> int:
    with open(os.path.join(folder, name)) as file:
        return int(file.read())
