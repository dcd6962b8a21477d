"""The results of a named map: each chunk that has run is kept, and a later kernel reads it instead of running it."""

from __future__ import annotations

import concurrent.futures
import os
import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from .. import errors
from .._common.content_digest import content_digest
from .._common.map_store import Kept, MapStore, taken
from .._engine.session import Session
from .._engine.submission import name_of, not_picklable
from .collections import NO_DRAWS, Draws, Future, Outcome, Raised, Results, Rows, Submits, run_chunk

# An Outcome, and whether its values are kept.
KeptOutcome: TypeAlias = "tuple[float, list[Any], BaseException | None, bool]"

# The maps of this process, by their folders.
_here: weakref.WeakValueDictionary[str, RestartableResults] = weakref.WeakValueDictionary()


def home_of(session: Session) -> str:
    """The folder of the maps: beside the results of tasks with names."""
    if not os.path.isdir(session.results):
        raise errors.NotShared(f"this kernel does not see {session.results}, where pounced keeps what outlives kernels")
    return os.path.join(os.path.dirname(session.results), "maps")


def leave(folder: str) -> None:
    """Ends the map in that folder if this process has begun it before, in a cell that was stopped for example."""
    before = _here.pop(folder, None)
    if before is not None:
        before.give_way()


class RestartableResults(Results):
    """As ``Results``; chunks that were kept come from their files.

    Raises ``NameTaken`` where another kernel runs it, or where what is kept is of another function, of another chunk
    size or of other items. The last is noticed at the chunk.
    """

    def __init__(self, client: Submits, home: str, name: str, function: Callable[..., Any],
                 rows: Iterator[tuple[Any, ...]], chunksize: int, timeout: float | None, count: int,
                 expect: Callable[[int], int]):
        self._name, self._number = name, 0
        self._chunks: dict[Future, tuple[int, str]] = {}  # under way: the number, and the digest of the items
        leave(os.path.join(home, name))
        identity = {"function": _digest_of(function, name_of(function)), "chunksize": chunksize}
        self._store = MapStore(home, name, identity)
        self._kept = _kept_rows(function, *self._store.kept)
        _here[self._store.kept.folder] = self
        try:
            super().__init__(client, function, rows, chunksize, timeout, count, expect)
        except BaseException:
            self._store.release()
            raise

    def _submit(self, chunk: Rows, first: int) -> Future:
        number, digest = self._number, _digest_of(chunk, f"the items of chunk {self._number}")
        self._number += 1
        if number not in self._store.done:
            future = self._client.submit(self._kept, number, digest, chunk, *self._draws(first))
            self._chunks[future] = number, digest
            return future
        before, values = self._store.kept.read(number)
        if before != digest:
            self._cancel()
            raise self._of_other_items(number)
        read: Future = concurrent.futures.Future()
        read.set_result((0.0, values, None))
        return read

    def _outcome(self, future: Future) -> Outcome:
        number, digest = self._chunks.pop(future, (-1, ""))
        if number < 0:  # read from its file, or what follows a failed item in its chunk
            return super()._outcome(future)
        seconds, values, error, is_kept = future.result()
        if error is None and not is_kept:
            self._store.kept.write(number, digest, values)
        return seconds, values, error

    def _of_other_items(self, number: int) -> errors.NameTaken:
        return taken(self._name, f"other items, the first of them in chunk {number}")

    def _end(self) -> None:
        self._store.release()
        super()._end()
        if self._number in self._store.done and self._exhausted:
            self._store.done.clear()
            raise taken(self._name, "more items")

    def _cancel(self) -> None:
        super()._cancel()
        self._chunks.clear()
        self._store.done.clear()
        self._store.release()

    def give_way(self) -> None:
        """Ends this map for a later call of the same one in this process."""
        if self._ahead:
            self._ready.append(Raised(errors.NameTaken(f"the map {self._name} was begun again, and goes on there")))
        self._cancel()


def _digest_of(value: Any, name: str) -> str:
    try:
        return content_digest(value)
    except errors.BadRequest:
        raise
    except Exception as error:
        raise not_picklable(value, name, error) from error


def _kept_rows(function: Callable[..., Any], folder: str, owner: str) -> Callable[..., KeptOutcome]:
    def run_rows(number: int, digest: str, rows: Rows, draws: Draws = NO_DRAWS) -> KeptOutcome:
        return run_kept_chunk(function, Kept(folder, owner), number, digest, rows, draws)

    return run_rows


def run_kept_chunk(function: Callable[..., Any], kept: Kept, number: int, digest: str, rows: Rows,
                   draws: Draws) -> KeptOutcome:
    """On the worker: as run_chunk(), and whether the values are kept. Where the worker does not see the folder, the
    kernel keeps them."""
    is_here = kept.is_here()
    seconds, values, error = run_chunk(function, rows, draws)
    if is_here and error is None:
        kept.write(number, digest, values)
        return seconds, values, error, True
    return seconds, values, error, False
