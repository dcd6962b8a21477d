"""A pickle whose buffers lie in files: it travels with their names, and its reader maps them again."""

from __future__ import annotations

import contextlib
import os
import pickle
import weakref
from collections.abc import Sequence
from typing import Any

from ..errors import FileNotHere
from .file_part import FilePart, Mapping, identity_of, mapped, opened

# Mappings of this process whose writes other machines read. On a local disk all processes see writes at once, and
# waiting for the disk would take long.
_written: weakref.WeakSet[Mapping] = weakref.WeakSet()


class InFiles:
    """Travels: a pickle, and for each of its buffers the part of a file or the bytes."""

    def __init__(self, data: bytes, buffers: Sequence[FilePart | pickle.PickleBuffer]):
        self._data, self._buffers = data, list(buffers)

    def __reduce__(self) -> Any:
        return value_of, (self._data, self._buffers)


def value_of(data: bytes, buffers: Sequence[Any]) -> Any:
    """On the worker. Raises FileNotHere if a file is missing, or if another file lies there."""
    return pickle.loads(data, buffers=[_of_file(each) if isinstance(each, FilePart) else each for each in buffers])


def write_back() -> None:
    """Flushes what was written through mappings to their files, so that readers on other machines see it."""
    for mapping in list(_written):
        with contextlib.suppress(ValueError, OSError):  # closed; or a full disk, which the file's reader notices
            mapping.flush()


def _of_file(part: FilePart) -> memoryview:
    try:
        file = opened(part.path, os.O_RDWR if part.mode == "r+" else os.O_RDONLY)
    except OSError as problem:
        raise _not_here(part, f"cannot be opened there: {problem.strerror}") from None
    try:
        if not part.fits(file):
            raise _not_here(part, "is another file there, or has changed")
        view = mapped(part.path, file, part.offset, part.length, part.mode)
        if part.mode == "r+" and isinstance(view.obj, Mapping) and identity_of(os.fstat(file)).is_on_network:
            _written.add(view.obj)
    except OSError as problem:
        raise _not_here(part, f"cannot be mapped there: {problem.strerror}") from None
    finally:
        os.close(file)
    return view


def _not_here(part: FilePart, why: str) -> FileNotHere:
    return FileNotHere(f"{part.path} {why}", context={"path": part.path}, path=part.path)
