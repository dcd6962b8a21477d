"""The environments of projects, found again by their content. Each is made once, by one process at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

from .._engine.mlflow_stores import disk_of_this_machine
from ..errors import BadRequest
from .environment_build import Recipe

_DONE = ".pounce-complete"  # in an environment that was made to its end
_LOOK_S = 0.2  # between two looks at a lock that another process holds
_SEEN_WITHIN_S = 60.0  # NFS remembers so long that a file was not there

# Makes the environment, and returns who did, in words. It gets the lock's descriptor, and the token in its file.
Builder = Callable[[Recipe, int, str], str]


def cache() -> Path:
    """Nodes see it, as they see the home."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pounce" / "mlflow-environments"


def is_there(recipe: Recipe) -> bool:
    return (Path(recipe.prefix) / _DONE).exists()


def made(recipe: Recipe, build: Builder) -> str:
    """The prefix of the environment. Blocks while it is made, by this process or another one. What fails or is stopped
    leaves nothing.

    Raises
    ------
    BadRequest, ...
        As `build` does.
    """
    if is_there(recipe):
        return recipe.prefix
    cache().mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(recipe) as (lock, token):
        if is_there(recipe):  # another process has made it meanwhile
            return recipe.prefix
        _remove(recipe)  # what a killed process left
        began = time.monotonic()
        _say(f"making the project's environment in {recipe.prefix}")
        try:
            maker = build(recipe, lock, token)
            _mark_complete(recipe)
        except BaseException:
            _remove(recipe)
            raise
        _say(f"{maker} made the project's environment in {time.monotonic() - began:.0f} s")
    return recipe.prefix


def other_disk() -> str:
    """The kind of this machine's disk on which the cache lies, if that is not where the home lies; else empty. The
    home, where the job's script lies, is what nodes see."""
    kind = disk_of_this_machine(str(cache()))
    return kind if kind and _device(cache()) != _device(Path.home()) else ""


def _device(path: Path) -> int:
    while not path.exists():
        path = path.parent
    return path.stat().st_dev


@contextlib.contextmanager
def _locked(recipe: Recipe) -> Iterator[tuple[int, str]]:
    """The lock ends with the process that holds it and the programs that this has started. Its file says which it is,
    and has the token by which a node knows that it sees the same folder."""
    with open(f"{recipe.prefix}.lock", "a+") as file:
        try:
            if not _is_taken(file):
                _say(f"waiting for {_holder(file)}, which makes the project's environment")
                while not _is_taken(file):
                    time.sleep(_LOOK_S)
        except OSError as problem:
            raise BadRequest(f"{cache()} lies on a file system without locks: {problem.strerror}",
                             "Name a folder on another one with XDG_CACHE_HOME.") from None
        token = uuid.uuid4().hex
        file.truncate(0)
        file.write(f"{os.uname().nodename} {os.getpid()} {token}\n")
        file.flush()
        os.fsync(file.fileno())
        yield file.fileno(), token


def _is_taken(file: TextIO) -> bool:
    """Whether this process has the lock now."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(file: TextIO) -> str:
    file.seek(0)
    words = file.read().split()
    return f"process {words[1]} on {words[0]}" if len(words) == 3 else "another run"


def _mark_complete(recipe: Recipe) -> None:
    """By the process that submits: so it has seen the folder that a node has made."""
    deadline = time.monotonic() + _SEEN_WITHIN_S
    while not os.path.isdir(recipe.prefix):
        if time.monotonic() > deadline:
            raise BadRequest(f"this machine does not see {recipe.prefix}, which was just made there",
                             "Name a folder that the nodes and this machine see with XDG_CACHE_HOME.")
        seen = cache() / f"looked.{os.getpid()}"  # NFS then asks again
        seen.touch(mode=0o600)
        seen.unlink()
        time.sleep(0.1)
    (Path(recipe.prefix) / _DONE).touch()


def _remove(recipe: Recipe) -> None:
    shutil.rmtree(recipe.prefix, ignore_errors=True)


def _say(text: str) -> None:
    print(f"pounce: {text}", file=sys.stderr, flush=True)
