"""A saved state on its way between two folders that no machine sees both of: its blobs in parts, then its manifest.

Each side signs the manifest with a key of its own: no key travels. The connection says whose it is on the way.
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

PART_BYTES = 4 * 1024 * 1024  # on a line of 1 Gbit/s a task behind one waits for 35 ms
_LARGE_BYTES = 64 * 1024
MOST_BLOBS = 256  # of one part
MANIFEST = "manifest"  # among what a worker lacks: all else are blobs


class Part(NamedTuple):
    """Bytes of a blob, which has `size` of them, from `start` on."""

    blob: str
    start: int
    size: int
    data: Any  # bytes, or what has as many


def parts_of(folder: Folder, blobs: Iterable[str], start: int = 0, most_bytes: int = PART_BYTES) -> list[Part]:
    """From `start` of the first blob on, as many as fit, one at least. Ends before a blob that the folder does not have."""
    found: list[Part] = []
    for blob in blobs:
        room = most_bytes - sum(len(part.data) for part in found)
        if room <= 0:
            break
        try:
            size, data = folder.part(blob, start, room)
        except Damaged:  # a newer save has removed it
            break
        found.append(Part(blob, start, size, data))
        start = 0
    return found


def as_sent(parts: Iterable[Part]) -> list[Part]:
    """For a task's arguments or its result: what is large travels beside the pickle, and is not copied into it."""
    return [part._replace(data=pickle.PickleBuffer(part.data)) if len(part.data) >= _LARGE_BYTES else part for part in parts]


def as_come(parts: Iterable[Part]) -> list[Part]:
    return [part._replace(data=memoryview(part.data)) for part in parts]


class Assembly:
    """Makes files of parts. What is in the folder under a digest's name has that digest. Thread: one."""

    def __init__(self, folder: Folder):
        self._folder = folder
        self._blob, self._data = "", bytearray()

    def reached(self, blob: str) -> int:
        """How much of it has come."""
        return len(self._data) if blob == self._blob else 0

    def add(self, part: Part) -> bool:
        """Whether the blob is whole, and in the folder.

        Raises
        ------
        Damaged
            It is not what its name says, or not the next part of it: it has to come again from its beginning.
        """
        if part.start == 0:
            self._blob, self._data = part.blob, bytearray()
        if (part.blob, part.start) != (self._blob, len(self._data)) or not len(self._data) + len(part.data) <= part.size <= PIECE_BYTES:
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
    """Empty: nothing was saved there yet."""
    data = folder.manifest()
    return Manifest() if data is None else manifest.decode(data, key)


def unsigned(state: Manifest) -> bytes:
    """As it travels."""
    return manifest.encode(state)


def arrived(data: bytes) -> Manifest:
    """Of what unsigned() gave. Raises Damaged."""
    return manifest.decode(data)


def lacking(folder: Folder, blobs: Collection[str]) -> list[str]:
    return sorted(set(blobs) - folder.blobs())


def commit(folder: Folder, state: Manifest, key: bytes) -> None:
    """From now on the folder, which was taken, holds this state. Its blobs are there.

    Raises
    ------
    TakenOver
        Another worker has saved there since, or what is there is newer.
    """
    if state_in(folder, key).turn > state.turn:
        raise TakenOver(f"What is saved in {folder.path} is newer. Nothing was brought: this worker's variables are old ones.")
    replace(folder, state, key)


def replace(folder: Folder, state: Manifest, key: bytes) -> None:
    """The same, whatever is there. Raises TakenOver."""
    folder.write_manifest(memoryview(manifest.encode(state, key)))
    folder.keep_only(state.digests())


def _damaged(blob: str) -> Damaged:
    return Damaged(f"The file {blob} of the saved state did not arrive as it was sent. It is sent again with the next save.")
