"""A loop that knows how far it is. It can be left between two steps and continued elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

from .state import process_state

Item = TypeVar("Item")
between: Callable[[], None] | None = None  # called between two steps; None: this process has no notebook


class Watch(Protocol):
    """Decides whether a loop is to be left."""

    def begins(self) -> None: ...

    def wants(self) -> bool:
        """Whether to leave the loop now. Called between two steps."""

    def ends(self) -> None: ...


class Left(BaseException):
    """Raised between two steps. It is not an Exception, so that few programs catch it."""

    def __init__(self, steps: Steps[Any]):
        super().__init__(f"left after {steps.position} steps")
        self.steps = steps


class Steps(Generic[Item]):
    """What ``steps()`` returns."""

    def __init__(self, iterable: Iterable[Item], total: int | None = None):
        self._iterable, self._total = iterable, total
        self._resumed: tuple[int, bytes] | None = None
        self._seeds = b""  # when the current pass began
        self.position = 0  # steps that are over; during the first it is 0
        self.watch: Watch | None = None  # None: a plain loop

    def begins_again(self) -> bool:
        """False for an iterator, such as a generator or enumerate(): its position would be counted twice."""
        return not isinstance(self._iterable, Iterator)

    def state(self) -> tuple[int, bytes]:
        """What resume() takes."""
        return self.position, self._seeds

    def resume(self, position: int, seeds: bytes = b"") -> None:
        """The next pass begins after the steps that are over."""
        self._resumed, self.position = (position, seeds), position

    def __iter__(self) -> Iterator[Item]:
        (position, seeds), self._resumed = self._resumed or (0, b""), None
        self.position = position
        watch, self.watch = self.watch, None  # for this pass only: a loop in a variable may be used elsewhere
        items = self._rest(position, seeds, watch is not None)
        if watch is None:
            yield from self._counted(items)
            return
        watch.begins()
        try:
            for item in self._counted(items):
                yield item
                if not self._last() and watch.wants():
                    self.position += 1
                    raise Left(self)
        finally:
            watch.ends()

    def __len__(self) -> int:
        return self._total if self._total is not None else len(self._iterable)  # type: ignore[arg-type]

    def _counted(self, items: Iterator[Item]) -> Iterator[Item]:
        for item in items:
            yield item
            if between is not None:
                between()
            self.position += 1

    def _rest(self, position: int, seeds: bytes, watched: bool) -> Iterator[Item]:
        if isinstance(self._iterable, Sequence):
            return self._of_sequence(position)
        return iter(self._iterable) if not watched and not position else self._drawn_again(position, seeds)

    def _of_sequence(self, index: int) -> Iterator[Item]:
        assert isinstance(self._iterable, Sequence)
        while index < len(self._iterable):  # it may change meanwhile, like a list in a plain loop
            yield self._iterable[index]
            index += 1

    def _drawn_again(self, position: int, seeds: bytes) -> Iterator[Item]:
        """With the seeds of the first time, so that a shuffled order is the same."""
        now = process_state.seeds()
        self._seeds = seeds or now
        process_state.put_seeds_back(self._seeds)
        items = iter(self._iterable)
        for _ in islice(items, position):
            pass
        if position:
            process_state.put_seeds_back(now)
        yield from items

    def _last(self) -> bool:
        try:
            return self.position + 1 >= len(self)
        except TypeError:  # it has no length
            return False


def steps(iterable: Iterable[Item], total: int | None = None) -> Steps[Item]:
    """A loop that may move to another worker between two of its steps, when another user has waited long for the
    resources or the worker's time ends: ``for epoch in pounce.steps(range(100))``.

    The loop can move if it stands by itself at the left margin of a cell that waits for its worker (not with ``--bg``),
    and all variables can be saved. Then the variables are saved, the worker goes back, the cell waits for another one,
    and continues with the next step. Everywhere else, in the notebook itself, in functions and inside other statements,
    it is a plain loop.

    Parameters
    ----------
    iterable : iterable
        A range or a sequence continues at its next item. From anything else, such as a DataLoader, the earlier items
        are drawn again and dropped, with the seeds of random, numpy and torch as they were when it began: it must give
        the same items again, or it does not matter which. An iterator (a generator, ``enumerate()``, ``zip()``) is a
        plain loop.
    total : int or None
        How many items there are, if the iterable has no length.

    Examples
    --------
    >>> losses = []
    >>> for epoch in pounce.steps(range(3)):
    ...     losses.append(1 / (epoch + 1))
    >>> len(losses)
    3
    """
    return Steps(iterable, total)
