"""``Dependencies``: the futures among a call's arguments, which it waits for without a worker.

When all have ended well the call is sent. As soon as one has not, the call ends as that one did.
"""

from __future__ import annotations

import copy
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any


class Dependencies:
    """The dependencies of one call: `tasks` has the task of each future. Any thread: the one that brings the last end
    calls one of the callbacks, once: `ready` when all have ended well, `failed` with the future that failed or was
    cancelled, after its own end, since a chain of calls may be long.
    """

    def __init__(self, tasks: dict[Any, Any], ready: Callable[[], object], failed: Callable[[Any], object]):
        self._pending = dict(tasks)
        self._ready, self._failed = ready, failed
        self._is_decided = False
        self._turn = threading.Lock()

    def begin(self) -> None:
        """Watches the futures; those that have ended already count."""
        for future in list(self._pending):
            future.add_done_callback(self._ended)

    def pending(self) -> list[Any]:
        """The tasks that have not ended. Empty: the call waits no more."""
        with self._turn:
            return [] if self._is_decided else list(self._pending.values())

    def drop(self) -> bool:
        """Ends the wait without a callback. False: it had ended already."""
        with self._turn:
            decided = self._is_decided
            self._decide()
            return not decided

    def _ended(self, future: Any) -> None:
        failed = future.cancelled() or future.exception() is not None
        with self._turn:
            self._pending.pop(future, None)
            if self._is_decided or (self._pending and not failed):
                return
            on_ready, on_failure = self._ready, self._failed
            self._decide()
        if failed:
            one_after_the_other(lambda: on_failure(future))
        else:
            on_ready()

    def _decide(self) -> None:
        """Releases the call, since the futures that it waited for keep this object as long as they live."""
        self._is_decided = True
        self._ready = lambda: None
        self._failed = lambda _: None
        self._pending = {}


_thread = threading.local()  # .ends: callbacks that this thread has still to run


def one_after_the_other(end: Callable[[], object]) -> None:
    """Runs `end` after those that this thread runs: calls may end each other in a chain longer than Python's stack."""
    ends: deque[Callable[[], object]] | None = getattr(_thread, "ends", None)
    if ends is not None:
        ends.append(end)
        return
    ends = _thread.ends = deque((end,))
    try:
        while ends:
            ends.popleft()()
    finally:
        del _thread.ends


def with_note(error: BaseException, note: str) -> BaseException:
    """A copy of another call's error with one more note. The same object where it cannot be copied."""
    try:
        copied = copy.copy(error)
        same = type(copied) is type(error) and copied.args == error.args
    except Exception:
        same = False
    if not same:
        return error
    copied.__traceback__, copied.__cause__, copied.__context__ = error.__traceback__, error.__cause__, error.__context__
    copied.__suppress_context__ = error.__suppress_context__
    if hasattr(copied, "add_note"):  # not in Python 3.10
        copied.__notes__ = [*getattr(error, "__notes__", ()), note]
    return copied


def arguments_by_path(args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> list[tuple[str, Any]]:
    """Each argument of `name` with its place in words; positional ones first."""
    return [*((f"argument {n} of {name}", value) for n, value in enumerate(args)),
            *((f"argument {word}= of {name}", value) for word, value in kwargs.items())]


def place_of(future: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> str:
    """Which argument of `name` the future is, in words."""
    places = (_path_in(value, future, path) for path, value in arguments_by_path(args, kwargs, name))
    return next(filter(None, places), f"an argument of {name}")


def _path_in(value: Any, future: Any, path: str, depth: int = 4) -> str:
    """The path of the future in `value`; empty: it is not there, or deeper than `depth`."""
    if value is future:
        return path
    if depth == 0:
        return ""
    parts: Iterable[tuple[str, Any]] = ()
    if isinstance(value, dict):
        parts = ((f"{path}[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, (list, tuple)):
        parts = ((f"{path}[{n}]", part) for n, part in enumerate(value))
    elif isinstance(value, (set, frozenset)):
        parts = ((f"{path}", part) for part in value)
    return next(filter(None, (_path_in(part, future, name, depth - 1) for name, part in parts)), "")
