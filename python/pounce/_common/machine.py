"""This machine: the id of its boot, the file systems that it has mounted, and whose a folder is."""

from __future__ import annotations

import os
import stat
from functools import cache
from typing import NamedTuple


class Mount(NamedTuple):
    filesystem: str  # "nfs4", "ext4"; empty: not known
    options: frozenset[str]  # of the file system itself: "vers=4.2", "local_lock=none"


@cache
def boot_id() -> str:
    """Empty: not known."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""


@cache
def mount_of(device: int) -> Mount:
    """Of the device on which a file lies (`st_dev`)."""
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        with open("/proc/self/mountinfo") as file:
            for line in file:
                before, _, after = line.partition(" - ")
                if before.split()[2] == number:
                    filesystem, _, options = after.split()[:3]
                    return Mount(filesystem, frozenset(options.split(",")))
    except OSError:
        pass
    return Mount("", frozenset())


def is_private_folder(path: str) -> bool:
    """Whether it is a folder of this user's that no other one may enter."""
    try:
        facts = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid() and not facts.st_mode & 0o077
