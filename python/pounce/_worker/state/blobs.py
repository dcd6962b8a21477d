"""Bytes as files named by their content, in pieces: of a large array only the pieces that changed are written.

Hashing and writing go on in threads, without the interpreter's lock, on the objects' own memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from .folder import Folder
from .problems import Damaged

PIECE_BYTES = 16 * 1024 * 1024
THREADS = 4


@dataclass(frozen=True)
class Stored:
    """Bytes in the folder: how many, and the digests of their pieces."""

    nbytes: int
    pieces: tuple[str, ...]


def digest_of(data: memoryview) -> str:
    return hashlib.sha256(data).hexdigest()


def pieces_of(data: memoryview) -> Iterator[memoryview]:
    for start in range(0, data.nbytes, PIECE_BYTES):
        yield data[start : start + PIECE_BYTES]


class Reader:
    """Fills memory with what is stored, and compares it with its digest."""

    def __init__(self, folder: Folder):
        self._folder = folder
        self._pool = ThreadPoolExecutor(THREADS, "pounce-state")

    def expect(self, stored: Iterable[Stored]) -> None:
        """Asks the disk to begin, and sees that all of it is there in its size."""
        for one in stored:
            for digest, size in _sizes(one):
                self._folder.expect(digest, size)

    def fill(self, stored: Stored, target: memoryview) -> None:
        if target.nbytes != stored.nbytes:
            raise Damaged("The saved state does not fit itself. Take an older one, or run the cells again.")
        pieces = list(pieces_of(target.cast("B"))) if target.nbytes else []
        for _ in (map if len(pieces) == 1 else self._pool.map)(self._piece, stored.pieces, pieces):
            pass

    def read(self, stored: Stored) -> bytearray:
        data = bytearray(stored.nbytes)
        self.fill(stored, memoryview(data))
        return data

    def _piece(self, digest: str, target: memoryview) -> None:
        self._folder.read_into(digest, target)
        if digest_of(target) != digest:
            raise Damaged(f"The file {digest} of the saved state was changed. Take an older one, or run the cells again.")

    def close(self) -> None:
        self._pool.shutdown()


def _sizes(stored: Stored) -> Iterator[tuple[str, int]]:
    left = stored.nbytes
    for digest in stored.pieces:
        yield digest, min(left, PIECE_BYTES)
        left -= PIECE_BYTES
