"""Whether a save has to stop for a waiting task, and how many threads still read the objects' memory then."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from .problems import Interrupted

LOOK_S = 0.01  # between two checks of a thread that only waits


class Interruption:
    """The interruption of one save. Thread: any.

    `must_stop` returns True if a task waits. It is called often, and in every thread of the save.
    """

    def __init__(self, must_stop: Callable[[], bool] = lambda: False):
        self._must_stop = must_stop
        self._changed = threading.Condition()
        self._looking = 0
        self.stopped = False

    def check(self) -> None:
        """Raises Interrupted if a task waits, and from then on each time."""
        if self.stopped or self._must_stop():
            self.stopped = True
            raise Interrupted

    @contextlib.contextmanager
    def looking(self) -> Iterator[None]:
        """Around a short look at an object's memory in a thread."""
        self.check()
        with self._changed:
            if self.stopped:
                raise Interrupted
            self._looking += 1
        try:
            yield
        finally:
            with self._changed:
                self._looking -= 1
                self._changed.notify_all()

    def stop(self) -> None:
        """After this returns no thread reads an object's memory any more."""
        with self._changed:
            self.stopped = True
            self._changed.wait_for(lambda: not self._looking)
