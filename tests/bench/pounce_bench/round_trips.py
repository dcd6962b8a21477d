"""``pounce-bench rtt`` and ``rtt-bridge``: one call after another, on this machine and to another network namespace."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from .bridge import bridge_or_exit, home_across
from .cases import FLOOR, Report, Settings, floor_program, open_contenders
from .contenders import PEERS, Curve, Dask, Echo, IPyParallel, Pipe, Pool, Pounce, Tcp
from .counts import Usage, usage
from .rounds import Goal, Table, interleaved
from .work import noop

_WARM_UP = 300
_PAUSE_S = 0.001
_TITLE = "one call after another, median"


def rtt(settings: Settings) -> Report:
    with contextlib.ExitStack() as stack:
        contenders, missing = open_contenders(settings, stack, [Echo, Tcp, Curve], PEERS)
        floors = floor_program(settings, "bench_roundtrip", "p50_us", settings.calls)
        figures, counted = _measured(contenders, settings, floors)
    floor = FLOOR if FLOOR in figures else Echo.name
    goals = [
        Goal("at most 1.3 x a bare ZeroMQ round trip with CURVE", Pounce.name, 1.3, True, floor),
        Goal("at least 20 x faster than ipyparallel", Pounce.name, 20, False, IPyParallel.name, inverse=True),
        Goal("at least 40 x faster than dask", Pounce.name, 40, False, Dask.name, inverse=True),
    ]
    return Report([Table(_TITLE, "µs", figures, goals), counted], missing)


def rtt_bridge(settings: Settings) -> Report:
    """Over the network, which calls between two processes of one machine do not use."""
    with contextlib.ExitStack() as stack:
        over = stack.enter_context(bridge_or_exit())
        stack.enter_context(home_across(over))
        contenders = [Pounce(launcher="local"), *(kind(over.prefix, over.address) for kind in (Echo, Tcp, Curve))]
        for contender in contenders:
            stack.callback(contender.close)
        figures, counted = _measured(contenders, settings, {})
    goal = Goal("at most 1.5 x a bare ZeroMQ round trip with CURVE over the same bridge", Pounce.name, 1.5, True,
                Echo.name)
    return Report([Table(f"{_TITLE}, to another network namespace", "µs", figures, [goal]), counted])


def rtt_paused(settings: Settings) -> Report:
    """Between two calls both sides go to sleep."""
    with contextlib.ExitStack() as stack:
        contenders, missing = open_contenders(settings, stack, [Pipe, Tcp], [Pool])
        for contender in contenders:
            _microseconds(contender, _WARM_UP, _PAUSE_S)
        turns: dict[str, Callable[[], float]] = {
            c.name: partial(_microseconds, c, settings.calls, _PAUSE_S) for c in contenders}
        figures = interleaved(turns, settings.rounds)
    goal = Goal("at most 1.3 x a pipe's round trip between two sleeping processes", Pounce.name, 1.3, True, Pipe.name)
    return Report([Table("a call every millisecond, median", "µs", figures, [goal])], missing)


def _measured(contenders: list[Any], settings: Settings,
              floors: dict[str, Callable[[], float]]) -> tuple[dict[str, list[float]], Table]:
    for contender in contenders:
        _microseconds(contender, _WARM_UP // contender.slowness)
    counted = _counts(contenders[0], settings.calls)
    turns: dict[str, Callable[[], float]] = {
        c.name: partial(_microseconds, c, max(1, settings.calls // c.slowness)) for c in contenders}
    return interleaved(turns | floors, settings.rounds), counted


def _microseconds(contender: Any, calls: int, pause_s: float = 0.0) -> float:
    took = []
    for _ in range(calls):
        if pause_s:
            time.sleep(pause_s)
        start = time.perf_counter()
        contender.call(noop)
        took.append(time.perf_counter() - start)
    return statistics.median(took) * 1e6 if took else 0.0


def _counts(pounce: Any, calls: int) -> Table:
    """Quantities that a busy machine changes little: the regression gate of tests/python/counts_test.py."""
    there, here = pounce.call(usage), usage()
    for _ in range(calls):
        pounce.call(noop)
    here, there = usage().since(here), Usage(*pounce.call(usage)).since(there)
    figures = {f"{what}, {where}": [amount / calls] for where, of in (("client", here), ("worker", there))
               for what, amount in (("wake-ups", of.switches), ("of these ZeroMQ's", of.zeromq_switches),
                                    ("reads and writes", of.reads_writes), ("CPU in µs", of.cpu_s * 1e6))}
    return Table("counted for each call", "", figures)
