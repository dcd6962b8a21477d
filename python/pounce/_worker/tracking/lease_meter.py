"""``LeaseMeter``: what a lease uses of its node: the processes of its job, and its GPUs. Nothing of other users.

The job's control group has the figures of all its processes. Where there is none (the local launcher, an older
kernel), they are those of the worker's supervisor and all its descendants.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator

from .leased_gpus import LeasedGpus

_GROUPS = "/sys/fs/cgroup"
_MB = 1e6  # as in MLflow's own figures


class LeaseMeter:
    def __init__(self, visible_gpus: str, own_group: str = "/proc/self/cgroup", groups: str = _GROUPS):
        self._gpus = LeasedGpus(visible_gpus)
        self._group = _group_of_job(own_group, groups)
        self._before = self._cpu()

    def look(self) -> dict[str, float]:
        """Under MLflow's names. The processor's share is that since the last look, of the processors that the job may
        use."""
        (then, used_then), self._before = self._before, self._cpu()
        now, used = self._before
        share = 100 * max(0.0, used - used_then) / (max(now - then, 1e-3) * len(os.sched_getaffinity(0)))
        bytes_used, most = self._memory()
        found = {"cpu_utilization_percentage": min(share, 100.0), "system_memory_usage_megabytes": bytes_used / _MB}
        if most:
            found["system_memory_usage_percentage"] = 100 * bytes_used / most
        return {name: round(value, 1) for name, value in (found | self._gpus.look()).items()}

    def _cpu(self) -> tuple[float, float]:
        """The time, and the seconds that processors have worked until then."""
        if self._group:
            used = int(_fields(self._group, "cpu.stat").get("usage_usec", 0)) / 1e6
        else:
            ticks = os.sysconf("SC_CLK_TCK")
            used = sum(sum(map(int, fields[11:15])) for fields in _processes(os.getppid())) / ticks
        return time.monotonic(), used

    def _memory(self) -> tuple[int, int]:
        """Bytes in use, without what the kernel may drop at any time; and the limit, 0 for none."""
        if not self._group:
            return sum(int(fields[21]) for fields in _processes(os.getppid())) * os.sysconf("SC_PAGE_SIZE"), 0
        used = _number(self._group, "memory.current") - int(_fields(self._group, "memory.stat").get("inactive_file", 0))
        return max(0, used), _number(self._group, "memory.max")


def _group_of_job(own_group: str, groups: str) -> str:
    """Of version 2, with the figures that are needed; empty: there is none."""
    with contextlib.suppress(OSError), open(own_group) as file:
        for line in file:
            job = re.match(r"0::(/.*/job_\d+)(/|$)", line.rstrip("\n"))
            if job and all(os.path.exists(groups + job[1] + name) for name in ("/cpu.stat", "/memory.current")):
                return groups + job[1]
    return ""


def _fields(group: str, name: str) -> dict[str, str]:
    with contextlib.suppress(OSError), open(os.path.join(group, name)) as file:
        return dict(line.split(maxsplit=1) for line in file)
    return {}


def _number(group: str, name: str) -> int:
    with contextlib.suppress(OSError, ValueError), open(os.path.join(group, name)) as file:
        return int(file.read())
    return 0  # no limit: it says "max"


def _processes(first: int) -> Iterator[list[str]]:
    """The fields of /proc/PID/stat behind the name, of a process and its descendants."""
    waiting = [first]
    while waiting:
        folder = f"/proc/{waiting.pop()}"
        with contextlib.suppress(OSError):
            with open(f"{folder}/stat") as file:
                yield file.read().rpartition(")")[2].split()
            for thread in os.listdir(f"{folder}/task"):
                with open(f"{folder}/task/{thread}/children") as file:
                    waiting += map(int, file.read().split())
