"""The current folder, which may have been removed: it still has its name, and a new folder may have that name.

A process stays in its folder when that is removed, and ``os.getcwd()`` fails there. User code sees that as in any
Python; pounce itself needs only the name.
"""

from __future__ import annotations

import os

_REMOVED = " (deleted)"  # as Linux marks it (proc(5), /proc/pid/cwd)


def folder() -> str:
    """Its name, whether it exists or not. Raises FileNotFoundError if it is gone and this system does not tell its
    former name.
    """
    try:
        return os.getcwd()
    except FileNotFoundError:
        try:
            return os.readlink("/proc/self/cwd").removesuffix(_REMOVED)
        except OSError:
            text = "the folder that this process is in was removed; os.chdir() into one that is there"
            raise FileNotFoundError(text) from None


def absolute(path: str) -> str:
    """``os.path.abspath`` that also works in a removed folder."""
    return os.path.normpath(path if os.path.isabs(path) else os.path.join(folder(), path))


def follow() -> None:
    """Changes into the new folder if the current one was removed and made again. Else takes under a microsecond."""
    try:
        os.getcwd()
    except FileNotFoundError:
        try:
            os.chdir(folder())
        except OSError:  # there is no new one: user code sees the removed one
            return
