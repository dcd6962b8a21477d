"""A task of the kernel's own on a worker that is there. It never requests another worker."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .. import errors
from .._engine.session import Sink
from ..calls import session_of
from ..future import engine_of

_LOOK_S = 0.5


def run_there(view_of: Callable[[], Any], is_there: Callable[[], bool], output: Sink | None,
              function: Callable[..., Any], *args: Any) -> Any:
    """Blocks while a worker is there. What is printed meanwhile goes to `output`; None: where the kernel prints.

    Raises
    ------
    LeaseEnded
        No worker is there.
    PounceError
    """
    return sent_there(view_of, is_there, output, function, *args)()


def sent_there(view_of: Callable[[], Any], is_there: Callable[[], bool], output: Sink | None,
               function: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    """The same in two steps: when the task has its place behind those sent before, returns what blocks for the
    result."""
    if not is_there():
        raise _gone()
    done, view = threading.Event(), view_of()
    session = session_of(view)
    with session.events_held_back():
        future = view.submit(function, *args)
        if output is not None:
            session.show_at(engine_of(future)[1], output)
    future.add_done_callback(lambda _: done.set())

    def result() -> Any:
        try:
            while not done.wait(_LOOK_S):
                if not is_there():
                    raise _gone()
            return future.result(0)
        finally:
            if not done.is_set():
                view.cancel(future)

    return result


def _gone() -> errors.LeaseEnded:
    return errors.LeaseEnded("the worker has gone", "Nothing has to be done.")
