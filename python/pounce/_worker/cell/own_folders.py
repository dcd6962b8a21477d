"""Folders of saved state on this node alone, which live as long as this process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator

from ..state.key import made_key

_LOCK = "lock"


class OwnFolders:
    """Makes them in the node's folder for temporary files. A process removes those of processes that were killed."""

    def __init__(self) -> None:
        self._root = ""
        self._lock = -1  # held by this process and its children

    def folder(self, name: str) -> str:
        """The folder of a notebook's state, made if there is none. The key beside it is this process's own.

        Raises
        ------
        OSError
        """
        if not self._root:
            self._make()
        path = os.path.join(self._root, name)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        return path

    def holds(self, path: str) -> bool:
        return bool(self._root) and os.path.dirname(path) == self._root

    def remove(self) -> None:
        if self._root:
            shutil.rmtree(self._root, ignore_errors=True)
            os.close(self._lock)
            self._root = ""

    def _make(self) -> None:
        for other in _others():
            _remove_if_left(other)
        root = tempfile.mkdtemp(prefix=_prefix())
        new = os.path.join(root, f".{_LOCK}")  # it is renamed when it is held: another process may look just now
        self._lock = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        os.rename(new, os.path.join(root, _LOCK))
        made_key(root)
        self._root = root


def _prefix() -> str:
    return f"pounce-state-{os.geteuid()}-"


def _others() -> Iterator[str]:
    folder = tempfile.gettempdir()
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if name.startswith(_prefix()) and _is_own_folder(path):
                yield path


def _is_own_folder(path: str) -> bool:
    with contextlib.suppress(OSError):
        facts = os.lstat(path)
        return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid()
    return False


def _remove_if_left(path: str) -> None:
    with contextlib.suppress(OSError):
        lock = os.open(os.path.join(path, _LOCK), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: its process lives
            shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(lock)
