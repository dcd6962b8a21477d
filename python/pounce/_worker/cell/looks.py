"""Answers a notebook's looks at what lives here, while the main thread runs a cell or waits for one.

One thread takes the questions; each is answered on a thread of its own, since it runs the user's code. One that takes
too long is given up: the notebook waits for it no more, and an exception ends it as soon as it runs Python again.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from ..._common.cell_protocol import Look
from .. import interpreter
from . import quiet
from .look_answers import LookAnswers

_THREAD = "pounce-look"
KIND = "pounce_look"  # of the messages that answer: {"question": its number, "answer": a LookAnswer}
_LATE_S = 10.0  # the notebook waits a second; the first look of a process may load what completion needs for longer
_LONG_S = 3600.0
_MOST_BYTES = 8 * 1024 * 1024  # of an answer
_MOST_AT_ONCE = 8  # looks that hang in C, where nothing ends them; while there are so many no other begins
_PATIENCE_S = 0.3  # so long a fork waits for looks that run, whose locks would stay taken in the child; also the end


class Abandoned(SystemExit):
    """Ends a look that nobody waits for. `threading` says nothing of it."""


class _Look:
    """One question, and the thread that answers it."""

    def __init__(self, asked: Any):
        self.asked = asked
        self.ends = time.monotonic() + _LATE_S
        self._in_users_code = False
        self._lock = threading.Lock()  # guards it

    def found(self, find: Callable[[], str]) -> str:
        """What `find` returns. Empty: it raised, or was given up."""
        try:
            with self._lock:
                self._in_users_code = True
            return find()
        except BaseException:  # of the user's code: nothing is said of it, and the notebook has its own answer
            return ""
        finally:
            self._leave()

    def _leave(self) -> None:
        for _ in range(2):  # an exception that is on its way already strikes here
            try:
                with self._lock:
                    self._in_users_code = False
                _nothing()
            except Abandoned:
                continue

    def give_up(self, thread: int) -> None:
        """Ends it as soon as it runs Python again."""
        import ctypes

        with self._lock:
            if self._in_users_code:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Abandoned))


class Looks:
    def __init__(self, shell: Any, takes: Callable[[Any], bool]):
        """`takes`: whether a message beside the tasks was no question, and was taken."""
        self._shell, self._takes = shell, takes
        self._free: list[LookAnswers] = []  # that no look uses
        self._changed = threading.Condition()  # guards what follows
        self._running: dict[_Look, threading.Thread] = {}
        self._over = False  # this process ends
        self._reader = threading.Thread(target=self._read, name="pounce-looks", daemon=True)

    def begin(self) -> None:
        self._reader.start()
        atexit.register(self._end)  # before the interpreter's end, which would kill the thread inside C++
        os.register_at_fork(before=self._before_fork, after_in_child=self._in_child)

    def _end(self) -> None:
        self._over = True
        interpreter.core.close_looks()
        self._reader.join()
        with self._changed:
            self._changed.wait_for(lambda: not self._running, _PATIENCE_S)
        if self._free:  # completion has loaded 200,000 objects, and Python's end would go through them several times
            gc.freeze()

    def _read(self) -> None:
        while (asked := interpreter.core.next_look(self._pause())) is not None:
            self._give_up_late_ones()
            if asked.number and not self._takes(asked) and len(self._running) < _MOST_AT_ONCE:
                self._begin(_Look(asked))

    def _begin(self, look: _Look) -> None:
        thread = threading.Thread(target=self._run, args=(look,), name=_THREAD, daemon=True)
        with self._changed:
            self._running[look] = thread
        thread.start()

    def _pause(self) -> float:
        """Seconds until the next one is late."""
        with self._changed:
            ends = min((look.ends for look in self._running), default=None)
        return _LONG_S if ends is None else max(0.0, ends - time.monotonic())

    def _give_up_late_ones(self) -> None:
        now = time.monotonic()
        with self._changed:
            late = [(look, thread) for look, thread in self._running.items() if now >= look.ends]
        for look, thread in late:
            look.ends = now + _LATE_S  # it may catch the exception, or stay in C
            look.give_up(thread.ident or 0)

    def _run(self, look: _Look) -> None:
        with self._changed:
            answers = self._free.pop() if self._free else None
        answers = answers or LookAnswers(self._shell)
        printed: list[str] = []
        try:
            with quiet.quiet(printed.append):
                text = look.found(lambda: _text(look.asked, answers, printed))
            self._free.append(answers)
            if text and not self._over:
                interpreter.core.answer_look(look.asked.session, look.asked.number, text.encode())
        finally:
            with self._changed:
                del self._running[look]
                self._changed.notify_all()

    # ---- forks ----

    def _before_fork(self) -> None:
        if threading.current_thread().name != _THREAD:
            with self._changed:
                self._changed.wait_for(lambda: not self._running, _PATIENCE_S)

    def _in_child(self) -> None:
        self._changed, self._running = threading.Condition(), {}


def _text(asked: Any, answers: LookAnswers, printed: list[str]) -> str:
    """Of the answer; empty: it is too large."""
    answer = answers.of(Look(**json.loads(asked.text)), printed)
    content = {"question": asked.number, "answer": asdict(answer)}
    text = json.dumps({"type": KIND, "content": content}, default=str)
    return text if len(text) <= _MOST_BYTES else ""


def _nothing() -> None:
    """A call, at which Python looks for an exception from another thread."""
