"""Another network namespace, reached over a pair of virtual Ethernet links: simulates another machine. Needs root."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pounce._engine.daemon import find_program
from .home import own_home

_ONE_PORT = "50000-50000"  # for the data socket, which leaves no port for a bulk lane
NEEDS = "root and the program ip, for another network namespace"


def possible() -> bool:
    return os.geteuid() == 0 and shutil.which("ip") is not None and shutil.which("nsenter") is not None


class Bridge:
    """The other end's address, and the command prefix that runs a program there."""

    def __init__(self, number: int):
        subnet = number % 16384  # of 198.18.0.0/16, which is reserved for benchmarks (RFC 2544)
        self.name, self.link = f"pounce-bench-{number}", f"pb{number}"
        self.here, self.address = (f"198.18.{subnet // 64}.{subnet % 64 * 4 + end}" for end in (1, 2))
        self.prefix = ["nsenter", f"--net=/run/netns/{self.name}"]


@contextlib.contextmanager
def bridge() -> Iterator[Bridge]:
    made = Bridge(os.getpid())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the namespace is deleted
    _ip("netns", "add", made.name)
    try:
        _ip("link", "add", made.link, "type", "veth", "peer", "name", made.link, "netns", made.name)
        for inside, address in (([], made.here), (["-n", made.name], made.address)):
            _ip(*inside, "address", "add", f"{address}/30", "dev", made.link)
            _ip(*inside, "link", "set", made.link, "up")
        _ip("-n", made.name, "link", "set", "lo", "up")
        yield made
    finally:
        for pid in subprocess.run(["ip", "netns", "pids", made.name], capture_output=True, text=True).stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        subprocess.run(["ip", "link", "delete", made.link], check=False, stderr=subprocess.DEVNULL)
        _ip("netns", "delete", made.name)


def bridge_or_exit() -> contextlib.AbstractContextManager[Bridge]:
    if not possible():
        raise SystemExit(f"pounce-bench: this case needs {NEEDS}")
    return bridge()


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextlib.contextmanager
def home_across(over: Bridge, lane: bool = True, **config: object) -> Iterator[Path]:
    """A home whose pounced and workers run at the other end. Without `lane`, all data uses ZeroMQ: one port is open."""
    ports = "" if lane else f"--ports {_ONE_PORT}"
    pounced, worker = find_program("pounced"), find_program("pounce-worker")
    with tempfile.TemporaryDirectory(prefix="pounce-bench-programs-") as programs:
        _script(Path(programs, "pounced"), f'exec {" ".join(over.prefix)} {pounced} "$@"')
        _script(Path(programs, "pounce-worker"), f'shift\nexec {worker} serve --interface {over.link} {ports} "$@"')
        with own_home(pounce_worker=str(Path(programs, "pounce-worker")), **config) as folder:
            os.environ["POUNCE_PROGRAMS"] = programs
            yield folder


def _script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
