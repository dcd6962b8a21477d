"""Objects whose buffers lie in files: sent by the files' names, and as data where a worker does not see them."""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable
from typing import Any

from .. import errors
from .._common.file_buffers import InFiles
from .._common.file_part import FilePart, is_there
from .._common.file_regions import file_parts

HoldObject = Callable[[bytes, list[Any], bool], Any]  # _core.Client.hold_object


class FileObject:
    """One pickle with its buffers: held by the names of its files and, if needed, also as data."""

    def __init__(self, handle: Any, data: bytes, buffers: list[Any], parts: list[FilePart]):
        self.handle = handle
        self._data, self._buffers, self._parts = data, buffers, parts
        self._as_data: Any = None

    def lies_on(self, devices: set[int]) -> bool:
        return any(part.place.device in devices for part in self._parts)

    def devices_of(self, path: str) -> set[int]:
        """The devices of the file at `path`, if the object has parts in it. Raises ``FileChanged``."""
        parts = [part for part in self._parts if part.path == path]
        for part in parts:
            _check(part)
        return {part.place.device for part in parts}

    def as_data(self, hold_object: HoldObject) -> Any:
        """The handle of its data, which is read from the files. Raises ``FileChanged``."""
        if self._as_data is None:
            for part in self._parts:
                _check(part)
            self._as_data = hold_object(self._data, self._buffers, False)
        return self._as_data


class FileObjects:
    """The file objects of one client that are still held, and the file systems that its workers do not share."""

    def __init__(self, hold_object: HoldObject):
        self._hold_object = hold_object
        self._known: weakref.WeakValueDictionary[str, FileObject] = weakref.WeakValueDictionary()
        self._not_shared: set[int] = set()  # devices

    def __bool__(self) -> bool:
        return len(self._known) > 0

    def held(self, data: bytes, buffers: list[Any], send_now: bool) -> FileObject | None:
        """None: no part of it lies in a file that workers may share."""
        parts = file_parts(buffers)
        named = [part for part in parts if part is not None]
        if not named or any(part.place.device in self._not_shared for part in named):
            return None
        others: list[pickle.PickleBuffer] = []
        in_files = InFiles(data, [part or buffer for part, buffer in zip(parts, buffers, strict=True)])
        whole = pickle.dumps(in_files, 5, buffer_callback=others.append)
        handle = self._hold_object(whole, others, send_now)
        return self._known.setdefault(handle.id, FileObject(handle, data, buffers, named))

    def used_by(self, objects: list[str]) -> list[FileObject]:
        return [known for each in objects if (known := self._known.get(each)) is not None]

    def not_shared(self, used: list[FileObject], path: str) -> None:
        """Notes that a worker does not see the file at `path`, which is one of theirs. Raises ``FileChanged`` where
        this kernel does not see it either."""
        for each in used:
            self._not_shared |= each.devices_of(path)

    def in_reach(self, objects: list[str]) -> list[str]:
        """These objects; those on a file system that is not shared are replaced by their data."""
        return [each.as_data(self._hold_object).id
                if isinstance(each, FileObject) and each.lies_on(self._not_shared) else name
                for name, each in ((name, self._known.get(name)) for name in objects)] if self._not_shared else objects


def _check(part: FilePart) -> None:
    if problem := is_there(part):
        raise errors.FileChanged(f"{part.path} {problem}; nothing of it was read", context={"path": part.path})
