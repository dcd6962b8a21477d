"""``FilePart``: bytes of a file, named so that another process can tell whether it sees the same ones."""

from __future__ import annotations

import mmap
import os
import stat
from typing import Any, NamedTuple

from .. import _core
from .machine import boot_id, mount_of

_END_BYTES = 4096  # of the head and of the tail, which are compared
_NETWORK = frozenset(("nfs", "nfs4", "lustre", "gpfs", "ceph", "beegfs", "beegfs_nodev", "cifs", "smb3", "9p",
                      "virtiofs", "afs", "orangefs", "panfs", "wekafs", "glusterfs", "quobyte", "vastnfs"))


class FileIdentity(NamedTuple):
    """The identity of a file, as one machine sees it."""

    inode: int
    device: int
    filesystem: str  # "nfs4", "ext4"; empty: not known
    machine: str     # id of its boot

    @property
    def is_on_network(self) -> bool:
        return self.filesystem in _NETWORK or self.filesystem.startswith("fuse.")

    def is_same_file(self, other: FileIdentity) -> bool | None:
        """None: they are on file systems that cannot be compared."""
        same_device = self.machine == other.machine and self.device == other.device
        if same_device or (self.is_on_network and self.filesystem == other.filesystem):
            return self.inode == other.inode
        return None


class FilePart(NamedTuple):
    path: str
    offset: int
    length: int
    mode: str  # as in numpy: "r"; "r+": writes reach the file; "c": writes stay in the process
    size: int  # of the whole file
    mtime_ns: int
    ends: bytes  # digest of the part's first and last bytes
    place: FileIdentity

    def fits(self, file: int) -> bool:
        """Whether the open file is this part's file with the same content. A file open for writing may have changed."""
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            return False
        same = self.place.is_same_file(identity_of(status))
        if self.mode == "r+":
            return same is True and status.st_size >= self.offset + self.length
        if same is False or (status.st_size, status.st_mtime_ns) != (self.size, self.mtime_ns):
            return False
        ends = (os.pread(file, last - first, self.offset + first) for first, last in _ends(self.length))
        return self.ends == _core.digest(b"".join(ends))


def part_of(path: str, offset: int, mode: str, view: Any) -> FilePart | None:
    """The part of the file at `path` whose bytes `view` shows; None: there is no such file (any more)."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode) or offset + view.nbytes > status.st_size:
        return None
    ends = _core.digest(b"".join(view[first:last] for first, last in _ends(view.nbytes))) if mode != "r+" else b""
    return FilePart(path, offset, view.nbytes, mode, status.st_size, status.st_mtime_ns, ends, identity_of(status))


class Mapping(mmap.mmap):
    """A file's bytes in memory, with the path that they came from."""

    path: str


def mapped(path: str, file: int, offset: int, length: int, mode: str) -> memoryview:
    """These bytes of the open file. The mapping lives as long as the view."""
    skipped = offset % mmap.ALLOCATIONGRANULARITY
    access = {"r": mmap.ACCESS_READ, "r+": mmap.ACCESS_WRITE, "c": mmap.ACCESS_COPY}[mode]
    mapping = Mapping(file, skipped + length, access=access, offset=offset - skipped)
    mapping.path = path
    return memoryview(mapping)[skipped:]


def is_there(part: FilePart) -> str:
    """Empty: this process sees the same file, unchanged. Else a text that says what is wrong."""
    try:
        file = opened(part.path)
    except OSError as problem:
        return f"cannot be opened: {problem.strerror}"
    try:
        return "" if part.fits(file) else "is not what it was when it was passed on"
    finally:
        os.close(file)


def opened(path: str, flags: int = os.O_RDONLY) -> int:
    """A descriptor. Does not block, even if a FIFO is at that path."""
    return os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK)


def identity_of(status: os.stat_result) -> FileIdentity:
    return FileIdentity(status.st_ino, status.st_dev, mount_of(status.st_dev).filesystem, boot_id())


def _ends(length: int) -> list[tuple[int, int]]:
    if length <= 2 * _END_BYTES:
        return [(0, length)]
    return [(0, _END_BYTES), (length - _END_BYTES, length)]
