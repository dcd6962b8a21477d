"""Moves a saved state between two folders when no machine sees both: its blobs in parts, then its manifest.

Each side signs the manifest with its own key, and no key is sent. The connection authenticates the state on the way.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from . import manifest
from .blobs import PIECE_BYTES
from .folder import Folder
from .manifest import Manifest
from .problems import Damaged, TakenOver

PART_BYTES = 4 * 1024 * 1024  # at 1 Gbit/s a task behind a part waits for 35 ms
_LARGE_BYTES = 64 * 1024
MOST_BLOBS = 256  # in one part
MANIFEST = "manifest"  # in a list of what a worker lacks; all other entries are blobs


class Part(NamedTuple):
    """Bytes of a blob of `size` bytes, from `start` on."""

    blob: str
    start: int
    size: int
    data: Any  # bytes, or what has as many


def parts_of(folder: Folder, blobs: Iterable[str], start: int = 0, most_bytes: int = PART_BYTES) -> list[Part]:
    """Parts from `start` of the first blob on: as many as fit, at least one. Stops at a blob that the folder lacks."""
    parts: list[Part] = []
    for blob in blobs:
        room = most_bytes - sum(len(part.data) for part in parts)
        if room <= 0:
            break
        try:
            size, data = folder.part(blob, start, room)
        except Damaged:  # a newer save has removed it
            break
        parts.append(Part(blob, start, size, data))
        start = 0
    return parts


def as_sent(parts: Iterable[Part]) -> list[Part]:
    """Parts for a task's arguments or its result: large data is sent beside the pickle, and not copied into it."""
    return [part._replace(data=pickle.PickleBuffer(part.data)) if len(part.data) >= _LARGE_BYTES else part
            for part in parts]


def as_come(parts: Iterable[Part]) -> list[Part]:
    return [part._replace(data=memoryview(part.data)) for part in parts]


class Assembly:
    """Makes files of parts. A file in the folder under a digest's name has that digest. Thread: one."""

    def __init__(self, folder: Folder):
        self._folder = folder
        self._blob, self._data = "", bytearray()

    def reached(self, blob: str) -> int:
        """How many bytes of it have arrived."""
        return len(self._data) if blob == self._blob else 0

    def add(self, part: Part) -> bool:
        """Returns whether the blob is whole, and in the folder. Raises Damaged if it does not match its name, or if
        this is not its next part: it must be sent again from its beginning.
        """
        if part.start == 0:
            self._blob, self._data = part.blob, bytearray()
        is_next = (part.blob, part.start) == (self._blob, len(self._data))
        if not is_next or not len(self._data) + len(part.data) <= part.size <= PIECE_BYTES:
            self._blob = ""
            raise _damaged(part.blob)
        self._data += part.data
        if len(self._data) < part.size:
            return False
        blob, data, self._blob, self._data = self._blob, self._data, "", bytearray()
        if hashlib.sha256(data).hexdigest() != blob:
            raise _damaged(blob)
        self._folder.write(blob, [memoryview(data)])
        return True


def state_in(folder: Folder, key: bytes) -> Manifest:
    """The manifest in the folder; empty: nothing was saved there yet."""
    data = folder.manifest()
    return Manifest() if data is None else manifest.decode(data, key)


def unsigned(state: Manifest) -> bytes:
    """The manifest as it is sent."""
    return manifest.encode(state)


def arrived(data: bytes) -> Manifest:
    """The manifest that unsigned() encoded. Raises Damaged."""
    return manifest.decode(data)


def lacking(folder: Folder, blobs: Collection[str]) -> list[str]:
    return sorted(set(blobs) - folder.blobs())


def commit(folder: Folder, state: Manifest, key: bytes) -> None:
    """From now on the folder, which this process has taken, holds this state. Its blobs are there. Raises TakenOver if
    another worker has saved there since, or the state there is newer.
    """
    if state_in(folder, key).turn > state.turn:
        raise TakenOver(f"What is saved in {folder.path} is newer. "
                        "Nothing was brought: this worker's variables are old ones.")
    replace(folder, state, key)


def replace(folder: Folder, state: Manifest, key: bytes) -> None:
    """Like commit(), whatever state is there. Raises TakenOver."""
    folder.write_manifest(memoryview(manifest.encode(state, key)))
    folder.keep_only(state.digests())


def _damaged(blob: str) -> Damaged:
    return Damaged(f"The file {blob} of the saved state did not arrive as it was sent. "
                   "It is sent again with the next save.")
