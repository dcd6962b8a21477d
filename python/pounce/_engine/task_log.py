"""The log of a task with a name, read while a worker writes and shortens it (src/worker/common/bounded_log.h)."""

from __future__ import annotations

import os
import re

from .. import _core

_FIRST_LINE = re.compile(rb"pounce: removed_bytes=(\d{1,18}); [^\n]{1,60}\n")
_FIRST_LINE_MOST = 128
_MOST = 2 * _core.LOG_BYTES  # of an overlong file only so much of its end is read


class TaskLog:
    """Remembers how much of the output has been shown. One thread at a time; blocks on the file system."""

    def __init__(self, path: str):
        self._path = path
        self._shown = 0

    def whole(self) -> bytes:
        """The whole kept log. Empty where the file cannot be read: the task was forgotten."""
        try:
            with open(self._path, "rb", buffering=0) as file:
                return _from(file.fileno(), 0)[1]
        except OSError:
            return b""

    def unread(self) -> bytes:
        """The output since the last call; where part of it was removed already, the line that says so."""
        try:
            with open(self._path, "rb", buffering=0) as file:
                return self._unread_of(file.fileno())
        except OSError:
            return b""

    def _unread_of(self, fd: int) -> bytes:
        removed, length = _first_line(fd)
        ahead = removed - length  # a byte's position in the output minus its position in the file
        place, data = _from(fd, self._shown - ahead if self._shown >= removed else 0)
        if _first_line(fd) != (removed, length):  # shortened meanwhile: the next call reads it
            return b""
        self._shown = max(self._shown, place + ahead + len(data))
        return data


def _first_line(fd: int) -> tuple[int, int]:
    """How many bytes were removed, and the length of the line that says so."""
    match = _FIRST_LINE.match(os.pread(fd, _FIRST_LINE_MOST, 0))
    return (int(match[1]), match.end()) if match else (0, 0)


def _from(fd: int, place: int) -> tuple[int, bytes]:
    """The bytes from `place` to the end, and where they begin: later than `place` if there is too much."""
    size = os.fstat(fd).st_size
    place = max(place, size - _MOST)
    return place, os.pread(fd, max(size - place, 0), place)
