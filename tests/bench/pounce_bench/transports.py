"""Large data by its transport: memory on one machine, the bulk lane and ZeroMQ between two."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from .bridge import NEEDS, bridge, bridge_or_exit, home_across, possible
from .cases import FIRST, MEMCPY, FirstSizes, Report, Settings, fetched, gigabytes_per_second
from .contenders import Curve, Pounce, RawTcp, Tcp, Zmq
from .counts import bytes_sent
from .home import own_home
from .rounds import Goal, Table, interleaved
from .work import meet, timed_sum

MEMORY, LANE, ZEROMQ = "memory, one machine", "bulk lane, TLS 1.3", "ZeroMQ, CURVE"


class _Array:
    """An array whose first bytes differ each time, so that it has to travel."""

    def __init__(self, mib: int):
        import numpy

        self.whole = numpy.ones(mib * 2**20, dtype=numpy.uint8)
        self.there = numpy.ones_like(self.whole)
        self._count = 0

    def fresh(self, nbytes: int) -> Any:
        self._count += 1
        self.whole[:8] = list(self._count.to_bytes(8, "little"))
        return self.whole[:nbytes]

    def copied(self, nbytes: int) -> None:
        self.there[:nbytes] = self.whole[:nbytes]


def _there(contender: Any, array: _Array, nbytes: int) -> float:
    fresh = array.fresh(nbytes)
    return gigabytes_per_second(lambda: contender.deliver(fresh), nbytes)


def _back(contender: Any, nbytes: int) -> float:
    return fetched(contender, nbytes)


# ---- another network namespace -------------------------------------------------------------------------------------


def across(settings: Settings) -> Report:
    array, nbytes = _Array(settings.mib), settings.mib * 2**20
    with contextlib.ExitStack() as stack:
        over = stack.enter_context(bridge_or_exit())
        stack.enter_context(home_across(over))
        contenders: list[Any] = [Pounce(launcher="local"),
                                 *(kind(over.prefix, over.address) for kind in (RawTcp, Zmq, Tcp, Curve))]
        for contender in contenders:
            stack.callback(contender.close)
            _there(contender, array, nbytes), _back(contender, nbytes)
        there: dict[str, Callable[[], float]] = {c.name: partial(_there, c, array, nbytes) for c in contenders}
        back: dict[str, Callable[[], float]] = {c.name: partial(_back, c, nbytes) for c in contenders}
        sizes, pounce = FirstSizes(settings), contenders[0]
        there[FIRST] = lambda: sizes.deliver(pounce)
        there[MEMCPY] = lambda: gigabytes_per_second(lambda: array.copied(nbytes), nbytes)
        figures = [interleaved(turns, settings.rounds) for turns in (there, back)]
        handle = _handle(pounce, array.fresh(nbytes), settings)
    ours = Pounce.name
    goals = [Goal("at least 0.5 x raw TCP into reused memory", ours, 0.5, False, RawTcp.name),
             Goal("at least pyzmq by hand, not encrypted", ours, 1, False, Zmq.name)]
    size = f"{settings.mib} MiB"
    return Report([Table(f"{size} to another network namespace, encrypted, to its use there", "GB/s", figures[0], goals),
                   Table(f"{size} back, until they are here; made there before", "GB/s", figures[1], goals), handle])


def _handle(pounce: Pounce, array: Any, settings: Settings) -> Table:
    """A call that reads a number of each page of data that is there already."""
    ref, over, reads = pounce.client.scatter(array), "the call, over its reading", "the reading there"
    figures: dict[str, list[float]] = {over: [], reads: []}
    for number in range(2 * settings.rounds + 1):
        start = time.perf_counter()
        reading = pounce.call(timed_sum, ref)
        if number > 0:  # the first one maps it
            figures[over].append(1000 * (time.perf_counter() - start) - reading)
            figures[reads].append(reading)
    return Table(f"a call on {settings.mib} MiB that are there", "ms", figures,
                 [Goal("at most 1 ms over the reading", over, 1.0, True)])


# ---- several workers -----------------------------------------------------------------------------------------------


class _Group:
    """The workers of one lease."""

    def __init__(self, workers: int):
        from pounce import Client

        self.workers, self.client = workers, Client(launcher="local", workers=workers)
        self.fetch(None)

    def fetch(self, ref: Any) -> None:
        with tempfile.TemporaryDirectory(prefix="pounce-bench-meet-") as folder:
            calls = [self.client.submit(meet, folder, self.workers, ref) for _ in range(self.workers)]
            pids = {call.result() for call in self.client.as_completed(calls)}  # the others wait for one that is lost
            assert len(pids) == self.workers

    def close(self) -> None:
        self.client.close()


def scaling(settings: Settings) -> Report:
    """On this machine; with root also over the bridge, where the sent bytes are counted."""
    tables = [_scaling(settings, MEMORY, own_home)]
    if not possible():
        return Report(tables, [f"another network namespace (needs {NEEDS})"])
    with bridge() as over:
        return Report([*tables, _scaling(settings, LANE, partial(home_across, over))])


def _scaling(settings: Settings, transport: str, home: Callable[[], contextlib.AbstractContextManager[Any]]) -> Table:
    array, nbytes = _Array(settings.mib), settings.mib * 2**20
    sent: dict[str, list[float]] = {}

    def turn(group: _Group) -> float:
        fresh, before = array.fresh(nbytes), bytes_sent()
        rate = gigabytes_per_second(lambda: group.fetch(group.client.scatter(fresh)), nbytes * group.workers)
        sent.setdefault(_workers(group.workers), []).append((bytes_sent() - before) / nbytes)
        return rate

    figures: dict[str, list[float]] = {}
    for workers in (1, 2, 4, 8):
        with home(), contextlib.closing(_Group(workers)) as group:
            figures[_workers(workers)] = [turn(group) for _ in range(settings.rounds)]
    notes = {name: f"the object was sent {sum(times) / len(times):.1f} times"
             for name, times in sent.items() if transport == LANE}
    return Table(f"{settings.mib} MiB to several workers at once, {transport}: all that arrived", "GB/s", figures,
                 notes=notes)


def _workers(count: int) -> str:
    return f"{count} worker{'s' if count > 1 else ''}"


# ---- from small to large -------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _pounce(home: contextlib.AbstractContextManager[Any]) -> Iterator[Pounce]:
    with home, contextlib.closing(Pounce(launcher="local")) as pounce:
        yield pounce


def curve(settings: Settings) -> Report:
    """1 MiB to 4 GiB over each transport, to the worker and back; the largest size is `most`."""
    sizes = [mib for mib in (1, 4, 16, 64, 256, 1024, 4096) if mib <= settings.most]
    array = _Array(sizes[-1])
    transports: list[tuple[str, contextlib.AbstractContextManager[Any]]] = [(MEMORY, own_home())]
    figures: dict[int, dict[str, list[float]]] = {mib: {} for mib in sizes}
    with contextlib.ExitStack() as stack:
        if possible():
            over = stack.enter_context(bridge())
            transports += [(LANE, home_across(over)), (ZEROMQ, home_across(over, lane=False))]
        for transport, home in transports:
            with _pounce(home) as pounce:
                for mib in sizes:
                    turns: dict[str, Callable[[], float]] = {
                        f"{transport}: there": partial(_there, pounce, array, mib * 2**20),
                        f"{transport}: back": partial(_back, pounce, mib * 2**20)}
                    for act in turns.values():
                        act()
                    figures[mib] |= interleaved(turns, settings.rounds)
    missing = [] if possible() else [f"another network namespace (needs {NEEDS})"]
    return Report([Table(f"{mib} MiB", "GB/s", figures[mib]) for mib in sizes], missing)
