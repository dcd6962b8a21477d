"""Whether a save has to stop for somebody, and who still looks at the objects' memory then."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from .problems import Interrupted

LOOK_S = 0.01  # between two questions of one who only waits


class Interruption:
    """Of one save.

    Parameters
    ----------
    asked : callable
        True: somebody waits. It is called often, and in every thread of the save.

    Thread: any.
    """

    def __init__(self, asked: Callable[[], bool] = lambda: False):
        self._asked = asked
        self._changed = threading.Condition()
        self._looking = 0
        self.stopped = False

    def check(self) -> None:
        """Raises Interrupted, from then on each time."""
        if self.stopped or self._asked():
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
        """When this returns nobody looks at an object's memory, nor ever will."""
        with self._changed:
            self.stopped = True
            self._changed.wait_for(lambda: not self._looking)
