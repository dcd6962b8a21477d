"""The user's own key, which signs the manifests of saved states: a file beside the states, never inside one."""

from __future__ import annotations

import contextlib
import os

from .folder import Folder
from .problems import Damaged

_NAME, _BYTES = "key", 32


def made_key(root: str) -> bytes:
    """The key of this folder of states, made if there is none. Two processes that make it at once get the same."""
    with contextlib.closing(Folder(root)) as folder:
        return _whole(folder.kept_once(_NAME, _BYTES, lambda: os.urandom(_BYTES)), folder)


def key_of(root: str) -> bytes:
    """Raises FileNotFoundError, Foreign, Damaged."""
    with contextlib.closing(Folder(root)) as folder:
        return _whole(folder.read(_NAME, _BYTES), folder)


def _whole(data: bytes, folder: Folder) -> bytes:
    if len(data) != _BYTES:
        raise Damaged(f"The key in {folder.path} is cut off. "
                      "Remove it: what was saved under it is lost, new states get a new one.")
    return data
