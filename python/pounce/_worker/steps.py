"""A loop that knows how far it is, and can be left between two steps and gone on with elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")

# Asked between two steps: shall this loop be left now? Then it raises Left. None: nobody wants that here.
ask: Callable[[Steps[Any]], bool] | None = None


class Left(BaseException):
    """Raised between two steps. No Exception, so that few programs catch it."""

    def __init__(self, steps: Steps[Any]):
        super().__init__(f"left after {steps.position} steps")
        self.steps = steps


class Steps(Generic[Item]):
    """
    Parameters
    ----------
    iterable : iterable
        A range or a sequence is gone on with at its next item. Of anything else, such as a DataLoader, the items before that are
        drawn again and dropped: it must give the same ones again, or it does not matter which.
    total : int or None
        How many items there are, where the iterable has no length.

    Attributes
    ----------
    position : int
        Steps that are over. During the first it is 0.
    """

    def __init__(self, iterable: Iterable[Item], total: int | None = None):
        self._iterable, self._total = iterable, total
        self._begin = self.position = 0

    def state(self) -> dict[str, Any]:
        """What resume() takes."""
        return {"position": self.position}

    def resume(self, state: dict[str, Any]) -> None:
        """The next pass begins behind the steps that are over."""
        self._begin = self.position = state["position"]

    def __iter__(self) -> Iterator[Item]:
        self.position, self._begin = self._begin, 0
        for item in self._rest(self.position):
            yield item
            self.position += 1
            if ask is not None and not self._over() and ask(self):
                raise Left(self)

    def __len__(self) -> int:
        return self._total if self._total is not None else len(self._iterable)  # type: ignore[arg-type]

    def _rest(self, begin: int) -> Iterator[Item]:
        if not isinstance(self._iterable, Sequence):
            yield from islice(self._iterable, begin, None)
            return
        index = begin
        while index < len(self._iterable):  # which may change meanwhile, as a list's in a plain loop
            yield self._iterable[index]
            index += 1

    def _over(self) -> bool:
        try:
            return self.position >= len(self)
        except TypeError:  # nobody knows
            return False


def steps(iterable: Iterable[Item], total: int | None = None) -> Steps[Item]:
    """``for epoch in steps(range(100))``: a plain loop where nobody asks."""
    return Steps(iterable, total)
