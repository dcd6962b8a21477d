"""The tasks of a gang's ranks: one for each rank, started and stopped together."""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import errors
from .._common.rank import PeerFailed, RankSetup
from .._engine.options import Options
from .._engine.session import Session
from .._engine.submission import Submitter
from .._engine.task import Task
from ..future import Future, engine_of
from . import gang_plan
from .gang_plan import Failure
from .rank_output import RankOutput

NOTICE_S = 1.0  # how long the news of a worker's death may take
GRACE_S = 2.0  # for the other ranks to stop after one has failed: they wait in a collective that cannot end

Call = Callable[[RankSetup], tuple[Callable[..., Any], tuple[Any, ...]]]  # the function of a rank and its arguments


class Rank(NamedTuple):
    """Where a rank runs: the number of a worker on the lease with these options."""

    options: Options
    worker: int


class RankTasks:
    """The tasks of one client's gangs. Any thread."""

    def __init__(self, submitter: Submitter):
        self._submitter = submitter
        self.of_rank_0: Callable[[Future], None] | None = None  # gets the future of each task that rank 0 is sent

    @property
    def session(self) -> Session:
        return self._submitter.session

    def start(self, rank: Rank, name: str, function: Callable[..., Any], args: tuple[Any, ...] = (),
              output: RankOutput | None = None) -> Future:
        task = Task(name, rank.options)
        task.worker = rank.worker
        future = Future(self.session, task)
        with self.session.events_held_back():
            self._submitter.submit(task, function, args, {}, 0)
            if output is not None:
                self.session.show_at(task, output)
        if rank.worker == 0 and self.of_rank_0 is not None:
            self.of_rank_0(future)
        return future

    def stop(self, futures: Sequence[Future]) -> None:
        for future in futures:
            task = engine_of(future)[1]
            if not future.done() and not task.given_up:  # a second interrupt would hit the function's own cleanup
                self.session.cancel(task, GRACE_S)


class Run:
    """All ranks of one program while it runs."""

    def __init__(self, tasks: RankTasks, name: str, ranks: Sequence[Rank], places: Sequence[RankSetup], call: Call):
        self.failures: list[Failure] = []  # in the order of their arrival
        self.returned: list[int] = []      # also after one has failed: the order of the news is chance
        self.is_stopped = False            # by `stop`: later failures are consequences
        self._tasks, self._ranks, self._places = tasks, ranks, places
        self._outputs = [RankOutput(place.rank.rank) for place in places[1:]]
        outputs = [None, *self._outputs]
        self.futures = [tasks.start(rank, name, *call(place), output)
                        for rank, place, output in zip(ranks, places, outputs, strict=True)]
        for number, future in enumerate(self.futures):
            future.add_done_callback(functools.partial(self._ended, number))

    @property
    def is_complete(self) -> bool:
        """Whether all ranks have returned."""
        return all(future.done() and not future.cancelled() and future.exception(0) is None for future in self.futures)

    @property
    def cause(self) -> Failure:
        return gang_plan.cause(self.failures)

    def error(self, is_checked: bool) -> BaseException:
        """The error to raise for failed ranks: the cause, which names its rank."""
        failure = self.cause
        number, error = failure
        ranks = gang_plan.ranks_of(failure, [rank.options for rank in self._ranks])
        who = gang_plan.in_words(ranks, len(self._places), [self._places[rank].node for rank in ranks])
        last_lines = self._outputs[number - 1].last_lines() if number else []  # rank 0's were shown live
        if isinstance(error, errors.PounceError):
            gang_plan.named(error, who, self._places[number].node, last_lines)
        if hasattr(error, "add_note"):
            for note in gang_plan.notes(failure, who, last_lines, self.returned, is_checked):
                error.add_note(note)
        return error

    def wait(self) -> None:
        """Waits until all have ended, and shows their output. Stopping it (■, Ctrl-C) stops all."""
        try:
            with contextlib.suppress(errors.Cancelled):
                for future in self.futures:
                    future.exception()  # the waiting thread shows rank 0's output and the status line
            concurrent.futures.wait(self.futures)
        except BaseException:  # ■
            self._tasks.stop(self.futures)
            concurrent.futures.wait(self.futures, GRACE_S * 5)
            raise
        finally:
            for output in self._outputs:
                output.show()

    def stop(self) -> None:
        """Any thread; does not wait."""
        self.is_stopped = True
        self._tasks.stop(self.futures)

    def _stop_soon(self, futures: Sequence[Future]) -> None:
        """Stops the others after a while: a rank lost a peer, and a stopped task cannot bring the news of its death."""
        later = threading.Timer(NOTICE_S, self._tasks.stop, [futures])
        later.daemon = True
        later.start()

    def _ended(self, rank: int, future: Any) -> None:
        if future.cancelled() or self.is_stopped:
            return
        error = future.exception(0)
        if error is None:
            self.returned.append(rank)
            return
        self.failures.append(Failure(rank, error))
        # The rank that failed first is still ending: an interrupt could replace its exception.
        first = error.first if isinstance(error, PeerFailed) else None
        others = [future for number, future in enumerate(self.futures) if number != first]
        if first is None and gang_plan.is_of_a_peer(error):
            self._stop_soon(others)
        else:
            self._tasks.stop(others)
