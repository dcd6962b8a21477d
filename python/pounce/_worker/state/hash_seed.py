"""The seed of hash() on workers: all of a user's workers on a cluster share it, so that objects that store a hash stay
valid.

It lies beside the saved variables, which outlive workers, kernels and boots. Other users must not read it: with the
seed an attacker can make keys that all collide.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from .folder import Folder
from .problems import StateError

VARIABLE = "PYTHONHASHSEED"
_NAME, _LONGEST = "hash_seed", 16
_MOST = 2**32 - 1  # Python's limit
_made_here = ""  # this process's own seed, if none can be stored


def hash_seed(root: str) -> str:
    """The seed that workers of this process start with. `root`: the folder of the user's saved states."""
    global _made_here
    seed = _of_this_process()
    if seed:
        return seed
    try:
        return _kept(root)
    except (OSError, StateError):
        # Saving variables there meets the same problem, and reports it.
        _made_here = _made_here or _drawn()
        return _made_here


def _of_this_process() -> str:
    """The seed that this Python started with; empty: it drew one, which cannot be read.

    Setting the variable later changes nothing here, nor in Python.
    """
    if sys.flags.ignore_environment:
        return ""
    seed = _began_with().get(VARIABLE, "")
    return str(int(seed)) if _is_seed(seed) else ""


def _began_with() -> dict[str, str]:
    with contextlib.suppress(OSError):
        variables = Path("/proc/self/environ").read_bytes().split(b"\0")
        return dict(os.fsdecode(one).partition("=")[::2] for one in variables)
    return dict(os.environ)


def _kept(root: str) -> str:
    with contextlib.closing(Folder.made(root)) as folder:
        seed = folder.kept_once(_NAME, _LONGEST, lambda: _drawn().encode()).decode("ascii", "replace")
        if not _is_seed(seed):  # it was cut off
            folder.write(_NAME, [memoryview(_drawn().encode())])
            seed = folder.read(_NAME, _LONGEST).decode("ascii", "replace")
        return seed


def _drawn() -> str:
    """Not 0, which would switch the protection off."""
    return str(1 + int.from_bytes(os.urandom(8), "big") % _MOST)


def _is_seed(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) <= _MOST
