"""Reads a package's files before it is imported, if they lie on a network: an import costs one request for each."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import threading
from collections.abc import Iterable, Iterator

from .._common.file_part import identity_of

_MOST_FILES, _MOST_BYTES = 8192, 2 * 1024**3
_READ = (".so", ".pyc", ".py")


def begin(names: Iterable[str]) -> None:
    """Has the kernel read the files in the background. Modules that are already loaded are skipped."""
    folders = [folder for name in dict.fromkeys(name.partition(".")[0] for name in names)
               if name not in sys.modules and (folder := _folder(name)) and identity_of(os.stat(folder)).is_on_network]
    if folders:
        threading.Thread(target=_ask_for, args=(folders,), name="pounce-read-ahead", daemon=True).start()


def _folder(package: str) -> str:
    with contextlib.suppress(ImportError, ValueError, AttributeError):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            return next(iter(spec.submodule_search_locations))
    return ""


def _ask_for(folders: list[str]) -> None:
    remaining = _MOST_BYTES
    for path, nbytes in files_of(folders):
        remaining -= nbytes
        if remaining < 0:
            return
        with contextlib.suppress(OSError):
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_WILLNEED)
            finally:
                os.close(file)


def files_of(folders: list[str]) -> list[tuple[str, int]]:
    """The files that an import reads, with sizes: libraries first, since an import waits for their pages one by one."""
    files: list[tuple[int, str, int]] = []
    for folder in folders:
        for path, nbytes in _all_files(folder):
            name = os.path.basename(path)
            kind = next((i for i, ending in enumerate(_READ) if path.endswith(ending) or f"{ending}." in name), None)
            if kind is not None:
                files.append((kind, path, nbytes))
            if len(files) >= _MOST_FILES:
                break
    return [(path, nbytes) for _, path, nbytes in sorted(files)]


def _all_files(folder: str) -> Iterator[tuple[str, int]]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _all_files(entry.path)
            elif entry.is_file():
                yield entry.path, entry.stat().st_size
