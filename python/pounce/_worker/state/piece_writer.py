"""Writes pieces in threads while their names are still being found, and stops at once when somebody else is to go first.

Memory is hashed and copied in short looks; what waits for the disk, write(2) and fsync(2), has bytes of its own and is waited for
only by a save that nobody interrupts. What is then still on its way to the disk arrives there, and the next save counts it.
"""

from __future__ import annotations

import copy
import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from .blobs import THREADS, Stored, pieces_of
from .folder import Folder
from .interruption import LOOK_S, Interruption

LOOK_BYTES = 1024 * 1024  # of memory, between two questions whether somebody waits
_ALONE_BYTES = 256 * 1024  # less than this is hashed sooner than a thread is woken


@dataclass(eq=False)
class _Write:
    """On its way to the disk. `copied`: it needs the object's memory no more, and arrives even if its save is interrupted."""

    interruption: Interruption
    copied: bool = False
    done: Future[None] = field(default_factory=Future)


@dataclass
class Begun:
    """What put() began: of each blob its bytes and the digests of its pieces, some of them not known yet."""

    sizes: list[int]
    digests: list[list[Future[str]]]
    nbytes: int


class PieceWriter:
    """Thread: one."""

    def __init__(self, folder: Folder, known: Iterable[str] = ()):
        self.known = set(known)  # durable
        self._folder = folder
        self._lock = threading.Lock()
        self._under_way: dict[str, _Write] = {}
        self._pool: ThreadPoolExecutor | None = None
        self._interruption = Interruption()
        self._nbytes = 0

    # ---- one save ----

    def open(self, interruption: Interruption) -> None:
        self._interruption = interruption
        self._pool = ThreadPoolExecutor(THREADS, "pounce-state")

    def close(self) -> int:
        """Bytes written since the last close(). A thread that waits for the disk ends when that has answered."""
        self._interruption.stop()
        assert self._pool is not None
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = None
        self._collect()
        with self._lock:
            self._under_way = {digest: write for digest, write in self._under_way.items() if write.copied}
            nbytes, self._nbytes = self._nbytes, 0
        return nbytes

    def put(self, blobs: list[memoryview]) -> Begun:
        """Begins to write what the folder does not have. The memory must not change before it is stored, or close() returns."""
        views = [blob.cast("B") if blob.nbytes else memoryview(b"") for blob in blobs]
        total = sum(view.nbytes for view in views)
        start = self._here if total < _ALONE_BYTES else self._in_pool
        return Begun([view.nbytes for view in views], [[start(piece) for piece in pieces_of(view)] for view in views], total)

    def stored(self, begun: Begun) -> list[Stored]:
        """Durable when this returns, but for the names of the files.

        Raises
        ------
        Interrupted, NoSpace
        """
        self.wait_for([digest for one in begun.digests for digest in one])
        found = [Stored(size, tuple(digest.result() for digest in one)) for size, one in zip(begun.sizes, begun.digests, strict=True)]
        with self._lock:
            writes = [self._under_way[piece].done for one in found for piece in one.pieces if piece in self._under_way]
        self.wait_for(writes)
        self._collect()
        return found

    def is_stored(self, begun: Begun) -> bool:
        """stored() would not wait."""
        digests = [digest for one in begun.digests for digest in one]
        if not all(digest.done() for digest in digests):
            return False
        with self._lock:
            writes = [self._under_way.get(digest.result()) for digest in digests if digest.exception() is None]
        return all(write is None or write.done.done() for write in writes)

    def settle(self) -> None:
        """Waits for everything that is still on its way, also of an earlier save."""
        self.wait_for([write.done for write in self._on_their_way()])
        self._collect()

    def _on_their_way(self) -> list[_Write]:
        with self._lock:
            return list(self._under_way.values())

    def in_background(self, act: Callable[[], None]) -> Future[None]:
        """It may wait for the disk, and goes on when the save is interrupted."""
        assert self._pool is not None
        return self._pool.submit(act)

    def wait_for(self, futures: Iterable[Future[Any]]) -> None:
        """Until all are done. Raises the first error, or Interrupted as soon as somebody waits."""
        for future in futures:
            while not future.done() and not wait([future], LOOK_S).done:
                self._interruption.check()
            error = future.exception()
            if error is not None:
                raise copy.copy(error)  # with this one a circle of frames would hold objects' memory after the save

    def abandon(self, known: Iterable[str]) -> None:
        """Ends the save, waits until nothing is on its way, and goes on as if the folder had only these."""
        self._interruption.stop()
        self.finish()
        self.known = set(known)

    def finish(self) -> None:
        """Waits, whoever may wait, until nothing is on its way."""
        wait([write.done for write in self._on_their_way()])
        self._collect()

    def _collect(self) -> None:
        with self._lock:
            for digest, write in list(self._under_way.items()):
                if write.done.done():
                    del self._under_way[digest]
                    if write.done.exception() is None:
                        self.known.add(digest)

    # ---- one piece ----

    def _in_pool(self, piece: memoryview) -> Future[str]:
        assert self._pool is not None
        digest: Future[str] = Future()
        self._pool.submit(self._piece, piece, self._interruption, digest)
        return digest

    def _here(self, piece: memoryview) -> Future[str]:
        """Only what writes gets a thread: it may wait for a slow disk."""
        assert self._pool is not None
        digest: Future[str] = Future()
        found = _digest(piece, self._interruption)
        write = self._claimed(found, self._interruption)
        digest.set_result(found)
        if write is not None:
            self._pool.submit(self._write, found, piece, write)
        return digest

    def _piece(self, piece: memoryview, interruption: Interruption, digest: Future[str]) -> None:
        try:
            found = _digest(piece, interruption)
        except BaseException as error:
            digest.set_exception(error.with_traceback(None))  # which has this frame, and so the object's memory
            return
        write = self._claimed(found, interruption)
        digest.set_result(found)
        if write is not None:
            self._write(found, piece, write)

    def _claimed(self, digest: str, interruption: Interruption) -> _Write | None:
        """For the caller to fulfil; None: the folder has it, or somebody else writes it."""
        with self._lock:
            if digest in self.known or digest in self._under_way:
                return None
            self._under_way[digest] = write = _Write(interruption)
            return write

    def _write(self, digest: str, piece: memoryview, write: _Write) -> None:
        try:
            write.interruption.check()
            self._folder.write(digest, _copies(piece, write))
        except BaseException as error:
            write.done.set_exception(error.with_traceback(None))
            return
        with self._lock:
            self._nbytes += piece.nbytes
        write.done.set_result(None)


def _digest(piece: memoryview, interruption: Interruption) -> str:
    found = hashlib.sha256()
    for part in _parts(piece):
        with interruption.looking():
            found.update(part)
    return found.hexdigest()


def _copies(piece: memoryview, write: _Write) -> Iterator[memoryview]:
    """Each valid until the next."""
    own = memoryview(bytearray(min(LOOK_BYTES, piece.nbytes)))
    for start, part in zip(range(0, piece.nbytes, LOOK_BYTES), _parts(piece), strict=True):
        with write.interruption.looking():
            own[: part.nbytes] = part
            write.copied = start + part.nbytes == piece.nbytes
        yield own[: part.nbytes]


def _parts(piece: memoryview) -> Iterator[memoryview]:
    for start in range(0, piece.nbytes, LOOK_BYTES):
        yield piece[start : start + LOOK_BYTES]
