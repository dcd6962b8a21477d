"""Bytes as files named by their content, in pieces: of a large array only the pieces that changed are written.

Hashing, reading and writing run in threads, without the interpreter's lock, on the objects' own memory.
"""

from __future__ import annotations

import collections
import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from .folder import Folder
from .problems import Damaged

PIECE_BYTES = 16 * 1024 * 1024
THREADS = 4
_EARLY_BYTES = 64 * 1024 * 1024  # read before they are requested, at most
_EARLY = 256


@dataclass(frozen=True)
class Stored:
    """Bytes in the folder: how many, and the digests of their pieces."""

    nbytes: int
    pieces: tuple[str, ...]


def pieces_of(data: memoryview) -> Iterator[memoryview]:
    for start in range(0, data.nbytes, PIECE_BYTES):
        yield data[start : start + PIECE_BYTES]


class Reader:
    """Fills memory with stored bytes, and compares them with their digest.

    Small blobs, of which a model may have hundreds, are read before they are requested: one thread alone hashes more
    slowly than a disk reads. Several reading threads keep the disk busy; posix_fadvise(WILLNEED) for all of it would
    block until the disk has nearly finished, before the first byte is hashed.
    """

    def __init__(self, folder: Folder):
        self._folder = folder
        self._pool = ThreadPoolExecutor(THREADS, "pounce-state")
        self._next: collections.deque[Stored] = collections.deque()
        self._early: dict[Stored, Future[bytearray]] = {}

    def expect(self, stored: Iterable[Stored]) -> None:
        """Checks that all files are there in full size, and begins to read them. They are requested in this order."""
        self._next.clear()
        self._early.clear()
        for one in stored:
            for digest, size in _sizes(one):
                self._folder.check_size(digest, size)
            if 0 < one.nbytes <= PIECE_BYTES:
                self._next.append(one)
        self._read_on()

    def _read_on(self) -> None:
        while self._next and sum(one.nbytes for one in self._early) < _EARLY_BYTES and len(self._early) < _EARLY:
            one = self._next.popleft()
            if one not in self._early:
                self._early[one] = self._pool.submit(self._alone, one)

    def _alone(self, stored: Stored) -> bytearray:
        data = bytearray(stored.nbytes)
        self._piece(stored.pieces[0], memoryview(data))
        return data

    def fill(self, stored: Stored, target: memoryview) -> None:
        if target.nbytes != stored.nbytes:
            raise Damaged("The saved state does not fit itself. Take an older one, or run the cells again.")
        target = target.cast("B") if target.nbytes else target
        early = self._early.pop(stored, None)
        if early is not None:
            self._read_on()
            target[:] = early.result()
            return
        pieces = list(pieces_of(target))
        for _ in (map if len(pieces) == 1 else self._pool.map)(self._piece, stored.pieces, pieces):
            pass

    def read(self, stored: Stored) -> bytearray:
        data = bytearray(stored.nbytes)
        self.fill(stored, memoryview(data))
        return data

    def _piece(self, digest: str, target: memoryview) -> None:
        """Reads and hashes a piece in steps, so that the bytes are still in the processor's cache."""
        actual = hashlib.sha256()
        self._folder.read_into(digest, target, actual.update)
        if actual.hexdigest() != digest:
            raise Damaged(f"The file {digest} of the saved state was changed. "
                          "Take an older one, or run the cells again.")

    def close(self) -> None:
        self._next.clear()
        self._pool.shutdown()


def _sizes(stored: Stored) -> Iterator[tuple[str, int]]:
    remaining = stored.nbytes
    for digest in stored.pieces:
        yield digest, min(remaining, PIECE_BYTES)
        remaining -= PIECE_BYTES
