"""``TaskRuns``: a task that may run on two workers at a time, and which run's end is the task's."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Protocol

from .. import _core, errors
from .._engine.task import Task


class Cancels(Protocol):
    """A session."""

    def cancel(self, task: Task) -> None: ...


class Copy(Task):
    """The second run, which has no future."""

    def __init__(self, original: Task, ended: Callable[[_core.Ended], None]):
        super().__init__(original.name, original.asks)
        self._ended = ended

    def end(self, ended: _core.Ended) -> None:
        self.over = True
        self._ended(ended)


class TaskRuns:
    """Made before the task is submitted. The first result or exception of its function is the task's end, and the other
    run is cancelled. A lost run does not end the task while the other one goes on. Any thread."""

    def __init__(self, session: Cancels, task: Task):
        self._session, self.task = session, task
        self._copy: Copy | None = None
        self._decided = self._is_alone = False  # alone: one of two runs is lost
        self._turn = threading.Lock()           # ends come on any thread
        task.may_end = self._may_end

    def copy(self) -> bool:
        """Starts a second run. False: the task has ended, has a copy, or cannot have one. Does not block."""
        with self._turn:
            if self._decided or self._copy is not None or self.task.submit_copy is None:
                return False
            copy = Copy(self.task, self._copy_ended)
            try:
                self.task.submit_copy(copy)
            except errors.PounceError:  # a file that it needs has changed, or the client is closed
                return False
            self._copy = copy
            return True

    def _may_end(self, ended: _core.Ended) -> bool:
        """Whether this end of the first run is the task's."""
        with self._turn:
            if self._decided:
                return False
            goes_on = self._copy is not None and not self._is_alone
            is_cancelled = ended.error is not None and ended.error.code == "cancelled"
            if goes_on and not is_cancelled and not _is_the_functions(ended):
                self._is_alone = True
                self.task.id = self._copy.id if self._copy else ""  # from now on waits and cancels mean the copy
                return False
            self._decided = True
        if goes_on and self._copy is not None:
            self._cancel(self._copy)
        return True

    def _copy_ended(self, ended: _core.Ended) -> None:
        with self._turn:
            if self._decided:
                return
            was_alone = self._is_alone
            self._is_alone = True
            if not was_alone and not _is_the_functions(ended):
                return
            self._decided = True
        self.task.finish(ended)
        if not was_alone:
            self._cancel(self.task)

    def _cancel(self, run: Task) -> None:
        with contextlib.suppress(errors.ClientClosed):
            self._session.cancel(run)


def _is_the_functions(ended: _core.Ended) -> bool:
    return ended.ok or ended.raised
