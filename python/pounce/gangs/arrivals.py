"""The members of an elastic gang that are requested: each is a lease, whose workers make offers when it has come."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from typing import Any

from .. import errors
from .._common.rank import Offer
from .._engine.options import Options
from .._engine.status_line import QUIET_S, StatusLine
from .._worker import rank_run
from ..future import Future, engine_of
from .rank_tasks import Rank, RankTasks, Run


class Arrivals:
    def __init__(self, tasks: RankTasks, leases: Sequence[Options]):
        self._tasks, self._leases = tasks, leases
        self._requests: dict[int, list[Future]] = {}
        self._ended: queue.SimpleQueue[int] = queue.SimpleQueue()  # members whose workers have all answered
        self._run: Run | None = None
        self._lock = threading.Lock()

    def ranks(self, member: int) -> list[Rank]:
        return [Rank(self._leases[member], worker) for worker in range(self._leases[member].resources.workers)]

    def ask(self, member: int) -> None:
        """Requests a member's lease, and its workers' offers."""
        futures = [self._tasks.start(rank, "offer", rank_run.offer) for rank in self.ranks(member)]
        self._requests[member] = futures
        missing = threading.Semaphore(len(futures) - 1)

        def answered(_: Any) -> None:
            if not missing.acquire(blocking=False):
                self._answered(member, futures)

        for future in futures:
            future.add_done_callback(answered)

    def next(self, seconds: float | None) -> tuple[int, list[Offer] | BaseException] | None:
        """The next member and its offers, or the error in their place; None: none came in time. Shows a status line."""
        line = StatusLine()
        try:
            while True:
                try:
                    member = self._ended.get(timeout=QUIET_S if seconds is None else seconds)
                    break
                except queue.Empty:
                    if seconds is not None:
                        return None
                    self._show(line)
        finally:
            line.finish()
        futures = self._requests.pop(member)
        problem = next((error for error in map(_problem, futures) if error is not None), None)
        return member, problem or [future.result() for future in futures]

    def disturb(self, run: Run | None) -> None:
        """From now on a member that comes stops `run`, so that it restarts with that member; None: no run."""
        with self._lock:
            self._run = run
        if run is not None and any(_has_come(futures) for futures in list(self._requests.values())):
            run.stop()

    def close(self) -> None:
        """Waits for no more members: leases that Slurm has not started leave its queue."""
        self.disturb(None)
        for futures in self._requests.values():
            self._tasks.stop(futures)

    def _answered(self, member: int, futures: Sequence[Future]) -> None:
        self._ended.put(member)
        with self._lock:
            run = self._run
        if run is not None and _has_come(futures):
            run.stop()

    def _show(self, line: StatusLine) -> None:
        waiting = next((future for futures in self._requests.values() for future in futures if not future.done()), None)
        if waiting is not None:
            session, task = engine_of(waiting)
            line.update(session.state(task), session.lease_status(task))


def _has_come(futures: Sequence[Future]) -> bool:
    return all(future.done() and _problem(future) is None for future in futures)


def _problem(future: Future) -> BaseException | None:
    try:
        return future.exception(0)
    except errors.Cancelled as cancelled:
        return cancelled
