"""Keeps files beside the notebook from hiding modules of the standard library on a worker.

A notebook's kernel imported most of these modules before its folder came onto ``sys.path``: there `import random` is
the library's although the folder has a file of that name. A worker begins with fewer, so user code and pounce's own
late imports would find the file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

# Modules that pounce and its imports need after a worker has begun. The client may not have them: it may be a program
# and no notebook. tests/python/standard_library_test.py compares the list with the imports.
_OF_POUNCE = (
    "array", "asyncio", "base64", "binascii", "bisect", "bz2", "contextvars", "ctypes", "datetime", "errno",
    "fcntl", "fnmatch", "getpass", "hashlib", "heapq", "hmac", "html", "ipaddress", "json", "locale", "lzma",
    "mmap", "ntpath", "pathlib", "queue", "random", "select", "selectors", "shutil", "signal", "socket", "ssl",
    "subprocess", "sysconfig", "tempfile", "termios", "urllib", "zlib")


class _Finder:
    """Comes before the finder that goes through ``sys.path``."""

    def __init__(self, names: frozenset[str], folders: list[str]):
        self._names, self._folders = names, folders

    def find_spec(self, name: str, path: object = None, target: ModuleType | None = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, self._folders, target) if name in self._names else None


def stays(notebooks: Iterable[str]) -> None:
    """Protects pounce's modules and `notebooks`: those that the notebook's kernel imported from the library."""
    folder = os.path.dirname(os.__file__)
    folders = [entry for entry in sys.path if entry in (folder, os.path.join(folder, "lib-dynload"))]
    finders: list[object] = [*sys.meta_path]
    place = finders.index(PathFinder) if PathFinder in finders else len(finders)
    sys.meta_path.insert(place, _Finder(frozenset(notebooks).union(_OF_POUNCE), folders))
