"""The lock under which torch compiles an extension (torch.utils.cpp_extension), without the wait for a killed process.

torch's own lock is a file that its maker removes. The next process waits until it is gone, for ever if the maker was
killed. Here the maker also holds an flock on the file, which ends with its process, and writes into it where it runs.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import time
from typing import Any

from .._common.after_import import AfterImport
from .._common.machine import Mount, boot_id, mount_of

_MODULE = "torch.utils.cpp_extension"
_TORCHS = "FileBaton"  # its name there (torch 2.13)
_NOTICE_S = 30.0


def install() -> None:
    """torch is not imported for it."""
    AfterImport(_MODULE, lambda: _replace(sys.modules[_MODULE]))


def _replace(extensions: Any) -> None:
    if hasattr(extensions, _TORCHS):
        setattr(extensions, _TORCHS, BuildLock)


class BuildLock:
    """Has the methods of torch's FileBaton, in the same order: ``try_acquire()``, then ``release()`` or ``wait()``."""

    def __init__(self, lock_file_path: str, wait_seconds: float = 0.1, *_: Any, **__: Any):
        self._path, self._pause_s = lock_file_path, wait_seconds
        self._file: int | None = None

    def try_acquire(self) -> bool:
        """Waits while another process compiles. False: that one has, and its library is to be loaded."""
        notice_at = time.monotonic() + _NOTICE_S
        file = _made(self._path)
        while file is None and os.path.exists(self._path):
            file = _taken_over(self._path)
            if file is not None:
                break
            if time.monotonic() >= notice_at:
                _notify(self._path)
                notice_at = float("inf")
            time.sleep(self._pause_s)
        self._file = file
        return file is not None

    def wait(self) -> None:
        """Returns at once: ``try_acquire`` has waited."""

    def release(self) -> None:
        os.remove(self._path)  # before the flock ends: else another process could take the file over
        if self._file is not None:
            os.close(self._file)


def is_left_behind(boot: str, mount: Mount) -> bool:
    """Whether a lock has no owner any more. Its flock is free here; its maker held one, under that boot of a machine.

    A file system whose flocks are each node's own says nothing about owners on other nodes.
    """
    return bool(boot) and (boot == boot_id() or _flocks_reach_other_nodes(mount))


def _flocks_reach_other_nodes(mount: Mount) -> bool:
    if mount.filesystem in ("nfs", "nfs4"):
        return not mount.options & {"nolock", "local_lock=all", "local_lock=flock"}
    return mount.filesystem in ("gpfs", "ceph") or (mount.filesystem == "lustre" and "flock" in mount.options)


def _made(path: str) -> int | None:
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except FileExistsError:
        return None
    with contextlib.suppress(OSError):  # without flocks the file alone is the lock, as torch's
        fcntl.flock(file, fcntl.LOCK_EX)
        _sign(file)
    return file


def _taken_over(path: str) -> int | None:
    """The file of an owner that has ended, now this process's own."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:  # it was removed just now
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(file)
        boot, _ = _owner(file)
        if os.path.samestat(status, os.stat(path)) and is_left_behind(boot, mount_of(status.st_dev)):
            _sign(file)
            return file
    except OSError:  # its owner lives, or it was removed, or there are no flocks
        pass
    os.close(file)
    return None


def _sign(file: int) -> None:
    text = f"{boot_id()} {os.uname().nodename}\n".encode()
    os.pwrite(file, text, 0)
    os.ftruncate(file, len(text))


def _owner(file: int) -> tuple[str, str]:
    """The boot under which it runs, and its node. Empty: it is torch's own lock, or it is not written yet."""
    boot, _, node = os.pread(file, 400, 0).decode(errors="replace").strip().partition(" ")
    return boot, node


def _notify(path: str) -> None:
    node = ""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        _, node = _owner(file.fileno())
    owner = f"a process on {node}" if node else "another process"
    print(f"pounce: torch waits while {owner} compiles this extension; if none does, remove {path}", file=sys.stderr,
          flush=True)
