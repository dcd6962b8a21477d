"""``Sweep``: one function with many parameters; failed members are repeated, hopeless ones are ended early."""

from __future__ import annotations

import collections
import contextlib
import html
import math
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, TypeAlias

from . import _core, errors
from ._engine.status_line import QUIET_S, live_output
from ._sweep.member_runs import MemberRuns
from ._sweep.samplers import Source
from ._sweep.sweep_plan import (
    MedianRule,
    Member,
    Metric,
    Pace,
    Stop,
    last_reported,
    progress,
    ranked,
    rows_of,
    value_of,
)
from ._tables.text_table import as_html
from .future import Future, engine_of

Call: TypeAlias = "Callable[[Member], Future]"

_AHEAD = 4096   # members of a grid that wait or run at a time: enough for a pool to see how much work there is
_TICK_S = 1.0   # between two updates of the line
_SHOWN = 10     # members in a notebook's table


@errors.public
class Sweep:
    """The members of a sweep, as they stand. Made by ``Client.sweep``; runs by itself, on its own thread. Any thread
    may use it.

    ``results`` has all members, ``best`` the best one, ``dataframe()`` a table; ``wait()`` waits for the last one.
    """

    def __init__(self, call: Call, cancel: Callable[[Future], None], source: Source, metric: Metric, stop: Stop,
                 retries: int, sign: int, at_a_time: int, runs: MemberRuns | None = None):
        self._call, self._cancel_task, self._source = call, cancel, source
        self._metric, self._retries, self._sign = metric, retries, sign
        self._stop = stop
        self._runs = runs  # MLflow's, of the members; None: they have none
        self._median = MedianRule(metric, sign) if stop == "median" and isinstance(metric, str) else None
        self._most = at_a_time if source.late else max(at_a_time, _AHEAD)
        self._members: list[Member] = []
        self._under_way: dict[int, Future] = {}
        self._again: collections.deque[Member] = collections.deque()
        self._pruned: set[int] = set()
        self._first_heard: dict[int, float] = {}  # of attempts that run
        self._changed: queue.SimpleQueue[int] = queue.SimpleQueue()  # members that have ended or reported
        self._told: set[int] = set()  # the numbers in _changed: a member that reports often is there once
        self._has_all = self._cancelled = False
        self._problem: BaseException | None = None
        self._over = threading.Event()
        self._pace = Pace(time.monotonic())
        # On this thread: the caller gets the error of a function that cannot travel, or of a wrong grid.
        self._submit_up_to(1)
        threading.Thread(target=self._run, name="pounce-sweep", daemon=True).start()

    # ---- asking ----

    @property
    def results(self) -> list[Member]:
        """All members that there are by now, in their order. Does not block.

        Each has ``number``, ``params``, ``state`` (``"waiting"``, ``"running"``, ``"done"``, ``"pruned"``,
        ``"failed"``, ``"cancelled"``), ``value``, ``error``, ``seconds`` on the worker, ``attempts``, ``result`` and
        ``reports``.
        """
        for number, future in list(self._under_way.items()):
            if self._members[number].state == "waiting" and future.running():
                self._members[number].state = "running"
        return list(self._members)

    @property
    def best(self) -> Member | None:
        """The member with the best value so far; None: none has ended well with a number. Does not block."""
        return next(iter(ranked(self._members, self._sign)), None)

    @property
    def done(self) -> bool:
        """True when nothing of it waits or runs any more. Does not block."""
        return self._over.is_set()

    def dataframe(self) -> Any:
        """``results`` as a table of pandas, a row for each member and a column for each parameter. Does not block.

        Raises
        ------
        BadRequest
            There is no pandas in this environment.
        """
        try:
            import pandas  # type: ignore[import-untyped]
        except ImportError:
            raise errors.BadRequest("a DataFrame needs pandas, which this environment does not have",
                                    "Install it (pip install pandas), or use .results.") from None
        return pandas.DataFrame(rows_of(self.results))

    # ---- waiting ----

    def wait(self, timeout: float | None = None) -> Sweep:
        """Waits for the last member; shows progress, and when the rest will be done. Returns the sweep itself.

        Stopping it (■, Ctrl-C) cancels the sweep; what has ended by then stays in ``results``.

        Parameters
        ----------
        timeout : float, seconds, optional
            How long to wait at most; the sweep goes on when it is over.

        Raises
        ------
        Timeout
            It has not ended within `timeout`.
        Exception
            What ``stop=``, the sampler or the iterable of parameters raised: that ends the sweep. An error of a member
            does not.
        """
        now = time.monotonic()
        deadline = math.inf if timeout is None else now + timeout
        line, look = None, now + QUIET_S
        try:
            while not self._over.wait(max(0.0, min(look, deadline) - time.monotonic())):
                now = time.monotonic()
                if now >= deadline:
                    raise errors.Timeout(f"the sweep has not ended within {timeout:g} s; it goes on")
                line, look = line or live_output(), now + _TICK_S
                line.show(self._words())
        except KeyboardInterrupt:
            self.cancel()
            raise
        finally:
            if line is not None:
                line.end(self._words())
        if self._problem is not None:
            raise self._problem
        return self

    def cancel(self) -> None:
        """Ends the sweep: no member starts any more, running ones are interrupted (KeyboardInterrupt). Does not
        block."""
        self._cancelled = True
        for future in list(self._under_way.values()):
            self._cancel_task(future)

    def __len__(self) -> int:
        return len(self._members)

    def __repr__(self) -> str:
        return f"<{self._words().replace('pounce: sweep:', 'pounce.Sweep')}>"

    def _repr_html_(self) -> str:
        rows = rows_of((ranked(self._members, self._sign) or self._members)[:_SHOWN])
        columns = list(dict.fromkeys(name for row in rows for name in row))
        table = [columns, *([_short(row.get(name)) for name in columns] for row in rows)]
        return f"<p>{html.escape(self._words())}</p>" + (as_html(table) if rows else "")

    def _words(self) -> str:
        members = self.results
        left = None if self._source.count is None else self._source.count - sum(1 for member in members if member.over)
        seconds = None if left is None or self.done else self._pace.seconds_left(left, time.monotonic())
        count = len(members) if self._has_all else self._source.count
        return _core.printable(f"pounce: sweep: {progress(members, count, self.best, seconds)}")

    # ---- its thread ----

    def _run(self) -> None:
        try:
            self._submit_up_to(self._most)
            while self._under_way:
                number = self._changed.get()
                self._told.discard(number)
                future = self._under_way.get(number)
                if future is not None:
                    self._look_at(self._members[number], future)
                self._submit_up_to(self._most)
        except BaseException as problem:  # wait() raises it
            self._problem = problem
            self.cancel()
        finally:
            self._give_up_rest()
            self._over.set()

    def _submit_up_to(self, most: int) -> None:
        while len(self._under_way) < most and not self._cancelled:
            member = self._again.popleft() if self._again else self._next()
            if member is None:
                return
            self._submit(member)

    def _next(self) -> Member | None:
        if self._has_all:
            return None
        params = self._source.ask(len(self._members))
        if params is None:
            self._has_all = True
            return None
        member = Member(len(self._members), params)
        self._members.append(member)
        return member

    def _submit(self, member: Member) -> None:
        member.state, member.error, member.reports = "waiting", None, []
        member.attempts += 1
        with self._runs.active(member) if self._runs is not None else contextlib.nullcontext():
            future = self._under_way[member.number] = self._call(member)
        if self._cancelled:  # meanwhile, by another thread, which did not see this member
            self._cancel_task(future)
        engine_of(future)[1].heard = lambda: self._tell(member.number)
        future.add_done_callback(lambda _: self._tell(member.number))
        if future.reports:  # before we listened
            self._tell(member.number)

    def _tell(self, number: int) -> None:
        if number not in self._told:
            self._told.add(number)
            self._changed.put(number)

    def _look_at(self, member: Member, future: Future) -> None:
        member.reports = future.reports
        heard = self._first_heard.setdefault(member.number, time.monotonic())
        if future.done():
            del self._under_way[member.number], self._first_heard[member.number]
            self._settle(member, future, time.monotonic() - heard)
        elif member.number not in self._pruned and member.reports and self._is_hopeless(member):
            self._pruned.add(member.number)
            self._cancel_task(future)

    def _is_hopeless(self, member: Member) -> bool:
        if self._median is not None:
            return self._median.should_prune(member.number, member.reports)
        if callable(self._stop):
            return bool(self._stop(list(member.reports)))
        return isinstance(self._metric, str) and self._source.should_prune(member, self._metric)

    def _settle(self, member: Member, future: Future, heard_s: float) -> None:
        timings = engine_of(future)[1].timings
        # An interrupted member reports no time of its own.
        member.seconds = heard_s if timings is None else timings.run
        _conclude(member, future, self._metric, member.number in self._pruned)
        if self._runs is not None:
            self._runs.ended(member)
        if member.state == "failed" and member.attempts <= self._retries and not self._cancelled:
            member.state = "waiting"
            self._again.append(member)
            return
        self._pace.ended(time.monotonic())
        self._source.tell(member)

    def _give_up_rest(self) -> None:
        for member in self._members:
            if not member.over:
                member.state = "cancelled"
                with contextlib.suppress(Exception):  # a broken sampler may be why the sweep ends
                    self._source.tell(member)
        if self._runs is not None:
            self._runs.sweep_ended("KILLED" if self._cancelled else "FINISHED")


def _conclude(member: Member, future: Future, metric: Metric, pruned: bool) -> None:
    """Sets the member's state and value by how its task ended."""
    try:
        member.result = future.result(0)
    except errors.Cancelled as problem:
        member.state, member.error = "cancelled", None if pruned else problem
    except BaseException as problem:
        member.state, member.error = "failed", problem
    else:
        try:
            member.state, member.value = "done", value_of(metric, member.result, member.reports)
        except Exception as problem:
            member.state, member.error = "failed", problem
    if pruned and member.state != "failed":
        member.state, member.value = "pruned", last_reported(metric, member.reports)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)[:60]
