"""The folder of a saved state: mode 0700, the user's own, with files of mode 0600 that are whole or not there.

Workers use it one after the other. Each takes it with a number, its epoch, and writes a manifest of that number. A
worker that was cut off and returns after another has taken over detects that and stops writing. Files are opened
relative to the folder's descriptor and never through a link. Each step that changes the disk is one call of `Disk`, so
that a test can end the process at each.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import threading
from collections.abc import Callable, Iterable
from typing import Any

from ... import _core
from .problems import Damaged, Foreign, NoSpace, TakenOver

_READ_BYTES = 1024 * 1024
_BLOB = re.compile(r"[0-9a-f]{64}")
_MANIFEST = re.compile(r"manifest-(\d{1,9})\.json")
# Temporary files of a save; other files are not a worker's.
_UNFINISHED = re.compile(rf"\.(?:{_BLOB.pattern}|{_MANIFEST.pattern})\.\d+\.\d+")
_OWNER = re.compile(r"owner-(\d{1,9})")
_LEFT = re.compile(r"left-(\d{1,9})")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Disk:
    """The calls that change the disk."""

    def create(self, name: str, folder: int) -> int:
        return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)

    def write(self, file: int, data: memoryview) -> int:
        return os.write(file, data)

    def sync(self, file: int) -> None:
        os.fsync(file)

    def rename(self, old: str, new: str, folder: int) -> None:
        os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)

    def remove(self, name: str, folder: int) -> None:
        os.unlink(name, dir_fd=folder)


class Folder:
    """Open until close(). Thread: any.

    Raises
    ------
    Foreign
        The folder, or a file when it is opened, belongs to another user, or others may write to it.
    """

    def __init__(self, path: str | os.PathLike[str], disk: Disk | None = None):
        self.path = os.fspath(path)
        self.epoch = 0  # not taken
        self._disk = disk or Disk()
        self._fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            _check_owner(self._fd, self.path)
        except Foreign:
            os.close(self._fd)
            raise

    @classmethod
    def made(cls, path: str | os.PathLike[str], disk: Disk | None = None) -> Folder:
        """The folder at `path`, which is made if it is not there."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        return cls(path, disk)

    # ---- taking it over ----

    def take(self) -> None:
        """From now on this process saves here, and no earlier worker does."""
        while True:
            self.epoch = max([0, *self._numbers(_OWNER), *self._numbers(_MANIFEST)]) + 1
            with contextlib.suppress(FileExistsError):
                os.close(self._disk.create(f"owner-{self.epoch}", self._fd))
                return

    def leave(self) -> None:
        """This process writes nothing more here."""
        if self.epoch and not self.taken_over():
            with contextlib.suppress(OSError):  # the file is there, or the folder was removed
                os.close(self._disk.create(f"left-{self.epoch}", self._fd))

    def left(self) -> bool:
        """Whether the last process that took the folder has left it, or none took it."""
        return max([0, *self._numbers(_OWNER)]) <= max([0, *self._numbers(_LEFT)])

    def taken_over(self) -> bool:
        return any(number > self.epoch for number in self._numbers(_OWNER))

    def _numbers(self, kind: re.Pattern[str]) -> list[int]:
        return [int(match[1]) for name in os.listdir(self._fd) if (match := kind.fullmatch(name))]

    # ---- writing ----

    def write_manifest(self, data: memoryview) -> None:
        """Writes the manifest, after all files of write() are durable.

        Raises
        ------
        TakenOver
            Nothing was written.
        """
        if self.taken_over():
            raise TakenOver(f"Another worker has {self.path} by now. "
                            "Nothing was saved: its variables are the newer ones.")
        self.sync()
        self.write(manifest_name(self.epoch), [data])
        self.sync()

    def write(self, name: str, parts: Iterable[memoryview]) -> None:
        """Writes a whole, durable file, or none, also if `parts` raises. It replaces a file of that name."""
        self._write(name, parts, self._disk.rename)

    def write_once(self, name: str, data: memoryview) -> None:
        """Like write(). FileExistsError: the name is taken."""

        def link(old: str, new: str, folder: int) -> None:
            os.link(old, new, src_dir_fd=folder, dst_dir_fd=folder)
            os.unlink(old, dir_fd=folder)

        self._write(name, [data], link)

    def kept_once(self, name: str, most: int, make: Callable[[], bytes]) -> bytes:
        """The file's content; the file is made if there is none. Two processes that make it at once get the same."""
        with contextlib.suppress(FileNotFoundError):
            return self.read(name, most)
        with contextlib.suppress(FileExistsError):
            self.write_once(name, memoryview(make()))
        return self.read(name, most)

    def share(self, blob: str, other: Folder) -> None:
        """Links the other folder's file here; copies it if the file system has no links."""
        file = other._open_blob(blob)
        try:
            os.link(blob, blob, src_dir_fd=other._fd, dst_dir_fd=self._fd, follow_symlinks=False)
        except FileExistsError:
            pass
        except OSError:
            self.write(blob, [memoryview(_whole(file))])
        finally:
            os.close(file)

    def _write(self, name: str, parts: Iterable[memoryview], give_name: Callable[[str, str, int], None]) -> None:
        temporary = f".{name}.{os.getpid()}.{threading.get_ident()}"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=self._fd)
        try:
            file = self._disk.create(temporary, self._fd)
            try:
                for data in parts:
                    while data.nbytes:
                        data = data[self._disk.write(file, data) :]
                self._disk.sync(file)
            finally:
                os.close(file)
            give_name(temporary, name, self._fd)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=self._fd)
            if isinstance(error, OSError) and error.errno in _FULL:
                why = f"There is no space left in {self.path} ({error.strerror})."
                raise NoSpace(f"{why} Delete files there, or ask for a larger quota.") from None
            raise

    def sync(self) -> None:
        """Makes the names of all files durable."""
        self._disk.sync(self._fd)

    def keep_only(self, blobs: set[str]) -> None:
        """Removes all other blobs, and files left by interrupted saves and earlier workers."""
        if self.taken_over():
            return
        own = {manifest_name(self.epoch), f"owner-{self.epoch}"}
        for name in os.listdir(self._fd):
            past = any(kind.fullmatch(name) for kind in (_MANIFEST, _OWNER, _LEFT)) and name not in own
            if past or _UNFINISHED.fullmatch(name) or (_BLOB.fullmatch(name) and name not in blobs):
                with contextlib.suppress(FileNotFoundError):
                    self._disk.remove(name, self._fd)

    def drop(self, blobs: Iterable[str]) -> None:
        """Removes blobs that another machine has."""
        for blob in blobs:
            with contextlib.suppress(FileNotFoundError):
                self._disk.remove(blob, self._fd)

    # ---- reading ----

    def manifest(self) -> bytes | None:
        """The newest manifest. None: nothing was saved yet."""
        while numbers := self._numbers(_MANIFEST):
            with contextlib.suppress(FileNotFoundError):  # its successor was written meanwhile
                return self._manifest(manifest_name(max(numbers)))
        return None

    def saved_at(self) -> float:
        """Seconds since 1970; 0: nothing was saved yet."""
        manifests = map(manifest_name, self._numbers(_MANIFEST))
        return max((os.stat(name, dir_fd=self._fd).st_mtime for name in manifests), default=0.0)

    def _manifest(self, name: str) -> bytes:
        data = self.read(name, _core.MOST_MANIFEST_BYTES + 1)
        if len(data) > _core.MOST_MANIFEST_BYTES:
            raise Damaged("The list of what was saved is too long to be one. "
                          "Remove the folder, and run the cells again.")
        return data

    def read(self, name: str, most: int) -> bytes:
        """The file's first `most` bytes."""
        with os.fdopen(self._open(name), "rb") as opened:
            return opened.read(most)

    def blobs(self) -> set[str]:
        """The blobs of this state and of unfinished saves; each is whole."""
        return {name for name in os.listdir(self._fd) if _BLOB.fullmatch(name)}

    def part(self, blob: str, start: int, most: int) -> tuple[int, bytes]:
        """The size of the blob, and at most `most` bytes of it."""
        file = self._open_blob(blob)
        try:
            return os.fstat(file).st_size, os.pread(file, most, start)
        finally:
            os.close(file)

    def check_size(self, blob: str, size: int) -> None:
        file = self._open_blob(blob)
        try:
            if os.fstat(file).st_size != size:
                raise _truncated(blob)
        finally:
            os.close(file)

    def read_into(self, blob: str, target: memoryview, read: Callable[[memoryview], object]) -> None:
        """Fills the target, and calls `read` with each part of it that was read."""
        file = self._open_blob(blob)
        try:
            while target.nbytes:
                count = os.readv(file, [target[:_READ_BYTES]])
                if not count:
                    raise _truncated(blob)
                read(target[:count])
                target = target[count:]
        finally:
            os.close(file)

    def close(self) -> None:
        os.close(self._fd)

    def _open_blob(self, blob: str) -> int:
        if not _BLOB.fullmatch(blob):
            raise Damaged("The list of what was saved names a file that is none of its own. "
                          "Remove the folder, and run the cells again.")
        try:
            return self._open(blob)
        except FileNotFoundError:
            text = f"The file {blob} of the saved state is gone. Take an older one, or run the cells again."
            raise Damaged(text) from None

    def _open(self, name: str) -> int:
        try:
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._fd)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise Foreign(f"{self.path}/{name} is a link. Remove it: a saved state has none.") from None
            raise
        try:
            if not stat.S_ISREG(_check_owner(file, f"{self.path}/{name}").st_mode):
                raise Foreign(f"{self.path}/{name} is no file. Remove it: a saved state has none such.")
        except Foreign:
            os.close(file)
            raise
        return file


def _whole(file: int) -> bytes:
    with os.fdopen(os.dup(file), "rb") as opened:
        return opened.read()


def manifest_name(epoch: int) -> str:
    return f"manifest-{epoch}.json"


def _check_owner(file: int, path: str) -> Any:
    facts = os.fstat(file)
    if facts.st_uid != os.geteuid():
        raise Foreign(f"{path} belongs to another user. Nothing of it was read: remove it, or name another folder.")
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Foreign(f"{path} may be written by others. "
                      "Nothing of it was read: chmod go-w, if you know that its content is yours.")
    return facts


def _truncated(blob: str) -> Damaged:
    return Damaged(f"The file {blob} of the saved state is cut off. Take an older one, or run the cells again.")
