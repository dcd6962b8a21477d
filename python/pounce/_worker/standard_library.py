"""Modules of the standard library stay what they are on a worker, whatever files lie beside the notebook.

In a notebook's kernel most of them were imported before its folder came onto ``sys.path``: `import random` is the library's there
although the folder has a file of that name. A worker begins with fewer, so that the file would be found, by user code and by what
pounce imports when it needs it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

# What pounce imports when a worker has begun, with what that imports, and what a kernel need not have: a program that is no notebook.
# tests/python/standard_library_test.py compares it with the imports.
_OF_POUNCE = (
    "array", "asyncio", "base64", "binascii", "contextvars", "ctypes", "datetime", "fcntl", "getpass", "hashlib", "heapq", "hmac",
    "html", "json", "locale", "mmap", "queue", "select", "selectors", "signal", "socket", "ssl", "subprocess", "sysconfig", "termios")


class _Finder:
    """Before the one that goes through ``sys.path``."""

    def __init__(self, names: frozenset[str], folders: list[str]):
        self._names, self._folders = names, folders

    def find_spec(self, name: str, path: object = None, target: ModuleType | None = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, self._folders, target) if name in self._names else None


def stays(notebooks: Iterable[str]) -> None:
    """From now on, those of pounce and of the notebook: its kernel imported them from the library."""
    folder = os.path.dirname(os.__file__)
    folders = [entry for entry in sys.path if entry in (folder, os.path.join(folder, "lib-dynload"))]
    finders: list[object] = [*sys.meta_path]
    place = finders.index(PathFinder) if PathFinder in finders else len(finders)
    sys.meta_path.insert(place, _Finder(frozenset(notebooks).union(_OF_POUNCE), folders))
