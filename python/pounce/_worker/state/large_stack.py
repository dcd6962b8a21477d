"""Calls a function with a stack for deeply nested objects, and with a time limit.

The C pickler calls itself for each level of nesting; and an object's own ``__reduce__`` may never return.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from .interruption import LOOK_S, Interruption
from .problems import Interrupted, TooSlow

T = TypeVar("T")
_STACK_BYTES = 512 * 1024 * 1024  # address space; only used memory is taken
_LEVELS = 200_000
_GRACE_S = 1.0  # for the function to end after it was told to
_SOON_S = 0.02  # for the function to check by itself whether a task waits


def call(function: Callable[[], T], seconds: float, interruption: Interruption | None = None) -> T:
    """The function's result, or what it raised.

    TooSlow: the function ran for `seconds`. A thread that does not end even then (it sleeps in C) is left behind.
    Interrupted: a task waits. The function should check that too; if it does not within a moment it is ended like a
    slow one.
    """
    outcome: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="pounce-state", daemon=True)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _LEVELS))
    try:
        _start(thread)
        late = _wait(thread, seconds, interruption or Interruption())
    finally:
        sys.setrecursionlimit(before)
    if errors:
        try:
            raise errors[0]
        finally:
            errors.clear()  # the traceback has this frame, which would keep pickled objects until a garbage collection
    if not outcome:
        raise late
    return outcome[0]


def _wait(thread: threading.Thread, seconds: float, interruption: Interruption) -> type[BaseException]:
    """Waits for the thread's end, or ends it. Returns the error with which it was ended."""
    until = time.monotonic() + seconds
    while thread.is_alive():
        remaining = until - time.monotonic()
        if remaining <= 0:
            return _end(thread, TooSlow, _GRACE_S)
        try:
            thread.join(min(remaining, LOOK_S))
            if thread.is_alive():
                interruption.check()
        except Interrupted:
            thread.join(_SOON_S)
            return _end(thread, Interrupted, LOOK_S)
    return TooSlow


def _end(thread: threading.Thread, error: type[BaseException], seconds: float) -> type[BaseException]:
    if thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(error))
        thread.join(seconds)
    return error


def _start(thread: threading.Thread) -> None:
    outer = threading.stack_size(_STACK_BYTES)
    try:
        thread.start()
    except RuntimeError:  # so much address space is not allowed
        threading.stack_size(outer)
        thread.start()
    finally:
        threading.stack_size(outer)
