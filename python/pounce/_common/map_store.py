"""The kept results of a map with a name: a private folder of the user, with a file for each chunk of its results.

A file is written whole or not at all. The kernel writes there, and so do workers that see the folder; a later kernel
continues the map.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
from typing import Any, NamedTuple

from .. import errors
from . import result_store, serialize
from .machine import is_private_folder

_CHUNK = re.compile(r"(\d{9,})\.chunk")


class Kept(NamedTuple):
    """A folder for chunks, in the form that is sent to workers."""

    folder: str
    owner: str  # the kernel that runs the map; another kernel that continues it becomes the owner

    def is_here(self) -> bool:
        """Whether this process sees the folder. Raises ``NameTaken`` if another kernel has continued the map."""
        try:
            with open(os.path.join(self.folder, "owner"), encoding="ascii") as file:
                owner = file.read()
        except OSError:
            return False
        if owner != self.owner:
            raise errors.NameTaken(f"another kernel goes on with the map {os.path.basename(self.folder)}",
                                   "Its results are there.")
        return is_private_folder(self.folder)

    def write(self, number: int, digest: str, values: list[Any]) -> None:
        """Blocks until it is on the disk. `digest`: of the items that gave these values."""
        data, buffers, objects = serialize.dumps((digest, values))
        if objects:
            raise errors.BadRequest("a pounce.Ref cannot be kept in a map with a name", "Return the value itself.")
        result_store.write_checkpoint(self._path(number), [data, *buffers])

    def read(self, number: int) -> tuple[str, list[Any]]:
        """Raises ``ResultGone`` if the file is not whole, or others can access it."""
        _, (data, *buffers) = result_store.read(self._path(number), sealed=True)
        digest, values = serialize.loads(data, buffers)
        return digest, values

    def _path(self, number: int) -> str:
        return os.path.join(self.folder, f"{number:09}.chunk")


class MapStore:
    """A map's folder, used by one kernel at a time. Thread: one at a time; blocks as the file system does.

    Raises NameTaken if another kernel uses it, or if the kept results are of another function or other chunks, and
    ResultGone if others could have written there.
    """

    def __init__(self, home: str, name: str, facts: dict[str, Any]):
        folder = os.path.join(home, name)
        for each in (home, folder):
            with contextlib.suppress(FileExistsError):
                os.mkdir(each, 0o700)
            if not is_private_folder(each):
                raise errors.ResultGone(f"{each} is not this user's alone",
                                        "Nothing was read or written; look who else can write there.")
        self._lock = _locked(folder)
        try:
            _check(os.path.join(folder, "map"), name, facts)
            self.kept = Kept(folder, os.urandom(16).hex())
            self._take()
            self.done = {int(match[1]) for each in os.listdir(folder) if (match := _CHUNK.fullmatch(each))}
        except BaseException:
            self.release()
            raise

    def _take(self) -> None:
        """From now on no worker begins a chunk for another kernel."""
        path = os.path.join(self.kept.folder, "owner")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        with open(os.open(f"{path}.new", flags, 0o600), "w", encoding="ascii") as file:
            file.write(self.kept.owner)
        os.rename(f"{path}.new", path)

    def release(self) -> None:
        """Lets another kernel continue the map. Idempotent."""
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1

    def __del__(self) -> None:
        if getattr(self, "_lock", -1) >= 0:
            self.release()


def _locked(folder: str) -> int:
    """The kernel's lock, which ends with its process. On a file system without locks there is none."""
    lock = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        os.close(lock)
        name = os.path.basename(folder)
        text = f"another kernel is at the map {name}"
        raise errors.NameTaken(text, "Wait for it or stop it, or use another name=.") from None
    except OSError:
        pass
    return lock


def _check(path: str, name: str, facts: dict[str, Any]) -> None:
    """Checks that the kept results are of the same map; for a new map, writes its facts down."""
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
    """Removes the kept results of a map. False: there is none of that name."""
    folder = os.path.join(home, name)
    if not os.path.lexists(os.path.join(folder, "map")):
        return False
    if not is_private_folder(folder):
        raise errors.ResultGone(f"{folder} is not this user's alone",
                                "Nothing was removed; look who else can write there.")
    lock = _locked(folder)
    try:
        shutil.rmtree(folder)
    finally:
        os.close(lock)
    return True
