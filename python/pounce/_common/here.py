"""The folder that this process is in, which may have been removed: it has its name still, and a new folder may have that name.

To a process a removed folder stays where it was, and ``os.getcwd()`` fails there. User code meets that as in any Python; what
pounce itself needs is the name.
"""

from __future__ import annotations

import os

_REMOVED = " (deleted)"  # as Linux marks it (proc(5), /proc/pid/cwd)


def folder() -> str:
    """Its name, whether it is there or not.

    Raises
    ------
    FileNotFoundError
        It is gone, and this system does not tell what its name was.
    """
    try:
        return os.getcwd()
    except FileNotFoundError:
        try:
            return os.readlink("/proc/self/cwd").removesuffix(_REMOVED)
        except OSError:
            raise FileNotFoundError("the folder that this process is in was removed; os.chdir() into one that is there") from None


def absolute(path: str) -> str:
    """``os.path.abspath``, in a removed folder too."""
    return os.path.normpath(path if os.path.isabs(path) else os.path.join(folder(), path))


def follow() -> None:
    """If the folder was removed and made anew: into the new one. Less than a microsecond where it was not."""
    try:
        os.getcwd()
    except FileNotFoundError:
        try:
            os.chdir(folder())
        except OSError:  # there is none: user code meets the removed one
            return
