"""``Spool``: records that wait on this machine's disk, oldest first, until MLflow's server has them.

One file for each process and server, locked as long as the process lives. A file without a lock is of a process that
is gone, and any other one sends it. The file's first line says how far it was sent. It is written after the server has
answered, so a process that is killed in between leaves records that are sent again. The server knows these: a metric
of the same run, key, step, time and value is one, and so are a param and a tag.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import uuid
from collections.abc import Iterator

from ..._common.machine import Mount, boot_id, mount_of
from ..extension_lock import is_left_behind
from .records import Record

_ENDING = ".spool"
_HEADER = b'{"sent": %16d}\n'
_START = len(_HEADER % 0)
_OF_ONE_MACHINE = ("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "tmpfs", "overlay")  # file systems
_READ_BYTES = 1 << 20  # of records at a time


class Full(Exception):
    """There is no room for a record: by the limit, or on the disk."""


class Spool:
    """Not for several threads at once. No file is there before something waits."""

    def __init__(self, folder: str, most_bytes: int):
        self._folder, self._most_bytes = folder, most_bytes
        self._path, self._file = "", -1
        self._sent = self._end = _START
        self._copied = 0  # bytes of the copies of artifacts
        self._others = 0  # bytes of other processes' files, when this one was made

    @classmethod
    def left(cls, folder: str) -> Iterator[Spool]:
        """Those of processes that are gone, locked from now on."""
        with contextlib.suppress(FileNotFoundError):
            for name in sorted(os.listdir(folder), key=lambda name: _changed(os.path.join(folder, name))):
                if name.endswith(_ENDING) and (spool := cls._of_file(folder, name)) is not None:
                    yield spool

    @classmethod
    def _of_file(cls, folder: str, name: str) -> Spool | None:
        path, file = os.path.join(folder, name), -1
        try:
            file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            facts = os.fstat(file)
            if not facts.st_nlink or facts.st_uid != os.geteuid() or not is_left(name, mount_of(facts.st_dev)):
                raise BlockingIOError
            sent = int(json.loads(os.pread(file, _START, 0))["sent"])
        except (OSError, ValueError, KeyError):  # its process lives, or has just ended
            if file >= 0:
                os.close(file)
            return None
        spool: Spool = cls(folder, 0)
        spool._path, spool._file, spool._sent, spool._end = path, file, sent, facts.st_size
        return spool

    def __bool__(self) -> bool:
        return self._sent < self._end

    @property
    def copies(self) -> str:
        """The folder of the copies of artifacts."""
        return self._path.removesuffix(_ENDING) + ".files"

    def append(self, record: Record, beyond: bool = False) -> None:
        """`beyond`: the limit does not count.

        Raises
        ------
        Full
        """
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        try:
            self._make_room(0 if beyond else len(line))
            written = os.pwrite(self._file, line, self._end)
        except OSError as error:
            raise Full(f"{self._folder}: {error.strerror}") from None
        if written < len(line):
            os.ftruncate(self._file, self._end)
            raise Full(f"{self._folder}: no space left on the disk")
        self._end += len(line)

    def copy(self, file: str) -> str:
        """Copies an artifact; returns where its copy lies in `copies`.

        Raises
        ------
        Full
        """
        name = os.path.join(uuid.uuid4().hex, os.path.basename(file))
        try:
            size = os.stat(file).st_size
            if size > self._most_bytes:
                name, may_wait = os.path.basename(file), self._most_bytes >> 20
                raise Full(f"{name} has {size >> 20} MiB, and {may_wait} MiB may wait in {self._folder}")
            self._make_room(size)
            copy = os.path.join(self.copies, name)
            for folder in (self.copies, os.path.dirname(copy)):
                with contextlib.suppress(FileExistsError):
                    os.mkdir(folder, 0o700)
            with open(file, "rb") as source, open(copy, "xb", opener=_private) as target:
                shutil.copyfileobj(source, target)
        except OSError as error:
            self.drop_copy(name)
            raise Full(f"{self._folder}: {error.strerror}") from None
        self._copied += size
        return name

    def drop_copy(self, name: str) -> None:
        shutil.rmtree(os.path.join(self.copies, os.path.dirname(name)), ignore_errors=True)

    def oldest(self) -> tuple[list[Record], list[int]]:
        """Some of those that wait, and behind each of them how far the file is then sent."""
        records, ends, at = list[Record](), list[int](), self._sent
        data = os.pread(self._file, _READ_BYTES, at) if self else b""
        if data and b"\n" not in data:  # one that is longer
            data = os.pread(self._file, self._end - at, at)
        for line in data.splitlines(keepends=True):
            if not line.endswith(b"\n"):
                break
            at += len(line)
            with contextlib.suppress(ValueError):
                records.append(json.loads(line))
                ends.append(at)
        if data and not records:  # its process was killed while it wrote
            self.sent(self._end)
        return records, ends

    def sent(self, end: int) -> None:
        """The file is sent up to there. At its end it is removed."""
        self._sent = end
        if self:
            os.pwrite(self._file, _HEADER % end, 0)
        else:
            self.close()

    def close(self) -> None:
        """What waits is for another process."""
        if self._file < 0:
            return
        if not self:
            os.unlink(self._path)
            shutil.rmtree(self.copies, ignore_errors=True)
        self.forget()

    def forget(self) -> None:
        """In a child that was forked: it is the parent's."""
        if self._file >= 0:
            os.close(self._file)
        self._path, self._file, self._sent, self._end, self._copied = "", -1, _START, _START, 0

    # ---- room ----

    def _make_room(self, size: int) -> None:
        if self._file < 0:
            self._make()
        most = self._most_bytes - self._others - self._copied - size
        if size and self._end > most:
            if self._sent > self._end // 2:
                self._drop_sent()
            if self._end > most:
                raise Full(f"{self._most_bytes >> 20} MiB wait in {self._folder}")

    def _make(self) -> None:
        for folder in (os.path.dirname(self._folder), self._folder):
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)
        self._others = sum(size_of(path) for path, _, names in os.walk(self._folder) for path in
                           (os.path.join(path, name) for name in names))
        self._path = os.path.join(self._folder, f"{boot_id()}.{uuid.uuid4().hex}{_ENDING}")
        self._file = self._new_file(b"")

    def _new_file(self, records: bytes) -> int:
        """Gets its name when it is locked: another process may look just now."""
        new = self._path + ".new"
        file = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        os.pwrite(file, _HEADER % _START + records, 0)
        os.rename(new, self._path)
        return file

    def _drop_sent(self) -> None:
        waiting = os.pread(self._file, self._end - self._sent, self._sent)
        before, self._file = self._file, self._new_file(waiting)
        os.close(before)
        self._sent, self._end = _START, _START + len(waiting)


def is_left(name: str, mount: Mount) -> bool:
    """Whether a file whose lock is free here has no process any more, also on another node."""
    boot = name.partition(".")[0]
    return is_left_behind(boot, mount) or (mount.filesystem in _OF_ONE_MACHINE and boot != boot_id())


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _changed(path: str) -> float:
    with contextlib.suppress(OSError):
        return os.stat(path).st_mtime
    return 0.0


def size_of(path: str) -> int:
    with contextlib.suppress(OSError):
        return os.stat(path).st_size
    return 0
