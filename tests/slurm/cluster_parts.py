"""The daemons, links and clocks of a cluster that nobody else uses: found, hung, unplugged and moved."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
from contextlib import contextmanager
from pathlib import Path

from login_node import cluster_folder, wait_until


def daemon_pid(cluster_id: int, name: str) -> int:
    return int(Path(cluster_folder(cluster_id), "run", f"{name}.pid").read_text())


def end(cluster_id: int, daemon: str) -> None:
    """Ends a daemon as its service manager would, and waits until it has."""
    pid = daemon_pid(cluster_id, daemon)
    os.kill(pid, signal.SIGCONT)  # a hung one hears of it only then
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not runs(pid), 30, f"{daemon} ends")


def runs(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()  # whoever adopted it may not wait for it
    except (FileNotFoundError, ProcessLookupError):
        return False


@contextmanager
def stopped(pid: int):
    """The process hangs while the block runs."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def unplugged(link: str):
    """The cable is out while the block runs: what is behind the bridge's port neither hears nor is heard."""
    subprocess.run(["ip", "link", "set", link, "down"], check=True)
    try:
        yield
    finally:
        subprocess.run(["ip", "link", "set", link, "up"], check=True)


def node_link(cluster_id: int, node: str) -> str:
    return f"pounce{cluster_id}{node}"


def set_clock(clock: Path, seconds: int) -> None:
    """Of the programs that were started with the library below: so far from the true time."""
    with clock.open("r+b" if clock.exists() else "wb") as file:  # in place: it is mapped
        file.write(struct.pack("=q", seconds))
    clock.chmod(0o644)


def clock_library(folder: Path) -> Path:
    built = folder / "moved_clock.so"
    source = Path(__file__).with_name("moved_clock.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", str(built), str(source)], check=True)
    built.chmod(0o755)
    return built
