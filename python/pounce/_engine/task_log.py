"""The log of a task with a name, read while a worker writes it and shortens it (src/worker/common/bounded_log.h)."""

from __future__ import annotations

import os
import re

from .. import _core

_FIRST_LINE = re.compile(rb"pounce: removed_bytes=(\d{1,18}); [^\n]{1,60}\n")
_FIRST_LINE_MOST = 128
_MOST = 2 * _core.LOG_BYTES  # of a file that is longer than the worker lets it grow, the end


class TaskLog:
    """Remembers how much of all that was printed has been shown. Thread: one at a time; blocks as the file system does."""

    def __init__(self, path: str):
        self._path = path
        self._shown = 0

    def whole(self) -> bytes:
        """What is kept. Empty where the file cannot be read: the task was forgotten."""
        try:
            with open(self._path, "rb", buffering=0) as file:
                return _from(file.fileno(), 0)[1]
        except OSError:
            return b""

    def skip(self) -> None:
        """What is there now counts as shown."""
        self.news()

    def news(self) -> bytes:
        """What was printed since the last call, once; where it was removed before we came, the line that says so."""
        try:
            with open(self._path, "rb", buffering=0) as file:
                return self._news(file.fileno())
        except OSError:
            return b""

    def _news(self, fd: int) -> bytes:
        removed, length = _first_line(fd)
        ahead = removed - length  # of where a byte lies in the file, to how many were printed before it
        place, data = _from(fd, self._shown - ahead if self._shown >= removed else 0)
        if _first_line(fd) != (removed, length):  # shortened meanwhile: at the next call
            return b""
        self._shown = max(self._shown, place + ahead + len(data))
        return data


def _first_line(fd: int) -> tuple[int, int]:
    """How many bytes were removed, and the length of the line that says so."""
    found = _FIRST_LINE.match(os.pread(fd, _FIRST_LINE_MOST, 0))
    return (int(found[1]), found.end()) if found else (0, 0)


def _from(fd: int, place: int) -> tuple[int, bytes]:
    """Where it begins, which is later if there is too much, and what stands from there to the end."""
    size = os.fstat(fd).st_size
    place = max(place, size - _MOST)
    return place, os.pread(fd, max(size - place, 0), place)
