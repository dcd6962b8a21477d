"""What is kept of a map with a name: a folder of this user's alone, with a file for each chunk of its results, written whole or not
at all. The kernel and, where they see the folder, its workers write there; a later kernel goes on from it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import stat
from typing import Any, NamedTuple

from .. import errors
from . import result_store, serialize

_CHUNK = re.compile(r"(\d{9,})\.chunk")


class Kept(NamedTuple):
    """A place for chunks, as a worker is told of it."""

    folder: str
    owner: str  # the kernel whose map it is; another one that goes on with it takes its place

    def is_here(self) -> bool:
        """Whether this process sees the folder. Raises ``NameTaken`` where another kernel goes on with the map."""
        try:
            with open(os.path.join(self.folder, "owner"), encoding="ascii") as file:
                owner = file.read()
        except OSError:
            return False
        if owner != self.owner:
            raise errors.NameTaken(f"another kernel goes on with the map {os.path.basename(self.folder)}", "Its results are there.")
        return _is_own(self.folder)

    def write(self, number: int, digest: str, values: list[Any]) -> None:
        """Blocks until it is on the disk. `digest`: of the items that they are of."""
        data, buffers, objects = serialize.dumps((digest, values))
        if objects:
            raise errors.BadRequest("a pounce.Ref cannot be kept in a map with a name", "Return the value itself.")
        result_store.write_checkpoint(self._path(number), [data, *buffers])

    def read(self, number: int) -> tuple[str, list[Any]]:
        """Raises ``ResultGone`` where it is not whole, or not this user's alone."""
        _, (data, *buffers) = result_store.read(self._path(number), sealed=True)
        digest, values = serialize.loads(data, buffers)
        return digest, values

    def _path(self, number: int) -> str:
        return os.path.join(self.folder, f"{number:09}.chunk")


class MapStore:
    """A map's folder in the hands of one kernel at a time. Thread: one at a time; blocks as the file system does.

    Raises
    ------
    NameTaken
        Another kernel is at it; or what is kept is of another function or other chunks.
    ResultGone
        Others could have written there.
    """

    def __init__(self, home: str, name: str, facts: dict[str, Any]):
        folder = os.path.join(home, name)
        for each in (home, folder):
            with contextlib.suppress(FileExistsError):
                os.mkdir(each, 0o700)
            if not _is_own(each):
                raise errors.ResultGone(f"{each} is not this user's alone", "Nothing was read or written; look who else can write there.")
        self._lock = _locked(folder)
        try:
            _check(os.path.join(folder, "map"), name, facts)
            self.kept = Kept(folder, os.urandom(16).hex())
            self._take()
            self.done = {int(found[1]) for each in os.listdir(folder) if (found := _CHUNK.fullmatch(each))}
        except BaseException:
            self.release()
            raise

    def _take(self) -> None:
        """From now on no worker begins a chunk for another kernel."""
        path = os.path.join(self.kept.folder, "owner")
        with open(os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w", encoding="ascii") as file:
            file.write(self.kept.owner)
        os.rename(f"{path}.new", path)

    def release(self) -> None:
        """Another kernel may go on with it. Twice is once."""
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1

    def __del__(self) -> None:
        if getattr(self, "_lock", -1) >= 0:
            self.release()


def _locked(folder: str) -> int:
    """The kernel's lock, which ends with its process. A file system without locks has none."""
    lock = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        os.close(lock)
        name = os.path.basename(folder)
        raise errors.NameTaken(f"another kernel is at the map {name}", "Wait for it or stop it, or use another name=.") from None
    except OSError:
        pass
    return lock


def _check(path: str, name: str, facts: dict[str, Any]) -> None:
    """That what is kept is of the same map; of a new one it is written down what it is."""
    if not os.path.lexists(path):
        result_store.write_checkpoint(path, [json.dumps(facts).encode()])
        return
    _, (data,) = result_store.read(path, sealed=True)
    before = json.loads(bytes(data))
    for word, what in (("function", "another function"), ("chunksize", f"chunksize={before.get('chunksize')}")):
        if before.get(word) != facts[word]:
            raise taken(name, what)


def taken(name: str, what: str) -> errors.NameTaken:
    remedy = f"Go on with that, use another name=, or have client.forget({name!r}) remove what is kept."
    return errors.NameTaken(f"the map {name} was begun with {what}, and its results are kept", remedy)


def forget(home: str, name: str) -> bool:
    """Removes what is kept of a map. False: there is none of that name."""
    folder = os.path.join(home, name)
    if not os.path.lexists(os.path.join(folder, "map")):
        return False
    if not _is_own(folder):
        raise errors.ResultGone(f"{folder} is not this user's alone", "Nothing was removed; look who else can write there.")
    lock = _locked(folder)
    try:
        shutil.rmtree(folder)
    finally:
        os.close(lock)
    return True


def _is_own(folder: str) -> bool:
    try:
        facts = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid() and not facts.st_mode & 0o077
