"""Looks for secrets where they do not belong: in arguments and environments, in files, in what Slurm tells.

A private key is found in the memory of the process that made it, by its public half, which stands in the same memory.
"""

from __future__ import annotations

import base64
import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy
import zmq
from zmq.utils.z85 import decode, encode

LARGEST_FILE = 64 << 20
OPEN_TO_ALL = ("/tmp", "/var/tmp", "/run", "/dev/shm", "/home")
FEWEST_VALUES = 22  # different bytes in a key of 32: of a million keys one has fewer


def forms(secret: bytes) -> list[bytes]:
    """As it is, and as text might carry it."""
    encoded = [base64.b64encode(bytes(shift) + secret)[4:-4] for shift in range(3)]  # wherever a group of three begins
    return [secret, secret.hex().encode(), secret.hex().upper().encode(), *encoded, *([encode(secret)] if len(secret) == 32 else [])]


# ---- private keys ------------------------------------------------------------------------------------------------------


def memory(pid: int) -> Iterator[bytes]:
    """What a process has written to, piece by piece."""
    with open(f"/proc/{pid}/mem", "rb", 0) as file:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            place, rights, *_ = line.split()
            first, last = (int(end, 16) for end in place.split("-"))
            if rights.startswith("rw") and "[v" not in line:
                with contextlib.suppress(OSError, OverflowError):
                    file.seek(first)
                    yield file.read(last - first)


def looks_random(data: bytes) -> Iterator[bytes]:
    """32 bytes at multiples of 4 that may be a key: no pointers, text or zeros."""
    values = numpy.frombuffer(data, dtype=numpy.uint8)
    if len(values) < 64:
        return
    windows = numpy.lib.stride_tricks.sliding_window_view(values, 32)[::4]
    high = (values >> 7).astype(numpy.uint8)  # text has none
    full = numpy.lib.stride_tricks.sliding_window_view(high, 32)[::4].sum(axis=1)
    zeros = numpy.lib.stride_tricks.sliding_window_view((values == 0).astype(numpy.uint8), 32)[::4].sum(axis=1)
    different = {windows[at].tobytes() for at in numpy.flatnonzero((full >= 6) & (full <= 26) & (zeros <= 2))}
    yield from (key for key in different if len(set(key)) >= FEWEST_VALUES)


def key_pairs(pid: int) -> dict[str, bytes]:
    """By their public halves (Z85), the secret keys that a process holds with them: its own, and those that libzmq makes for a
    connection. A peer's public key stands there without its secret half."""
    seen = {key for piece in memory(pid) for key in looks_random(piece)}
    publics = ((zmq.curve_public(encode(key)).decode(), key) for key in seen)
    return {public: key for public, key in publics if decode(public) in seen}


def known_to(pid: int, publics: Iterable[str]) -> set[str]:
    """Which of these public keys stand in that process's memory."""
    forms = {public: (public.encode(), decode(public)) for public in publics}
    return {public for piece in memory(pid) for public, looks in forms.items() if any(look in piece for look in looks)}


# ---- places ------------------------------------------------------------------------------------------------------------


class Hunt:
    """`needles`: what each secret is called, and the secret."""

    def __init__(self, needles: dict[str, bytes]):
        self.needles = {name: forms(secret) for name, secret in needles.items()}

    def within(self, data: bytes) -> list[str]:
        return [name for name, looks in self.needles.items() if any(look in data for look in looks)]

    def in_processes(self) -> list[str]:
        """Arguments and environment of every process of this machine."""
        found = []
        for path in (entry / file for entry in Path("/proc").glob("[0-9]*") for file in ("cmdline", "environ")):
            with contextlib.suppress(OSError):
                found += [f"{name}: {path}" for name in self.within(path.read_bytes())]
        return found

    def in_files(self, *folders: str | Path, others_may_read: bool, but: tuple[Path, ...] = ()) -> list[str]:
        """Below the folders, all files or those that every user can come to and read."""
        found = []
        for path in files(folders, others_may_read, but):
            with contextlib.suppress(OSError):
                found += [f"{name}: {path}" for name in self.within(path.read_bytes() + str(path).encode())]
        return found


def files(folders, others_may_read: bool, but: tuple[Path, ...]) -> Iterator[Path]:
    for top in folders:
        for folder, names, entries in os.walk(top):
            here = Path(folder)
            names[:] = [name for name in names if here / name not in but and (not others_may_read or mode(here / name) & 0o005 == 0o005)]
            for name in entries:
                facts = mode(here / name)
                if stat.S_ISREG(facts) and (facts & 0o004 or not others_may_read) and (here / name).stat().st_size < LARGEST_FILE:
                    yield here / name


def mode(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.lstat().st_mode
    return 0


def told_by_slurm(user) -> bytes:
    """All that squeue, scontrol and sacct tell root of the jobs."""
    shown = [user.run("squeue", "--Format=ALL", check=False), user.run("scontrol", "--details", "show", "jobs"),
             user.run("sacct", "--allusers", "--format=ALL", "--parsable2", check=False)]
    return "\n".join(shown).encode()
