"""Calls and outcomes of detached tasks, and checkpoints of tasks, as files. A file is written whole or not at all, and
read only if no other user could have made it.

A file is the number of its parts and their sizes (8 bytes each, little endian), then the parts: a JSON header, a
pickle, the pickle's buffers. Only its owner can access it (0600), and a file replaces another by rename. An outcome's
name is its digest; a checkpoint is named after its task and has its digest at its end.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import struct
import sys
from collections.abc import Sequence
from typing import Any

from .. import errors

_PARTS_FEWEST, _PARTS_MOST = 2, 1 << 20
_DIGEST_BYTES = 32
_HEADER_MOST = 1 << 20  # bytes: an error with its shortened traceback, ten times over
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def write_call(folder: str, task: str, parts: Sequence[Any]) -> None:
    """`parts`: the pickle of (function, args, kwargs) and its buffers."""
    _write(os.path.join(folder, f"{task}.call"), {"python": PYTHON}, parts)


def write_outcome(folder: str, task: str, facts: dict[str, Any], parts: Sequence[Any]) -> str:
    """Keeps an outcome and returns its digest, which is its name too and all that pounced must know."""
    temporary = os.path.join(folder, f"{task}.new")
    digest = _write(temporary, {"python": PYTHON, **facts}, parts)
    os.rename(temporary, os.path.join(folder, f"{digest}.outcome"))
    _sync(folder)
    return digest


def write_checkpoint(path: str, parts: Sequence[Any]) -> None:
    """Replaces the previous checkpoint, which stays until this one is whole and on the disk."""
    temporary = f"{path.removesuffix('.checkpoint')}.{os.urandom(8).hex()}.new"
    try:
        _write(temporary, {"python": PYTHON}, parts, sealed=True)
        os.rename(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync(os.path.dirname(path))


def read(path: str, digest: str = "", sealed: bool = False) -> tuple[dict[str, Any], list[bytearray]]:
    """The header and the parts after it, in memory of their own. A file with an unexpected digest is not parsed. A
    `sealed` file is a checkpoint, with the digest at its end.

    Raises ``ResultGone`` if it is not a file of pounce or its length does not fit, before memory is allocated for it,
    and ``OutOfMemory`` if there is no memory for its content.
    """
    import hashlib

    with _open_own(path) as file:
        try:
            start, sizes = _sizes(path, file, _DIGEST_BYTES if sealed else 0)
            parts = [_filled(path, file, bytearray(size)) for size in sizes]
        except MemoryError as problem:
            text = f"{path} has {os.fstat(file.fileno()).st_size} bytes, and there is no memory for them here"
            raise errors.OutOfMemory(text, "Open it where more memory is free.") from problem
        if sealed:
            digest = _filled(path, file, bytearray(_DIGEST_BYTES)).hex()
    hashed = hashlib.blake2b(start, digest_size=_DIGEST_BYTES)
    for part in parts:
        hashed.update(part)
    if digest and hashed.hexdigest() != digest:
        raise errors.ResultGone(f"{path} is not what the worker wrote: its digest differs")
    return _header(path, parts[0]), parts[1:]


def _sizes(path: str, file: Any, behind: int) -> tuple[bytes, tuple[int, ...]]:
    """The head of the file, and the sizes of its parts. `behind`: bytes that follow the last part."""
    start = _filled(path, file, bytearray(8))
    (count,) = struct.unpack("<Q", start)
    remaining = os.fstat(file.fileno()).st_size - behind - 8
    if not _PARTS_FEWEST <= count <= _PARTS_MOST or 8 * count > remaining:
        raise errors.ResultGone(f"{path} is not a file of pounce")
    start += _filled(path, file, bytearray(8 * count))
    sizes = struct.unpack_from(f"<{count}Q", start, 8)
    if sum(sizes) != remaining - 8 * count:
        raise errors.ResultGone(f"{path} is not as long as it says")
    if sizes[0] > _HEADER_MOST:
        raise errors.ResultGone(f"the header of {path} has {sizes[0]} bytes, "
                                f"and the longest that pounce writes {_HEADER_MOST}")
    return bytes(start), sizes


def _header(path: str, data: bytearray) -> dict[str, Any]:
    try:
        header = json.loads(bytes(data))
        python = header["python"]
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise errors.ResultGone(f"{path} is not a file of pounce") from problem
    if python != PYTHON:
        raise errors.VersionMismatch(f"{path} was written by Python {python}, this is Python {PYTHON}",
                                     f"Open it with Python {python}.")
    return header


def _write(path: str, header: dict[str, Any], parts: Sequence[Any], sealed: bool = False) -> str:
    import hashlib

    views = [memoryview(json.dumps(header).encode()), *(_bytes_of(part) for part in parts)]
    sizes = struct.pack(f"<{1 + len(views)}Q", len(views), *(view.nbytes for view in views))
    hashed = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600), "wb", buffering=0) as file:
        for view in (memoryview(sizes), *views):
            hashed.update(view)
            _write_all(file, view)
        if sealed:
            _write_all(file, memoryview(hashed.digest()))
        os.fsync(file.fileno())
    return hashed.hexdigest()


def _write_all(file: Any, view: memoryview) -> None:
    while view.nbytes:
        view = view[file.write(view):]  # at most 2 GiB at once


def _bytes_of(part: Any) -> memoryview:
    raw = getattr(part, "raw", None)  # a PickleBuffer, of any order
    return raw() if raw is not None else memoryview(part).cast("B")


def _open_own(path: str) -> Any:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as problem:
        raise errors.ResultGone(f"{path} cannot be read: {problem.strerror}") from problem
    facts = os.fstat(fd)
    if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o077:
        os.close(fd)
        raise errors.ResultGone(f"{path} is not this user's alone",
                                "Nothing was opened; look who else can write there.")
    return os.fdopen(fd, "rb", buffering=0)


def _filled(path: str, file: Any, part: bytearray) -> bytearray:
    view = memoryview(part)
    while view.nbytes:
        got = file.readinto(view)  # at most 2 GiB at once
        if not got:
            raise errors.ResultGone(f"{path} is shorter than it says")
        view = view[got:]
    return part


def _sync(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError:  # some network file systems cannot sync a folder; the rename is then as safe as they make it
        return
    finally:
        os.close(fd)
