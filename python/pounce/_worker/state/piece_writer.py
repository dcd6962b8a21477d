"""Writes pieces in threads while their digests are still computed, and stops at once when a task waits.

Memory is hashed and copied in short steps. Calls that wait for the disk, write(2) and fsync(2), have their own copy of
the bytes, and an interrupted save does not wait for them. They finish later, and the next save counts their pieces.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from .blobs import THREADS, Stored, pieces_of
from .folder import Folder
from .interruption import LOOK_S, Interruption

LOOK_BYTES = 1024 * 1024  # of memory, between two checks for a waiting task
_ALONE_BYTES = 256 * 1024  # hashing less than this is faster than waking a thread


@dataclass(eq=False)
class _Write:
    """A write to the disk. `copied`: it has its own bytes by now, and finishes even if its save is interrupted."""

    interruption: Interruption
    copied: bool = False
    done: Future[None] = field(default_factory=Future)


@dataclass(eq=False)
class _Piece:
    """A piece of a blob. `write`: None if the folder has it already; it is known as soon as the digest is."""

    view: memoryview
    digest: Future[str] = field(default_factory=Future)
    write: _Write | None = None


@dataclass(eq=False)
class Begun:
    """What put() began: the size and the pieces of each blob."""

    sizes: list[int]
    blobs: list[list[_Piece]]
    views: list[memoryview]

    def pieces(self) -> Iterator[_Piece]:
        return itertools.chain.from_iterable(self.blobs)

    @property
    def nbytes(self) -> int:
        return sum(self.sizes)

    def release(self) -> None:
        """An object cannot be resized while a view of it lives, and threads may hold views longer than they need."""
        for view in [*(piece.view for piece in self.pieces()), *self.views]:
            view.release()


class PieceWriter:
    """Thread: one."""

    def __init__(self, folder: Folder, known: Iterable[str] = ()):
        self.known = set(known)  # durable
        self._folder = folder
        self._lock = threading.Lock()
        self._under_way: dict[str, _Write] = {}
        self._pool: ThreadPoolExecutor | None = None
        self._interruption = Interruption()
        self._begun: list[Begun] = []
        self._jobs: list[Future[None]] = []  # jobs of the pool that have not ended
        self._nbytes = 0

    # ---- one save ----

    def open(self, interruption: Interruption) -> None:
        self._interruption = interruption
        self._pool = ThreadPoolExecutor(THREADS, "pounce-state")

    def close(self) -> int:
        """Returns the bytes written since the last close(). Threads that wait for the disk end when it answers."""
        self._interruption.stop()
        assert self._pool is not None
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = None
        self._jobs = [job for job in self._jobs if not job.done()]
        for begun in self._begun:
            begun.release()
        self._begun.clear()
        self._collect()
        with self._lock:
            self._under_way = {digest: write for digest, write in self._under_way.items() if write.copied}
            nbytes, self._nbytes = self._nbytes, 0
        return nbytes

    def put(self, blobs: list[memoryview]) -> Begun:
        """Begins to write what the folder lacks. The memory must not change before it is stored or close() returns."""
        views = [blob.cast("B") if blob.nbytes else memoryview(b"") for blob in blobs]
        total = sum(view.nbytes for view in views)
        start = self._here if total < _ALONE_BYTES else self._in_pool
        pieces = [[_Piece(piece) for piece in pieces_of(view)] for view in views]
        begun = Begun([view.nbytes for view in views], pieces, views)
        self._begun.append(begun)
        for piece in begun.pieces():
            start(piece)
        return begun

    def stored(self, begun: Begun) -> list[Stored]:
        """Waits until the data is durable, except for the names of the files. Raises Interrupted, NoSpace."""
        self.wait_for([piece.digest for piece in begun.pieces()])
        stored = [Stored(size, tuple(piece.digest.result() for piece in pieces))
                  for size, pieces in zip(begun.sizes, begun.blobs, strict=True)]
        self.wait_for([piece.write.done for piece in begun.pieces() if piece.write is not None])
        self._collect()
        begun.release()
        self._begun.remove(begun)
        return stored

    def is_stored(self, begun: Begun) -> bool:
        """Whether stored() would not wait."""
        return all(piece.digest.done() and (piece.write is None or piece.write.done.done()) for piece in begun.pieces())

    def settle(self) -> None:
        """Waits for all unfinished writes, also those of an earlier save."""
        self.wait_for([write.done for write in self._on_their_way()])
        self._collect()

    def _on_their_way(self) -> list[_Write]:
        with self._lock:
            return list(self._under_way.values())

    def in_background(self, act: Callable[[], None]) -> Future[None]:
        """Runs `act` in a thread. It may wait for the disk, and continues if the save is interrupted."""
        alone = ThreadPoolExecutor(1, "pounce-state")
        try:
            return alone.submit(act)
        finally:
            alone.shutdown(wait=False)

    def wait_for(self, futures: Iterable[Future[Any]]) -> None:
        """Waits until all are done. Raises the first error, or Interrupted as soon as a task waits."""
        for future in futures:
            while not future.done() and not wait([future], LOOK_S).done:
                self._interruption.check()
            error = future.exception()
            if error is not None:
                raise copy.copy(error)  # the original would hold objects' memory after the save, by a cycle of frames

    def abandon(self, known: Iterable[str]) -> None:
        """Ends the save, waits for unfinished writes, and continues as if the folder had only `known`."""
        self._interruption.stop()
        self.finish()
        self.known = set(known)

    def finish(self) -> None:
        """Waits for unfinished writes, even if a task waits, and until abandoned ones have removed their files."""
        wait([write.done for write in self._on_their_way()])
        wait([job for job in self._jobs if not job.done()])
        self._collect()

    def _collect(self) -> None:
        with self._lock:
            for digest, write in list(self._under_way.items()):
                if write.done.done():
                    del self._under_way[digest]
                    if write.done.exception() is None:
                        self.known.add(digest)

    # ---- one piece ----

    def _in_pool(self, piece: _Piece) -> None:
        assert self._pool is not None
        self._jobs.append(self._pool.submit(self._whole, piece, self._interruption))

    def _here(self, piece: _Piece) -> None:
        """Hashes the piece here. Only the write gets a thread, since it may wait for a slow disk."""
        assert self._pool is not None
        if self._hash(piece, self._interruption):
            self._jobs.append(self._pool.submit(self._write, piece))

    def _whole(self, piece: _Piece, interruption: Interruption) -> None:
        try:
            new = self._hash(piece, interruption)
        except BaseException as error:
            piece.digest.set_exception(error.with_traceback(None))  # its frames would keep the object's memory
            return
        if new:
            self._write(piece)

    def _hash(self, piece: _Piece, interruption: Interruption) -> bool:
        """Whether the caller has to write the piece: the folder lacks it, and no other thread writes it."""
        digest = _digest(piece.view, interruption)
        with self._lock:
            under_way = digest in self._under_way
            if not under_way and digest not in self.known:
                self._under_way[digest] = _Write(interruption)
            piece.write = self._under_way.get(digest)
        piece.digest.set_result(digest)
        return piece.write is not None and not under_way

    def _write(self, piece: _Piece) -> None:
        write = piece.write
        assert write is not None
        try:
            write.interruption.check()
            size = piece.view.nbytes
            self._folder.write(piece.digest.result(), _copies(piece.view, write))
        except BaseException as error:
            write.done.set_exception(error.with_traceback(None))
            return
        with self._lock:
            self._nbytes += size
        write.done.set_result(None)


def _digest(piece: memoryview, interruption: Interruption) -> str:
    digest = hashlib.sha256()
    for start in range(0, piece.nbytes, LOOK_BYTES):
        with interruption.looking(), piece[start : start + LOOK_BYTES] as part:
            digest.update(part)
    return digest.hexdigest()


def _copies(piece: memoryview, write: _Write) -> Iterator[memoryview]:
    """Copies of the piece's parts, each valid until the next."""
    own = memoryview(bytearray(min(LOOK_BYTES, piece.nbytes)))
    size = piece.nbytes  # read now, since the piece must not be used once all is copied
    for start in range(0, size, LOOK_BYTES):
        with write.interruption.looking(), piece[start : start + LOOK_BYTES] as part:
            count = part.nbytes
            own[:count] = part
            write.copied = start + count == size
        yield own[:count]
