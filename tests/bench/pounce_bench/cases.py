"""The measurements: one function for each subcommand of ``pounce-bench``."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from .contenders import Contender, Curve, Dask, IPyParallel, Pool, Pounce, RawTcp, Tcp, Zmq, opened
from .counts import bytes_sent
from .rounds import Goal, Table, interleaved
from .work import copied, look, noop

FLOOR = "bare libzmq (C++), CURVE"
MEMCPY = "a copy into reused memory"
WRITE = "write() into a fresh memfd"
FIRST = "pounce, the first of its size"
MAPPED, SECOND_USE = "mapped: pounce.empty, scattered and looked at", "the handle used again"
NEXT_CALL = "the next call, beside which the worker gives older data back"
READ_ONCE = "read once: pounce.empty, scattered and copied there"
SAME_AGAIN, NOTHING = "the same array scattered again", "a call without data"


@dataclass
class Settings:
    """Options of the command line."""

    rounds: int = 5
    calls: int = 2000
    mib: int = 1024
    most: int = 4096  # MiB, for curve
    seconds: float = 30.0
    leases: int = 3
    notebooks: int = 0  # for idle
    peers: bool = False
    floors: Path | None = None  # folder of the C++ floors, bench_roundtrip and bench_stream
    folder: Path | None = None  # for park
    client: dict[str, Any] = field(default_factory=dict)


@dataclass
class Report:
    tables: list[Table]
    missing: list[str] = field(default_factory=list)


def open_contenders(settings: Settings, stack: contextlib.ExitStack, floors: list[type[Contender]],
                peers: list[type[Contender]]) -> tuple[list[Any], list[str]]:
    pounce = Pounce(**settings.client)
    stack.callback(pounce.close)
    found, missing = opened(floors + (peers if settings.peers else []), stack)
    return [pounce, *found], missing


def floor_program(settings: Settings, name: str, key: str, repetitions: int) -> dict[str, Callable[[], float]]:
    if settings.floors is None:
        return {}
    words = [str(settings.floors / name), str(repetitions)]
    return {FLOOR: lambda: json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)[key]}


# ---- many at once --------------------------------------------------------------------------------------------------


def throughput(settings: Settings) -> Report:
    count = 5 * settings.calls
    with contextlib.ExitStack() as stack:
        contenders, missing = open_contenders(settings, stack, [Curve], [Pool, Dask, IPyParallel])
        at_once = _rates(contenders, "many", count, settings.rounds)
        mapped = _rates(contenders, "map", 10 * count, settings.rounds)
    at_once.title, mapped.title = f"{count:,} calls submitted at once", f"map over {10 * count:,} items"
    at_once.goals = [Goal("at least 1.5 x ProcessPoolExecutor", Pounce.name, 1.5, False, Pool.name)]
    mapped.goals = [Goal("at least 100 x dask", Pounce.name, 100, False, Dask.name)]
    return Report([at_once, mapped], missing)


def _rates(contenders: list[Any], method: str, count: int, rounds: int) -> Table:
    able = [contender for contender in contenders if hasattr(contender, method)]
    turns: dict[str, Callable[[], float]] = {
        c.name: partial(_per_second, getattr(c, method), count // c.slowness) for c in able}
    notes = {c.name: f"{count // c.slowness:,} of them" for c in able if c.slowness > 1}
    return Table("", "calls/s", interleaved(turns, rounds), notes=notes)


def _per_second(call: Callable[[int], None], count: int) -> float:
    start = time.perf_counter()
    call(count)
    return count / (time.perf_counter() - start)


# ---- data ----------------------------------------------------------------------------------------------------------


def scatter(settings: Settings) -> Report:
    import numpy

    nbytes = settings.mib * 2**20
    array = numpy.ones(nbytes, dtype=numpy.uint8)
    sizes = FirstSizes(settings)
    sent_again: list[float] = []
    with contextlib.ExitStack() as stack:
        contenders, missing = open_contenders(settings, stack, [RawTcp, Zmq, Tcp, Curve], [Pool, Dask, IPyParallel])
        pounce = contenders[0]
        counter = iter(range(1, 2**20))

        def turn(contender: Any) -> float:
            # New content, so that it has to travel.
            array[:8] = numpy.frombuffer(next(counter).to_bytes(8, "little"), dtype=numpy.uint8)
            rate = gigabytes_per_second(lambda: contender.deliver(array), nbytes)
            if contender is pounce:
                before = bytes_sent()
                pounce.deliver(array)
                sent_again.append(bytes_sent() - before)
            return rate

        for contender in contenders:
            turn(contender)
        sent_again.clear()
        turns: dict[str, Callable[[], float]] = {c.name: partial(turn, c) for c in contenders}
        turns |= {FIRST: lambda: sizes.deliver(pounce), WRITE: lambda: written(array)}
        there = numpy.ones_like(array)
        memcpy = turns[MEMCPY] = lambda: gigabytes_per_second(lambda: numpy.copyto(there, array), nbytes)
        turns |= floor_program(settings, "bench_stream", "best_gb_s", 1)
        figures = interleaved(turns, settings.rounds)
        handles, read_once = _handles(pounce, settings), _read_once(pounce, settings, memcpy)
    floor = FLOOR if FLOOR in figures else Curve.name
    goals = [Goal("at least 0.8 x the same bytes over ZeroMQ with CURVE", Pounce.name, 0.8, False, floor),
             Goal("once segments are warm: at least 0.6 x a copy into reused memory", Pounce.name, 0.6, False, MEMCPY),
             Goal("the first of its size: at least 0.95 x write() into a fresh memfd", FIRST, 0.95, False, WRITE)]
    again = Table("the same array once more", "bytes sent", {Pounce.name: sent_again},
                  [Goal("nothing of the array: less than 4,096 bytes", Pounce.name, 4096, True)])
    first = Table(f"{settings.mib} MiB from here to its use on a worker", "GB/s", figures, goals)
    return Report([first, again, handles, read_once], missing)


class FirstSizes:
    """Arrays a little larger than every one before, for which no memory is warm."""

    _STEP = 2 * 2**20

    def __init__(self, settings: Settings):
        import numpy

        self._size = settings.mib * 2**20
        self._whole = numpy.ones(self._size + (settings.rounds + 1) * self._STEP, dtype=numpy.uint8)

    def deliver(self, pounce: Pounce) -> float:
        self._size += self._STEP
        fresh = self._whole[: self._size]
        return gigabytes_per_second(lambda: pounce.deliver(fresh), fresh.nbytes)


def written(array: Any) -> float:
    """The floor of memory that is new to this process and can be shared: GB/s of write(), 16 MiB at a time."""
    file = os.memfd_create("pounce-bench")
    try:
        data, step = memoryview(array), 16 * 2**20
        return gigabytes_per_second(lambda: [os.write(file, data[at : at + step]) for at in range(0, len(data), step)],
                                    array.nbytes)
    finally:
        os.close(file)


def _handles(pounce: Pounce, settings: Settings) -> Table:
    """The remaining cost of data in memory that a worker of this machine can share."""
    rounds = []
    for _ in range(settings.rounds):
        rounds.append(_handle_times(pounce, settings))
        _all_given_back(pounce)
    goals = [Goal(f"{MAPPED}: at most 10 ms", MAPPED, 10.0, True),
             *(Goal(f"{name}: at most 1 ms", name, 1.0, True) for name in (MAPPED, SECOND_USE, SAME_AGAIN))]
    figures = {name: [one[name] for one in rounds] for name in rounds[0]}
    return Table(f"{settings.mib} MiB that nobody has to copy", "ms", figures, goals)


def _handle_times(pounce: Pounce, settings: Settings) -> dict[str, float]:
    array, took = _born_shared(settings), {}
    start = time.perf_counter()
    ref = pounce.client.scatter(array)
    pounce.call(look, ref)
    took[MAPPED] = 1000 * (time.perf_counter() - start)
    for name, act in ((NEXT_CALL, lambda: pounce.call(noop)), (SECOND_USE, lambda: pounce.call(look, ref)),
                      (SAME_AGAIN, lambda: pounce.client.scatter(array)), (NOTHING, lambda: pounce.call(noop))):
        start = time.perf_counter()
        act()
        took[name] = 1000 * (time.perf_counter() - start)
    return took


def _read_once(pounce: Pounce, settings: Settings, memcpy: Callable[[], float]) -> Table:
    """Mapping alone touches one page. Here a worker reads all pages, as this process does in a copy."""
    def turn() -> float:
        rate = _read_rate(pounce, _born_shared(settings))
        _all_given_back(pounce)
        return rate

    turn()
    figures = interleaved({READ_ONCE: turn, MEMCPY: memcpy}, settings.rounds)
    goal = Goal("at least 0.85 x a copy into memory that was used before", READ_ONCE, 0.85, False, MEMCPY)
    return Table(f"{settings.mib} MiB that nobody has to copy, read once", "GB/s", figures, [goal])


def _read_rate(pounce: Pounce, array: Any) -> float:
    return gigabytes_per_second(lambda: pounce.call(copied, pounce.client.scatter(array)), array.nbytes)


def _all_given_back(pounce: Pounce) -> None:
    """Makes one call that is not measured: the next call releases unused memory, which takes the kernel long."""
    pounce.call(noop)


def _born_shared(settings: Settings) -> Any:
    from pounce import empty

    array = empty(settings.mib * 2**20, "u1")
    array[:] = 1
    return array


def gather(settings: Settings) -> Report:
    import numpy

    nbytes = settings.mib * 2**20
    with contextlib.ExitStack() as stack:
        contenders, missing = open_contenders(settings, stack, [RawTcp, Zmq, Tcp, Curve], [Pool, Dask, IPyParallel])
        turns: dict[str, Callable[[], float]] = {c.name: partial(fetched, c, nbytes) for c in contenders}
        for turn in turns.values():
            turn()
        array = numpy.ones(nbytes, dtype=numpy.uint8)
        there = numpy.ones_like(array)
        turns |= {MEMCPY: lambda: gigabytes_per_second(lambda: numpy.copyto(there, array), nbytes),
                  WRITE: lambda: written(array)}
        figures = interleaved(turns, settings.rounds)
    goals = [Goal("at least 0.8 x the same bytes over ZeroMQ with CURVE", Pounce.name, 0.8, False, Curve.name),
             Goal("at least 0.6 x a copy into reused memory", Pounce.name, 0.6, False, MEMCPY),
             Goal("at least 0.95 x write() into a fresh memfd", Pounce.name, 0.95, False, WRITE)]
    title = f"{settings.mib} MiB back, until they are here; made there before"
    return Report([Table(title, "GB/s", figures, goals)], missing)


def fetched(contender: Any, nbytes: int) -> float:
    """GB/s of an array that a call before has made there."""
    contender.prepare(nbytes)
    return gigabytes_per_second(contender.fetch_prepared, nbytes)


def gigabytes_per_second(act: Callable[[], Any], nbytes: int) -> float:
    start = time.perf_counter()
    act()
    return nbytes / 1e9 / (time.perf_counter() - start)
