"""The user's own key, under which the lists of saved states are signed: a file beside the states, never inside one."""

from __future__ import annotations

import contextlib
import os

from .folder import Folder
from .problems import Damaged

_NAME, _BYTES = "key", 32


def made_key(root: str) -> bytes:
    """That of this folder of states, made where there is none. Two processes that make it at once have the same."""
    folder = Folder(root)
    try:
        with contextlib.suppress(FileNotFoundError):
            return _read(folder)
        with contextlib.suppress(FileExistsError):
            folder.write_once(_NAME, memoryview(os.urandom(_BYTES)))
        return _read(folder)
    finally:
        folder.close()


def key_of(root: str) -> bytes:
    """
    Raises
    ------
    FileNotFoundError, Foreign, Damaged
    """
    folder = Folder(root)
    try:
        return _read(folder)
    finally:
        folder.close()


def _read(folder: Folder) -> bytes:
    data = folder.read(_NAME, _BYTES)
    if len(data) != _BYTES:
        raise Damaged(f"The key in {folder.path} is cut off. Remove it: what was saved under it is lost, new states get a new one.")
    return data
