"""A file for node_exporter's textfile collector: always whole, and counters that go on after a restart."""

from __future__ import annotations

import os
from pathlib import Path

from ...errors import BadRequest, PounceError
from .counted import Counted


class TextFile:
    """`FILE.prom`, readable for all as node_exporter runs as another user; and beside it `.FILE.counted`, which is its
    owner's. A write is a new file that takes the old one's place."""

    def __init__(self, path: Path):
        if path.suffix != ".prom":
            raise BadRequest(f"--textfile takes a file that ends in .prom, not {path.name!r}",
                             "node_exporter reads no other: --textfile DIRECTORY/pounce.prom.")
        self._path, self._counted = path, path.with_name(f".{path.stem}.counted")

    def write(self, text: bytes, counted: Counted | None) -> None:
        try:
            _replace(self._path, text, 0o644)
            if counted is not None:
                _replace(self._counted, counted.as_text().encode(), 0o600)
        except OSError as error:
            raise PounceError(f"{self._path} cannot be written: {error.strerror}",
                              "Name a file in a folder of yours that node_exporter reads.") from None

    def counted(self) -> Counted:
        """What was counted so far."""
        try:
            return Counted.from_text(self._counted.read_text())
        except (OSError, ValueError):
            return Counted()


def _replace(path: Path, content: bytes, mode: int) -> None:
    fresh = path.with_name(f".{path.name}.{os.getpid()}")  # the collector skips what does not end in .prom
    fresh.unlink(missing_ok=True)  # of a process that was killed
    try:
        handle = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, mode)
        with open(handle, "wb") as file:
            os.fchmod(handle, mode)
            file.write(content)
        os.replace(fresh, path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
