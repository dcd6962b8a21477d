"""A thread of the kernel for a page's messages that else would wait for a cell's end.

A front end without subshells sends all messages to the main shell. JupyterLab's first ones to a widget go there too,
before it knows its subshell: later ones would overtake them. ipykernel 7.4 lets a comm choose the thread of each.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

_CREATES = "_create_subshell"  # of ipykernel's manager of subshells: the one way to make one on the channel's thread


class OwnSubshell:
    def __init__(self, kernel: Any, cell_runs: Callable[[], bool]):
        """`cell_runs()`: whether the main shell waits for a cell."""
        self._kernel, self._cell_runs = kernel, cell_runs
        self._id = ""
        self._lock = threading.Lock()  # guards what follows
        self._ahead = 0  # messages that are not handled
        self._where: str | None = None  # the subshell that they wait at

    def instead_of(self, subshell: str | None) -> str | None:
        """The subshell of a message that was sent to this one; None: the main shell. Thread: the channel's."""
        with self._lock, contextlib.suppress(AttributeError, AssertionError):  # of another release of ipykernel
            manager = self._kernel.shell_channel_thread.manager
            if self._where is not None and self._where not in manager.list_subshell():
                self._ahead = 0  # they went with their page
            cell_runs = self._cell_runs()
            if not self._ahead or (self._where is None and cell_runs):
                self._where = subshell
            if self._where is None and cell_runs:
                self._id = self._id or getattr(manager, _CREATES)()
                self._where = self._id
            self._ahead += 1
            return self._where  # behind those that wait: two threads would not keep the order
        return subshell

    @contextlib.contextmanager
    def handles(self) -> Iterator[None]:
        """Around the handling of one message."""
        try:
            yield
        finally:
            with self._lock:
                self._ahead = max(0, self._ahead - 1)
