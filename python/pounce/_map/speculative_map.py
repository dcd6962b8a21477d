"""The results of a map whose late chunks run a second time on idle workers."""

from __future__ import annotations

import collections
import functools
import itertools
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias

from .. import errors
from .._engine.task import Task
from .collections import Future, Results, Rows, Submits
from .late_chunks import LateChunks
from .task_runs import TaskRuns

_LOOK_S = 0.1  # between two looks at what runs: spark.speculation.interval

Start: TypeAlias = "Callable[..., tuple[Future, TaskRuns]]"


class Knows(Protocol):
    """A session."""

    def state(self, task: Task) -> str | None: ...

    @property
    def core(self) -> Any: ...  # _core.Client


class SpeculativeResults(Results):
    """As ``Results``; `start` submits a chunk as a task that may run twice."""

    def __init__(self, client: Submits, start: Start, session: Knows, function: Callable[..., Any],
                 rows: Iterator[tuple[Any, ...]], chunksize: int | None, timeout: float | None, count: int,
                 expect: Callable[[int], int]):
        self._start, self._watch = start, ChunkWatch(session)
        super().__init__(client, function, rows, chunksize, timeout, count, expect)
        self._watch.begin()

    def _submit(self, chunk: Rows, first: int) -> Future:
        future, runs = self._start(self._run, chunk, *self._draws(first))
        self._watch.sent(future, runs, len(chunk))
        return future

    def _end(self) -> None:
        self._watch.stop()
        super()._end()

    def _cancel(self) -> None:
        self._watch.stop()
        super()._cancel()


class ChunkWatch:
    """Watches the chunks of one map on a thread of its own, and has the late ones copied.

    The thread is needed since a caller waits for one task at a time, and may not be waiting at all.
    """

    def __init__(self, session: Knows):
        self._session = session
        self._late = LateChunks()
        self._numbers = itertools.count()
        self._runs: dict[int, TaskRuns] = {}
        self._waiting: set[int] = set()  # chunks that were not yet seen running
        self._reports: collections.deque[Callable[[], None]] = collections.deque()  # from other threads, for ours
        self._stopped = threading.Event()

    def begin(self) -> None:
        watch = weakref.ref(self), self._stopped
        threading.Thread(target=_look_on, args=watch, name="pounce-chunks", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def sent(self, future: Future, runs: TaskRuns, items: int) -> None:
        number = next(self._numbers)
        self._reports.append(functools.partial(self._has_sent, number, runs, items))

        def ended(future: Future) -> None:
            self._reports.append(functools.partial(self._has_ended, number, _seconds_of(future)))

        future.add_done_callback(ended)

    def look(self, now: float) -> None:
        """Takes the news since the last look and copies late chunks. A worker that has a chunk is not free, so the copy
        runs elsewhere."""
        while self._reports:
            self._reports.popleft()()
        for number in [each for each in self._waiting if self._session.state(self._runs[each].task) == "running"]:
            self._waiting.remove(number)
            self._late.began(number, now)
        while (late := self._late.latest(now)) is not None:
            asks = self._runs[late].task.asks
            if asks is None or not self._session.core.free_workers(asks.resources):
                return
            self._runs[late].copy()
            self._late.copied(late)

    def _has_sent(self, number: int, runs: TaskRuns, items: int) -> None:
        self._runs[number] = runs
        self._waiting.add(number)
        self._late.sent(number, items)

    def _has_ended(self, number: int, seconds: float | None) -> None:
        del self._runs[number]
        self._waiting.discard(number)
        self._late.ended(number, seconds)


def _look_on(watch: weakref.ref[ChunkWatch], stopped: threading.Event) -> None:
    while not stopped.wait(_LOOK_S):
        alive = watch()
        if alive is None:  # its map is gone
            return
        try:
            alive.look(time.monotonic())
        except errors.ClientClosed:
            return
        del alive


def _seconds_of(ended: Future) -> float | None:
    """The seconds on the worker; None: it failed."""
    if ended.cancelled() or ended.exception() is not None:
        return None
    seconds: float = ended.result()[0]
    return seconds
