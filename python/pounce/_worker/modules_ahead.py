"""Loads modules that clients named, while their data is on its way: in the main thread, as the task itself would do it.

A task that is here goes first: between two modules the worker looks whether one waits. Modules that waiting tasks name
are loaded at once, the notebook's others after a moment without tasks. If a module cannot be loaded, the task that
needs it gets the error.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import time
from typing import Any

from .._common import local_modules
from . import memory_room

_QUIET_S = 0.5  # without a task, before modules that no task has named are loaded
_ROOM_BYTES = 2 * 1024**3  # with less memory left, modules that no task has named are not loaded
_MOST_SPANS = 8
# These decide at their import whether they are in a notebook: before the cell they would find no shell.
_LOOK_FOR_A_NOTEBOOK = frozenset(("tqdm.auto", "tqdm.autonotebook"))


class ModulesAhead:
    """One per interpreter. Main thread only."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self._needs: list[str] = []
        self._imports: list[str] = []
        self._spans: list[tuple[float, float]] = []  # the last times when it was loading
        self._quiet_since = 0.0

    def task_ended(self) -> None:
        self._quiet_since = time.monotonic()

    def step(self) -> float | None:
        """Loads modules while there is time. Returns seconds until it is to be called again."""
        if not self._core.modules_asked and not self._needs and not self._imports:
            return None
        modules = self._core.modules()
        if modules:
            needs, imports = modules["needs"], modules["imports"]
            self._needs, self._imports = needs, [*self._needs, *imports]
            self._quiet_since = time.monotonic()
            from . import read_ahead  # not earlier: while a worker starts, the user's GPU is idle

            read_ahead.begin([*needs, *imports])
        while self._needs and not self._core.wanted():
            self._load(self._needs.pop(0))
        if self._needs:  # their task is here, and loads what it needs itself
            self._needs, self._imports = [], [*self._needs, *self._imports]
        quiet_in = self._quiet_since + _QUIET_S - time.monotonic()
        if self._imports and quiet_in <= 0 and not self._core.wanted():
            if memory_room.bytes_left() < _ROOM_BYTES:
                self._imports = []
                return None
            self._load(self._imports.pop(0))
        return max(quiet_in, 0.0) if self._imports else None

    def waited(self, received: float) -> float:
        """Seconds that a task received then has waited for modules that were being loaded."""
        return sum(max(0.0, end - max(start, received)) for start, end in self._spans) if self._spans else 0.0

    def _load(self, name: str) -> None:
        start = time.monotonic()
        if name in sys.modules or name in _LOOK_FOR_A_NOTEBOOK or not _is_installed(name):
            return
        self._core.tell_loading(name)
        with contextlib.suppress(BaseException):  # the task that needs it gets the error again
            importlib.import_module(name)
        self._core.tell_loading("")
        self._spans = [*self._spans[-_MOST_SPANS:], (start, time.monotonic())]


def _is_installed(name: str) -> bool:
    """False for the user's own modules: none runs before a task needs it, and the worker may find a wrong one."""
    top = name.partition(".")[0]
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError, AttributeError):
        return False
    if spec is None:
        return False
    return local_modules.is_installed_path(spec.origin or next(iter(spec.submodule_search_locations or ()), ""))
