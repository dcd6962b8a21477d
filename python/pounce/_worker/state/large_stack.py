"""Calls a function with room for deeply nested objects, and for a limited time.

C's pickler calls itself for each level of nesting; and what an object's own ``__reduce__`` does may never end.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

from .problems import TooSlow

T = TypeVar("T")
_STACK_BYTES = 512 * 1024 * 1024  # of addresses; memory is taken as far as it is used
_LEVELS = 200_000
_GRACE_S = 1.0  # to leave after it was told to


def call(function: Callable[[], T], seconds: float) -> T:
    """The function's result, or what it raised.

    Raises
    ------
    TooSlow
        After `seconds`. A thread that does not end even then (it sleeps in C) is left behind.
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
        thread.join(seconds)
        if thread.is_alive():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(TooSlow))
            thread.join(_GRACE_S)
    finally:
        sys.setrecursionlimit(before)
    if errors:
        raise errors[0]
    if not outcome:
        raise TooSlow
    return outcome[0]


def _start(thread: threading.Thread) -> None:
    outer = threading.stack_size(_STACK_BYTES)
    try:
        thread.start()
    except RuntimeError:  # so many addresses are not allowed
        threading.stack_size(outer)
        thread.start()
    finally:
        threading.stack_size(outer)
