"""One file for each endpoint of this user on this machine, which only the user can read: its port and its token.

So a name is taken once, and a terminal finds the endpoints of all notebooks. A file outlives a process that was killed;
the next look at it removes it.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import NamedTuple

from .. import errors
from .._common.machine import boot_id, is_private_folder

_FOLDER = "endpoints"
_MOST_BYTES = 16_384


class Entry(NamedTuple):
    """What a file says."""

    name: str
    serves: str  # "models:/digits/3"
    port: int
    token: str
    pid: int
    started: str  # of that process, as the kernel counts it
    boot: str
    folder: str  # that the process runs in
    since: float  # seconds since 1970

    def is_alive(self) -> bool:
        return self.boot == boot_id() and self.started != "" and self.started == start_of(self.pid)


def start_of(pid: int) -> str:
    """When that process has started; a later process of the same number has another start. Empty: there is none."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def add(entry: Entry) -> str:
    """Returns the path. Raises NameTaken, and BadRequest where there is no folder that is the user's alone."""
    folder = _folder()
    path, draft = os.path.join(folder, entry.name), os.path.join(folder, f".{entry.pid}-{os.urandom(6).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(draft, flags, 0o600), "w", encoding="utf-8") as file:
        json.dump(entry._asdict(), file)
    try:
        for _ in range(3):
            try:
                os.link(draft, path)
                return path
            except FileExistsError:
                other = find(entry.name)  # which removes it, if its process is gone
            if other is not None:
                raise errors.NameTaken(f"process {other.pid} serves {other.serves} under the name {entry.name}",
                                       "Give another name=, or stop that one: pouncectl serve stop " + entry.name)
    finally:
        os.unlink(draft)
    raise errors.NameTaken(f"another process takes the name {entry.name} again and again", "Give another name=.")


def find(name: str) -> Entry | None:
    """The endpoint of that name; None: there is none."""
    return _read(os.path.join(_folder(), name))


def all_entries() -> list[Entry]:
    """The oldest first."""
    folder = _folder()
    names = [name for name in os.listdir(folder) if not name.startswith(".")]
    found = [_read(os.path.join(folder, name)) for name in names]
    return sorted((entry for entry in found if entry is not None), key=lambda entry: entry.since)


def remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _read(path: str) -> Entry | None:
    """Removes a file whose process is gone, or that says nothing."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), encoding="utf-8") as file:
            entry = Entry(**json.loads(file.read(_MOST_BYTES)))
        if entry.is_alive() and entry.name == os.path.basename(path):
            return entry
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError):
        pass
    remove(path)
    return None


def _folder() -> str:
    """Makes it where it is not there."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    base = os.path.join(runtime, "pounce") if runtime and is_private_folder(runtime) else f"/tmp/pounce-{os.geteuid()}"
    folder = os.path.join(base, _FOLDER)
    for each in (base, folder):
        with contextlib.suppress(FileExistsError):
            os.mkdir(each, 0o700)
        if not is_private_folder(each):
            raise errors.BadRequest(f"{each} is not this user's alone, and the token of an endpoint would be there",
                                    "Set XDG_RUNTIME_DIR to a folder of your own with mode 700.")
    return folder
