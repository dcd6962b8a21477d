"""Which Python and which packages an environment has, and how two such lists differ."""

from __future__ import annotations

import functools
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

_INFO = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+?)(-[^-]+)?\.(dist|egg)-info")
_VERSION = re.compile(r"^version(?:_info)?\s*=\s*([\d.]+)", re.MULTILINE)


def of(prefix: str = "") -> dict[str, Any]:
    """Of the environment with this prefix; empty: of this process. Reads names of folders alone, and these again when
    one of them has changed."""
    folders = sorted(map(str, Path(prefix).glob("lib/python3*/site-packages"))) if prefix else sys.path
    python = _python_of(Path(prefix), folders) if prefix else platform.python_version()
    return {"python": python, "packages": _packages(tuple((folder, _changed_ns(folder)) for folder in folders))}


@functools.lru_cache(8)
def _packages(folders: tuple[tuple[str, int], ...]) -> dict[str, str]:
    return packages(folder for folder, _ in folders)


def _changed_ns(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns
    except OSError:
        return 0


def packages(folders: Iterable[str]) -> dict[str, str]:
    """The version of each package in these folders; the first folder counts."""
    found: dict[str, str] = {}
    for match in filter(None, map(_INFO.fullmatch, _names(folders))):
        found.setdefault(re.sub(r"[_.-]+", "-", match["name"]).lower(), match["version"])
    return dict(sorted(found.items()))


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """In words, one a difference; other versions first."""
    python = [] if before["python"] == now["python"] else [f"Python {now['python']} was {before['python']}"]
    old, new = before["packages"], now["packages"]
    both = sorted(old.keys() & new.keys())
    others = [f"{name} {new[name]} was {old[name]}" for name in both if old[name] != new[name]]
    gone = [f"{name} {old[name]} is gone" for name in sorted(old.keys() - new.keys())]
    return [*python, *others, *gone, *(f"{name} {new[name]} is new" for name in sorted(new.keys() - old.keys()))]


def _names(folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        try:
            yield from os.listdir(folder or ".")
        except OSError:  # a zip file, or a folder that is not there
            continue


def _python_of(prefix: Path, folders: list[str]) -> str:
    try:
        match = _VERSION.search((prefix / "pyvenv.cfg").read_text())
    except OSError:  # of conda
        match = None
    return match[1] if match else Path(folders[0]).parent.name.removeprefix("python") if folders else ""
