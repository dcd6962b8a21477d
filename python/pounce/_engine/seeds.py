"""What workers get of this process's seeds: a random stream for each call, and its generators' state for cells.

A generator that was neither seeded nor drawn from is not sent: calls draw from their worker's own, which the operating
system has seeded. Once it was used, each call has a stream of its own. Each map, sweep and run of a gang has one too,
from which those of its parts are derived. The key of a stream is drawn from the notebook's generator. So two calls
differ, and after the same seed the same calls draw the same numbers.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .. import _core
from .._common.generators import GENERATORS
from .._common.random_streams import Streams, derived, when_here
from .._worker.kernel_calls import is_of
from .status_line import output

if TYPE_CHECKING:  # a program without cells does without
    from .._common.cell_protocol import CellRandom


class _Notebook:
    """The generators of this process, as its workers need them. Any thread."""

    def __init__(self) -> None:
        self._unseen = set(GENERATORS)  # not imported yet
        self._unused: dict[str, tuple[Callable[[], object], object]] = {}  # how to look, and what shows if unused
        self._used: tuple[str, ...] = ()
        self._turn = threading.Lock()  # for looking: the first look at a generator takes a while
        # Not imported here: the state that a cell left, and the number of streams made of it.
        self._coming: dict[str, tuple[bytes, int]] = {}

    def used(self) -> tuple[str, ...]:
        """The generators that were seeded or drawn from, in this process or by a cell elsewhere."""
        for look, before in self._unused.values():
            if look() != before:
                self._look_again()
                break
        for name in self._unseen:
            if name in sys.modules:
                self._see()
                break
        return self._used

    def _look_again(self) -> None:
        with self._turn:
            changed = [name for name, (look, before) in self._unused.items() if look() != before]
            self._used = (*self._used, *changed)
            self._unused = {name: looks for name, looks in self._unused.items() if name not in changed}

    def _see(self) -> None:
        with self._turn:
            for name in [name for name in self._unseen if GENERATORS[name].is_here]:
                look = GENERATORS[name].watch
                before = look()  # first, so that a seed that is set meanwhile is noticed
                if GENERATORS[name].is_fresh():
                    self._unused = self._unused | {name: (look, before)}
                elif name not in self._used:
                    self._used = (*self._used, name)
                self._unseen = self._unseen - {name}

    def drawn(self) -> Streams | None:
        """A stream whose keys are drawn from the used generators. None: none was used."""
        used = self.used()
        return {name: self._key(name) for name in used} if used else None

    def _key(self, name: str) -> bytes:
        if name not in self._coming:
            return GENERATORS[name].draw()
        state, number = self._coming[name]
        self._coming[name] = state, number + 1
        return derived({name: _core.digest(state)}, number)[name]

    def states(self) -> dict[str, bytes]:
        here = {name: generator.state() for name, generator in GENERATORS.items() if generator.is_here}
        return here | {name: state for name, (state, _) in self._coming.items()}

    def receive(self, states: dict[str, bytes]) -> None:
        for name, state in states.items():
            self._coming[name] = state, 0
            when_here(name, functools.partial(self._restore, name))
            if name in self._coming and name not in self._used:
                self._used = (*self._used, name)

    def _restore(self, name: str) -> None:
        generator, (state, _) = GENERATORS[name], self._coming.pop(name)
        if why := generator.take(state):
            output().end(f"pounce: the random numbers of {name} are others than the worker's here: {why}")
        if name in self._unused and generator.tells_seed and generator.is_fresh():
            look = generator.watch
            self._unused = self._unused | {name: (look, look())}  # the cell has drawn from it without a seed

    def part(self) -> None:
        """Begins other streams here, since another process goes on drawing from the present ones."""
        for generator in GENERATORS.values():
            if generator.is_here:
                generator.seed(generator.draw())


_notebook = _Notebook()
_NONE = object()


class _Given(threading.local):
    streams: Any = _NONE  # of the calls that this thread makes


_given = _Given()


def look_ahead() -> None:
    """Finds out whether Python's generator was seeded: that takes 12 ms."""
    _notebook.used()


def of_call(function: Callable[..., Any]) -> Streams | None:
    """The streams of a call, or a set of calls, that is submitted now. None: its worker's own generators do."""
    streams: Streams | None = _given.streams
    if streams is not _NONE:
        return streams
    if not _notebook.used() or is_of(function):
        return None
    return _notebook.drawn()


@contextlib.contextmanager
def given(streams: Streams | None) -> Iterator[None]:
    """Calls that this thread submits meanwhile have these streams; with None none, or those in their arguments."""
    outer, _given.streams = _given.streams, streams
    try:
        yield
    finally:
        _given.streams = outer


def of_cell(waits: bool) -> CellRandom:
    """`waits`: the notebook waits for the cell."""
    from .._common.cell_protocol import CellRandom

    if not waits:
        return CellRandom(streams=_notebook.drawn() or {})
    states = _notebook.states()
    return CellRandom(states=states, unused=[name for name in states if name not in _notebook.used()])


def cell_has_run(states: dict[str, bytes]) -> None:
    """Takes over the generators' states from the cell, also for a library that the notebook imports later."""
    _notebook.receive(states)


def cell_left_behind() -> None:
    """The cell goes on drawing while the next cells run."""
    _notebook.part()
