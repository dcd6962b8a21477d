"""Keeps what a look at the user's objects prints, logs or displays from the cell that runs beside it, and what a
widget's callback shows from the cell that it interrupts.

A look runs the user's code (``__getattr__``, ``__dir__``, a ``repr``) on a thread of its own. While one runs,
``sys.stdout`` and ``sys.stderr`` are stand-ins that tell threads apart. All other threads write as before.
"""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

_heard: dict[int, Callable[[str, str], Any]] = {}  # by the thread: takes a stream's name and what is printed there
_shown: dict[int, Callable[[bytes, Any], Any]] = {}  # takes what such a thread displays; without it, it looks
_lock = threading.Lock()  # guards the streams while they are exchanged
_STREAMS = ("stdout", "stderr")
_log = logging.Logger.handle


def is_quiet() -> bool:
    """Whether this thread looks: nothing that it shows may reach the user."""
    return bool(_heard) and threading.get_ident() in _heard and threading.get_ident() not in _shown


def shows() -> Callable[[bytes, Any], Any] | None:
    """Takes what this thread displays, where that is not the cell's."""
    return _shown.get(threading.get_ident()) if _shown else None


@contextlib.contextmanager
def apart(printed: Callable[[str, str], Any], shown: Callable[[bytes, Any], Any]) -> Iterator[None]:
    """This thread's prints go to `printed`, its displays to `shown`."""
    me = threading.get_ident()
    _shown[me] = shown
    try:
        with _hearing(printed):
            yield
    finally:
        del _shown[me]


@contextlib.contextmanager
def quiet(hear: Callable[[str], Any]) -> Iterator[None]:
    """This thread's prints go to `hear`, its logs and displays nowhere."""
    with _hearing(lambda _, text: hear(text)):
        yield


@contextlib.contextmanager
def _hearing(hear: Callable[[str, str], Any]) -> Iterator[None]:
    me = threading.get_ident()
    with _lock:
        _heard[me] = hear
        _exchange_streams()
        logging.Logger.handle = _handle  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        with _lock:
            del _heard[me]
            if not _heard:
                _give_streams_back()
                logging.Logger.handle = _log  # type: ignore[method-assign]


def _handle(logger: logging.Logger, record: logging.LogRecord) -> None:
    """A handler may keep the stream that it was made with, so the exchange of streams is not enough."""
    if not is_quiet():
        _log(logger, record)


class _Stream:
    """In the place of a stream of `sys`."""

    def __init__(self, name: str, stream: Any):
        self._name, self.stream = name, stream

    def write(self, text: str) -> int:
        hear = _heard.get(threading.get_ident())
        if hear is None:
            return int(self.stream.write(text))
        hear(self._name, text)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if not is_quiet():
            self.stream.flush()

    @property
    def buffer(self) -> Any:
        return io.BytesIO() if is_quiet() else self.stream.buffer

    def __iter__(self) -> Any:
        return iter(self.stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def __reduce__(self) -> Any:
        return getattr, (sys, self._name)


def _exchange_streams() -> None:
    for name in _STREAMS:
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, _Stream):
            setattr(sys, name, _Stream(name, stream))


def _give_streams_back() -> None:
    """Where the user's code has put another one there meanwhile, that stays."""
    for name in _STREAMS:
        stream = getattr(sys, name)
        if isinstance(stream, _Stream):
            setattr(sys, name, stream.stream)
