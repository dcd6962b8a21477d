"""``Questions``: this kernel's open questions to pounced. Any thread asks; the thread that drains the news answers."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

from .. import _core, errors

Answer = (_core.QueueIs, _core.ClassesIs, _core.StatusIs, _core.DetachedList)
Question = Callable[..., int]  # (number, connection that has it) -> the connection that has it now, 0 for none


class Questions:
    def __init__(self) -> None:
        self._answers: dict[int, Any] = {}  # by our number of the question; None: to come
        self._numbers = itertools.count(1)
        self._changed = threading.Condition()
        self._no_daemon: errors.PounceError | None = None  # why it could not be started again

    def ask(self, question: Question, timeout: float) -> Any:
        """The answer; its error is raised. A question that was lost with its connection is sent again."""
        request = next(self._numbers)
        deadline = time.monotonic() + timeout
        connection = 0
        with self._changed:
            self._no_daemon = None
            self._answers[request] = None
            try:
                while (answer := self._answers[request]) is None:
                    if self._no_daemon is not None:
                        raise self._no_daemon
                    if time.monotonic() >= deadline:
                        raise errors.DaemonUnavailable(f"pounced has not answered within {timeout:g} s")
                    connection = question(request, connection)
                    self._changed.wait(0.2 if connection else 0.02)
                if getattr(answer, "error", None) is not None:
                    raise errors.of(answer.error)
                return answer
            finally:
                del self._answers[request]  # a late or second answer is dropped

    def answered(self, answer: Any) -> None:
        with self._changed:
            if answer.question in self._answers:
                self._answers[answer.question] = answer
                self._changed.notify_all()

    def fail(self, problem: errors.PounceError) -> None:
        """There is no pounced, and none can be started: every open question fails."""
        with self._changed:
            self._no_daemon = problem
            self._changed.notify_all()
