"""What Linux says of pounced's process, in /proc. It holds keys, so what it has open (``/proc/PID/fd``) is closed even
to its own user."""

from __future__ import annotations

import os
import re
from pathlib import Path

from .families import Values

_PROC = Path("/proc")
_SWITCHES = re.compile(r"^voluntary_ctxt_switches:\s*(\d+)$", re.MULTILINE)


def process_values(pid: int, proc: Path = _PROC) -> Values:
    """Empty where this machine does not show a pounced under that number."""
    folder = proc / str(pid)
    try:
        name, _, fields = (folder / "stat").read_text().rpartition(")")
        if not name.endswith("(pounced"):
            return {}
        numbers = fields.split()  # from the third field of proc(5) on
        ticks = os.sysconf("SC_CLK_TCK")
        boot_s = next(int(line.split()[1]) for line in (proc / "stat").read_text().splitlines()
                      if line.startswith("btime "))
        found = {
            "start_time_seconds": boot_s + int(numbers[19]) / ticks,
            "cpu_seconds_total": (int(numbers[11]) + int(numbers[12])) / ticks,
            "resident_memory_bytes": int(numbers[21]) * os.sysconf("SC_PAGE_SIZE"),
            "wakeups_total": sum(map(_wakeups, (folder / "task").iterdir())),
        }
    except (OSError, ValueError, IndexError, StopIteration):
        return {}  # it has ended meanwhile
    return {f"pounce_daemon_{name}": {(): float(value)} for name, value in found.items()}


def _wakeups(thread: Path) -> int:
    match = _SWITCHES.search((thread / "status").read_text())
    return int(match[1]) if match else 0
