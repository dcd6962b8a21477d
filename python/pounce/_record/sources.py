"""The files of a project's folder: the small ones are kept with the record, and of each one it is known what it was."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

_SMALL = 1 << 20            # bytes of a file that is kept
_MOST_KEPT = 32 << 20       # bytes of all of them
_MOST_HASHED = 64 << 20     # bytes of larger files that are read; of others size and time are noted
_MOST_FILES = 5000
_NO_SOURCES = frozenset(("__pycache__", "mlruns", "mlartifacts", "node_modules"))
_WRITTEN_BY_RUNS = (".log", ".out", ".err", ".db", ".db-journal", ".sqlite")


class Changes(NamedTuple):
    """Names of files that are not what they were."""

    kept: list[str]  # these can be had as they were
    lost: list[str]  # these cannot


def taken(folder: Path) -> tuple[dict[str, str], bytes]:
    """What each file is (``sources of the folder``: its path, and a mark of its content), and an archive of the small
    ones."""
    marks: dict[str, str] = {}
    archive, kept, hashed = io.BytesIO(), 0, 0
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as packed:
        for name, facts in _files(folder):
            if len(marks) == _MOST_FILES:
                break
            is_kept = facts.st_size <= _SMALL and kept + facts.st_size <= _MOST_KEPT
            is_hashed = is_kept or hashed + facts.st_size <= _MOST_HASHED
            marks[name] = _mark(folder / name, facts, is_kept, is_hashed)
            if marks[name].startswith("kept "):
                kept += facts.st_size
                _pack(packed, name, (folder / name).read_bytes(), facts)
            elif is_hashed:
                hashed += facts.st_size
    return marks, archive.getvalue()


def changes(marks: Mapping[str, str], folder: Path) -> Changes:
    """Files that were there when `marks` were taken, and are others now or gone. New ones do not count: a run writes
    some."""
    found = Changes([], [])
    for name, mark in marks.items():
        kind = mark.partition(" ")[0]
        try:
            now = _mark(folder / name, os.stat(folder / name), kind == "kept", kind != "seen")
        except OSError:
            now = ""
        if now != mark:
            (found.kept if kind == "kept" else found.lost).append(name)
    return found


def restore(data: bytes, marks: Mapping[str, str], original: Path, target: Path) -> None:
    """Makes the folder again in `target`: small files as they were, links to the others where they lie."""
    with tarfile.open(fileobj=io.BytesIO(data)) as packed:
        for each in packed:
            content = packed.extractfile(each) if each.name in marks else None  # no name leads out of the folder
            if content is not None:
                (target / each.name).parent.mkdir(parents=True, exist_ok=True)
                (target / each.name).write_bytes(content.read())
                (target / each.name).chmod(each.mode)
    for name, mark in marks.items():
        place = target / name
        if not mark.startswith("kept ") and (original / name).exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(original / name)


def mark_of(path: str) -> str:
    """Of a file, or of a folder's files, that a parameter names; empty: it is neither."""
    try:
        facts = os.stat(path)
        if stat.S_ISREG(facts.st_mode):
            return _mark(Path(path), facts, False, facts.st_size <= _MOST_HASHED)
    except OSError:
        return ""
    if not stat.S_ISDIR(facts.st_mode):
        return ""
    seen = [f"{name} {each.st_size} {each.st_mtime_ns}" for name, each in _files(Path(path))]
    return f"folder {hashlib.sha256(chr(10).join(seen).encode()).hexdigest()}"


def _files(folder: Path, below: str = "") -> Iterator[tuple[str, Any]]:
    with contextlib.suppress(PermissionError), os.scandir(folder / below) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            name = f"{below}/{entry.name}".lstrip("/")
            if entry.name.startswith(".") or entry.name in _NO_SOURCES or entry.name.endswith(_WRITTEN_BY_RUNS):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _files(folder, name)
                continue
            with contextlib.suppress(OSError):
                if stat.S_ISREG((facts := entry.stat()).st_mode):
                    yield name, facts


def _mark(path: Path, facts: os.stat_result, is_kept: bool, is_hashed: bool) -> str:
    if not is_hashed:
        return f"seen {facts.st_size} {facts.st_mtime_ns}"
    try:
        with path.open("rb") as file:
            return f"{'kept' if is_kept else 'read'} {hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError:  # another user's
        return f"seen {facts.st_size} {facts.st_mtime_ns}"


def _pack(packed: tarfile.TarFile, name: str, data: bytes, facts: os.stat_result) -> None:
    about = tarfile.TarInfo(name)
    about.size, about.mode = len(data), stat.S_IMODE(facts.st_mode) & 0o755 | 0o600
    packed.addfile(about, io.BytesIO(data))
