"""The folder of a saved state: mode 0700 with files of mode 0600, whole or not there, nobody else's.

Files are opened relative to the folder's descriptor and never through a link. Each step that changes the disk is one call of
`Disk`, so that a test can end the process at each.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from typing import Any

from .problems import Damaged, Foreign, NoSpace

MANIFEST = "manifest.json"
MOST_MANIFEST_BYTES = 256 * 1024 * 1024
_BLOB = re.compile(r"[0-9a-f]{64}")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Disk:
    """What changes something on the disk."""

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
        The folder, or a file when it is opened, is not the user's own, or others may write to it.
    """

    def __init__(self, path: str | os.PathLike[str], disk: Disk | None = None):
        self.path = os.fspath(path)
        self._disk = disk or Disk()
        self._fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            _check_owner(self._fd, self.path)
        except Foreign:
            os.close(self._fd)
            raise

    @classmethod
    def made(cls, path: str | os.PathLike[str], disk: Disk | None = None) -> Folder:
        """That of `path`, which is made if it is not there."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        return cls(path, disk)

    def write(self, name: str, data: memoryview) -> None:
        """Whole under its name and durable, or not there. What has the name is replaced."""
        temporary = f".{name}.{os.getpid()}"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=self._fd)
        try:
            file = self._disk.create(temporary, self._fd)
            try:
                while data.nbytes:
                    data = data[self._disk.write(file, data) :]
                self._disk.sync(file)
            finally:
                os.close(file)
            self._disk.rename(temporary, name, self._fd)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=self._fd)
            if error.errno in _FULL:
                why = f"There is no space left in {self.path} ({error.strerror})."
                raise NoSpace(f"{why} Delete files there, or ask for a larger quota.") from None
            raise

    def sync(self) -> None:
        """The names of all files are durable."""
        self._disk.sync(self._fd)

    def keep_only(self, blobs: set[str]) -> None:
        """Removes all other blobs, and what a save that was cut off has left."""
        for name in os.listdir(self._fd):
            if name.startswith(".") or (_BLOB.fullmatch(name) and name not in blobs):
                with contextlib.suppress(FileNotFoundError):
                    self._disk.remove(name, self._fd)

    def manifest(self) -> bytes | None:
        """None: nothing was saved yet."""
        try:
            file = self._open(MANIFEST)
        except FileNotFoundError:
            return None
        with os.fdopen(file, "rb") as opened:
            data = opened.read(MOST_MANIFEST_BYTES + 1)
        if len(data) > MOST_MANIFEST_BYTES:
            raise Damaged("The list of what was saved is too long to be one. Remove the folder, and run the cells again.")
        return data

    def expect(self, blob: str, size: int) -> None:
        file = self._open_blob(blob)
        try:
            if os.fstat(file).st_size != size:
                raise _truncated(blob)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_WILLNEED)
        finally:
            os.close(file)

    def read_into(self, blob: str, target: memoryview) -> None:
        file = self._open_blob(blob)
        try:
            while target.nbytes:
                count = os.readv(file, [target])
                if not count:
                    raise _truncated(blob)
                target = target[count:]
        finally:
            os.close(file)

    def close(self) -> None:
        os.close(self._fd)

    def _open_blob(self, blob: str) -> int:
        if not _BLOB.fullmatch(blob):
            raise Damaged("The list of what was saved names a file that is none of its own. Remove the folder, and run the cells again.")
        try:
            return self._open(blob)
        except FileNotFoundError:
            raise Damaged(f"The file {blob} of the saved state is gone. Take an older one, or run the cells again.") from None

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


def _check_owner(file: int, path: str) -> Any:
    found = os.fstat(file)
    if found.st_uid != os.geteuid():
        raise Foreign(f"{path} belongs to another user. Nothing of it was read: remove it, or name another folder.")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Foreign(f"{path} may be written by others. Nothing of it was read: chmod go-w, if you know that its content is yours.")
    return found


def _truncated(blob: str) -> Damaged:
    return Damaged(f"The file {blob} of the saved state is cut off. Take an older one, or run the cells again.")
