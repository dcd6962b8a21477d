"""A thread of the kernel for a page's messages that else would wait for a cell's end.

A front end without subshells sends all messages to the main shell, and JupyterLab's first ones to a widget go there too,
before it knows its subshell: later ones would overtake them. ipykernel 7.4 lets a comm choose the thread of each message.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any


class OwnSubshell:
    def __init__(self, kernel: Any, cell_runs: Callable[[], bool]):
        """`cell_runs()`: whether the main shell waits for a cell."""
        self._kernel, self._cell_runs = kernel, cell_runs
        self._id = ""
        self._lock = threading.Lock()  # guards what follows
        self._ahead = 0  # messages that it has got and not handled

    def instead_of(self, subshell: str | None) -> str | None:
        """The subshell of a message that was sent to this one; None: the main shell. ipykernel's thread of the channel."""
        with self._lock:
            if subshell is None and not self._ahead and not self._cell_runs():
                return None  # the kernel is busy meanwhile, and the stop button stops the callback
            if subshell is None and not self._id:
                with contextlib.suppress(AttributeError, AssertionError):  # another release of ipykernel
                    self._id = self._kernel.shell_channel_thread.manager._create_subshell()
            if not self._id:
                return subshell
            self._ahead += 1
            return self._id  # later ones too: two threads would not keep the order

    @contextlib.contextmanager
    def handles(self) -> Iterator[None]:
        """Around the handling of one message, on the thread that has it."""
        try:
            yield
        finally:
            if self._id and threading.current_thread().name.endswith(self._id):
                with self._lock:
                    self._ahead -= 1
