"""Raising again what a task raised: a RuntimeError carries the exception types that have another meaning there.

A StopIteration would end the loop that waits for the next result, and so lose the others silently. Python does the
same for its generators (PEP 479) and, since 3.12, for asyncio's futures.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures._base import CANCELLED, CANCELLED_AND_NOTIFIED, FINISHED, PENDING
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import asyncio

Types: TypeAlias = "tuple[type[BaseException], ...]"

OF_ITERATORS: Types = (StopIteration,)
OF_GENERATORS: Types = (StopIteration, GeneratorExit)
_logger = logging.getLogger("concurrent.futures")


def of_coroutines() -> Types:
    """asyncio refuses a StopIteration, and takes a GeneratorExit and its CancelledError for the coroutine's end."""
    import asyncio

    return StopIteration, GeneratorExit, asyncio.CancelledError


def of_async_iterators() -> Types:
    return StopAsyncIteration, *of_coroutines()


def carried(error: BaseException, ambiguous: Types) -> BaseException:
    """`error`, or a RuntimeError that carries it where it is of one of these types."""
    if not isinstance(error, ambiguous):
        return error
    carrier = RuntimeError(f"the task raised {type(error).__name__}")
    carrier.__cause__ = error
    return carrier


def result_of(future: concurrent.futures.Future[Any], ambiguous: Types) -> Any:
    try:
        return future.result()
    except ambiguous as error:
        raise carried(error, ambiguous) from error
    finally:
        del future  # its exception's traceback holds this frame


def note_lines(error: BaseException) -> None:
    """Adds the traceback as a note, for tools that drop tracebacks."""
    import traceback

    from .._common import exceptions

    lines = "".join(traceback.format_tb(error.__traceback__)).rstrip()
    if lines:
        exceptions.add_note(error, f"Traceback on the worker:\n{lines}")


def awaitable(future: concurrent.futures.Future[Any]) -> asyncio.Future[Any]:
    """As ``asyncio.wrap_future``, whose future never ends for some exceptions."""
    import asyncio

    loop = asyncio.get_running_loop()
    waiting: asyncio.Future[Any] = loop.create_future()

    def settle() -> None:
        if waiting.done():
            return
        if future.cancelled():
            waiting.cancel()
        elif (error := future.exception()) is not None:
            waiting.set_exception(carried(error, of_coroutines()))
        else:
            waiting.set_result(future.result())

    def ended(_: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: no coroutine waits
            loop.call_soon_threadsafe(settle)

    future.add_done_callback(ended)
    waiting.add_done_callback(lambda waiting: waiting.cancelled() and future.cancel())
    return waiting


_ENDED = frozenset((CANCELLED, CANCELLED_AND_NOTIFIED, FINISHED))
_making = threading.Lock()  # held for a few lines, in which no other lock is taken


def _forked() -> None:
    """In the child: a thread that the parent alone has may have held the lock."""
    global _making
    _making = threading.Lock()


os.register_at_fork(after_in_child=_forked)


class CalledBack(concurrent.futures.Future):  # type: ignore[type-arg]
    """A future whose callbacks cannot end the calling thread, not even by a SystemExit: other futures need it too.

    Its condition, callbacks and waiters are made when they are first used: most futures end before another thread
    waits for them, and making these costs more than all else of a future. ``concurrent.futures`` takes the condition
    before it looks at a future's state. So a future that has no condition yet may end without one, as long as none is
    made meanwhile.
    """

    _state = PENDING
    _result: Any = None
    _exception: BaseException | None = None
    _is_bare = True  # nothing was made yet
    _done_callbacks: list[Callable[[Any], object]]

    def __init__(self) -> None:  # not the base's, which makes all of it
        return

    if not TYPE_CHECKING:  # for which every name would be one of its attributes

        def __getattr__(self, name: str) -> Any:
            make = _MADE_LATE.get(name)
            if make is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            made = make()
            with _making:
                self._is_bare = False
                return self.__dict__.setdefault(name, made)

    def done(self) -> bool:
        return self._state in _ENDED

    def cancelled(self) -> bool:
        return self._state in (CANCELLED, CANCELLED_AND_NOTIFIED)

    def set_result(self, result: Any) -> None:
        with _making:
            if self._is_bare and self._state is PENDING:
                self._result = result
                self._state = FINISHED
                return
        super().set_result(result)

    def set_exception(self, exception: BaseException | None) -> None:
        with _making:
            if self._is_bare and self._state is PENDING:
                self._exception = exception
                self._state = FINISHED
                return
        super().set_exception(exception)

    def _invoke_callbacks(self) -> None:
        pressed: KeyboardInterrupt | None = None
        for callback in self._done_callbacks:
            try:
                callback(self)
            except KeyboardInterrupt as error:
                if error is not self._exception:
                    pressed = error  # ■, while it ran
            except BaseException:
                _logger.exception("exception calling callback for %r", self)
        if pressed is not None:
            raise pressed


_MADE_LATE: dict[str, Callable[[], Any]] = {
    "_condition": threading.Condition, "_waiters": list, "_done_callbacks": list}
