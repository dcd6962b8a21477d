"""The folders of cells that go on without their kernel: one for each, of this user alone, in his state folder."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import shutil
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .. import errors
from .._common.cell_protocol import CellEnd, CellError
from .._common.machine import is_private_folder

BEAT, END, _ABOUT = "beat", "end", "about.json"
SILENT_S = 30.0  # the worker of a running cell writes BEAT every two
_MOST_BYTES = 64 * 1024 * 1024  # of END: the value and figures below it
_LEAST_KEPT_S = 3600.0
_LONGEST_WAIT_S = 30 * 86400.0
_SHOWN_ID = 8


@dataclass
class Record:
    """One cell. What its kernel wrote when it was sent, and what its worker has written since."""

    folder: str
    about: dict[str, Any]
    _end: tuple[tuple[int, int], dict[str, int], CellEnd] | None = None  # as it was read

    @property
    def id(self) -> str:
        return os.path.basename(self.folder)

    @property
    def name(self) -> str:
        """The one of ``--name``, else the beginning of its id."""
        return str(self.about.get("name") or self.id[:_SHOWN_ID])

    @property
    def cell(self) -> int:
        return int(self.about.get("cell", 0))

    def end(self) -> CellEnd | None:
        """What the cell did; None: it has not ended."""
        found = self._read_end()
        return found[1] if found is not None else None

    def totals(self) -> dict[str, int]:
        """How many lines and displays it has made, once it has ended."""
        found = self._read_end()
        return found[0] if found is not None else {}

    def _read_end(self) -> tuple[dict[str, int], CellEnd] | None:
        """A kernel that lost its worker may have written another end than the worker has since."""
        path = os.path.join(self.folder, END)
        try:
            made = os.stat(path)
            if self._end is None or self._end[0] != (made.st_ino, made.st_mtime_ns):
                self._end = (made.st_ino, made.st_mtime_ns), *_decoded(path)
            return self._end[1:]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError) as error:
            text = f"the end of {self.name} cannot be read: {error}"
            return {}, CellEnd(self.cell, 0.0, error=CellError("Damaged", text, [], "", "", None, b""))

    def beat(self) -> int:
        """When its worker last wrote, by the file system's clock; 0: it has not begun."""
        try:
            return os.stat(os.path.join(self.folder, BEAT)).st_mtime_ns
        except OSError:
            return 0

    def state(self) -> str:
        """``waiting``, ``running``, ``silent``, ``done`` or ``failed``."""
        end = self.end()
        if end is not None:
            return "failed" if end.error is not None else "done"
        beat = self.beat()
        if not beat:
            return "silent" if self._has_lost_its_kernel() else "waiting"
        return "running" if time.time() - beat / 1e9 < 2 * SILENT_S else "silent"

    def _has_lost_its_kernel(self) -> bool:
        """As far as it can be seen from here. A cell that waits is in its kernel's memory alone."""
        if self.about.get("host") != socket.gethostname():
            return False
        return not os.path.isdir(f"/proc/{self.about.get('pid')}")

    def when(self) -> float:
        end = self.end()
        return end.ended if end is not None and end.ended else float(self.about.get("began", 0))

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "id": self.id, "state": self.state(), "cell": self.cell,
                "notebook": self.about.get("notebook", ""), "began": self.about.get("began", 0),
                "ended": self.when() if self.end() is not None else None, "line": self.about.get("line", "")}

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def root_of(saved_states: str) -> str:
    """Where they lie: beside the saved variables."""
    return os.path.join(os.path.dirname(saved_states), "cells")


def made(root: str, about: dict[str, Any]) -> Record:
    """Raises OSError where it cannot be written."""
    with contextlib.suppress(FileExistsError):
        os.makedirs(root, 0o700)
    record = Record(os.path.join(root, os.urandom(8).hex()), about)
    os.mkdir(record.folder, 0o700)
    try:
        _write(record, _ABOUT, json.dumps(about).encode())
    except OSError:
        record.remove()
        raise
    return record


def end_by_kernel(record: Record, error: BaseException) -> None:
    """Writes the end of a cell whose worker could not, as its kernel heard it. One that never began leaves nothing."""
    if not record.beat():
        return record.remove()
    if record.end() is not None:
        return
    end = CellEnd(record.cell, time.time(), error=CellError(type(error).__name__, str(error), [], "", "", None, b""))
    with contextlib.suppress(OSError):
        _write(record, END, b"{}\n" + end.encoded())


def records(root: str) -> list[Record]:
    """The newest first. Folders that are not the user's alone are left out."""
    try:
        names = os.listdir(root)
    except OSError:
        return []
    found = [record for name in names if (record := _read(os.path.join(root, name))) is not None]
    return sorted(found, key=lambda record: -float(record.about.get("began", 0)))


def remove_old(root: str, keep_s: float) -> None:
    """Removes those that ended, or were heard of last, longer ago; one that waits after a month."""
    for record in records(root):
        state = record.state()
        keep = _LONGEST_WAIT_S if state == "waiting" else max(keep_s, _LEAST_KEPT_S)
        if state != "running" and max(record.when(), record.beat() / 1e9) < time.time() - keep:
            record.remove()


def find(root: str, name: str, prefers: Callable[[Record], bool] = lambda _: True) -> Record:
    """The cell of that name, or whose id begins so: the newest of several. Without a name the newest cell, of those
    that the caller `prefers` if there is one."""
    found = records(root)
    if not name:
        chosen = next(filter(prefers, found), None) or next(iter(found), None)
        if chosen is None:
            raise errors.BadRequest("no cell has gone on without its kernel yet",
                                    "%%pounce --bg and %%pounce --keep begin one.")
        return chosen
    for record in found:
        if name in (record.name, record.id) or (len(name) >= 4 and record.id.startswith(name)):
            return record
    raise errors.BadRequest(f"there is no cell {name}{_nearest(name, [record.name for record in found])}",
                            "%pounce attach --list, or pouncectl attach --list, names them; those that ended are kept "
                            "as long as saved variables.")


def _nearest(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, 1, 0.5)
    return f"; did you mean {near[0]}?" if near else ""


def _decoded(path: str) -> tuple[dict[str, int], CellEnd]:
    with open(path, "rb") as file:
        head, _, rest = file.read(_MOST_BYTES).partition(b"\n")
    return dict(json.loads(head)), CellEnd.decoded(rest)


def _read(folder: str) -> Record | None:
    if not is_private_folder(folder):
        return None
    try:
        with open(os.path.join(folder, _ABOUT), "rb") as file:
            return Record(folder, dict(json.loads(file.read(1 << 20))))
    except (OSError, ValueError, TypeError):
        return None


def _write(record: Record, name: str, data: bytes) -> None:
    path = os.path.join(record.folder, name)
    fd = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
    os.rename(f"{path}.new", path)
