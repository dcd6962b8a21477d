"""Records, in a folder of the user's own: others may write to a store of MLflow's, so nothing that runs comes from it.

A record is one file: a line of JSON, and behind it bytes whose digest is in that line. The digest of the line is the
record's name, and the value of the tag ``pounce.record`` of the run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BadRequest, ResultGone

TAG, RERUN_OF = "pounce.record", "pounce.rerun_of"  # of a run: its record's name; the run that it repeats
_MOST, _MOST_BYTES = 2000, 1 << 30  # of records; the oldest are removed
_DIGEST, _RUN = re.compile(r"[0-9a-f]{64}"), re.compile(r"[\w-]{1,64}")


class Record(NamedTuple):
    """What is needed to run it again. Not written down until ``kept()``."""

    line: bytes
    data: bytes

    @property
    def name(self) -> str:
        return hashlib.sha256(self.line).hexdigest()


def of(facts: Mapping[str, Any], data: bytes = b"") -> Record:
    whole = {**facts, "data": hashlib.sha256(data).hexdigest()}
    return Record(json.dumps(whole, sort_keys=True).encode() + b"\n", data)


def kept(record: Record) -> str:
    """Writes it down, if it is not there yet. Returns its name. Blocks as the file system does."""
    path = _folder() / record.name
    if path.exists():
        os.utime(path)
        return record.name
    _write(path, record.line + record.data)
    _remove_oldest()
    return record.name


def read(name: str) -> tuple[dict[str, Any], bytes]:
    """The facts and the bytes of a record. `name`: as a run's tag says it, which others may have written.

    Raises
    ------
    BadRequest
        There is no such record of this user's here.
    ResultGone
        The file is not this user's alone, or its content is not what its name says.
    """
    path = _folder() / name
    try:
        text = _own_bytes(path) if _DIGEST.fullmatch(name) else None
    except FileNotFoundError:
        text = None
    if text is None:
        raise BadRequest(f"this run's record {name[:16]!r} is not in {path.parent}",
                         "Run it again as the user and with the home that it was run with; the oldest records are "
                         "removed.")
    line, end, data = text.partition(b"\n")
    facts: dict[str, Any] = json.loads(line) if hashlib.sha256(line + end).hexdigest() == name else {}
    if facts.get("data") != hashlib.sha256(data).hexdigest():
        raise ResultGone(f"{path} has changed since it was written", "Nothing of it was run; remove it.")
    return facts, data


# ---- which calls log into a run ----


def note_call(run: str, name: str, begins: bool) -> None:
    """A call with this record logs into the run. `begins`: it is the call that has begun it."""
    line = f"{name} {'begins' if begins else 'joins'}\n".encode()
    path = _of_run(run)
    if path is not None and line not in _lines(path):
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(line)


def calls_of(run: str) -> list[tuple[str, bool]]:
    """The records of the calls that log into the run, and whether they have begun it."""
    path = _of_run(run)
    words = (line.decode("ascii", "replace").split() for line in _lines(path)) if path is not None else ()
    return [(name, how == "begins") for name, how in words]


def _of_run(run: str) -> Path | None:
    return _private(_folder() / "runs") / run if _RUN.fullmatch(run) else None


def _lines(path: Path) -> list[bytes]:
    try:
        return _own_bytes(path).splitlines(keepends=True)
    except FileNotFoundError:
        return []


# ---- files ----


def _folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return _private(Path(state) / "pounce" / "records")


def _private(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _own_bytes(path: Path) -> bytes:
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
            raise ResultGone(f"{path} is not this user's alone",
                             "Nothing of it was run; look who else can write there.")
        return file.read()


def _write(path: Path, data: bytes) -> None:
    """All of it, or nothing."""
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _remove_oldest() -> None:
    for folder in (_folder(), _folder() / "runs"):
        files = sorted(_files(folder), key=lambda each: each[1].st_mtime, reverse=True)
        total = 0
        for count, (path, facts) in enumerate(files, 1):
            total += facts.st_size
            if count > _MOST or total > _MOST_BYTES:
                path.unlink(missing_ok=True)


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                if entry.is_file(follow_symlinks=False):
                    yield Path(entry.path), entry.stat(follow_symlinks=False)
