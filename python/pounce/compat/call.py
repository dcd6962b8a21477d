"""``Call``: one call that may still wait for another call's result."""

from __future__ import annotations

import concurrent.futures
import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

from .. import errors
from .._engine.outcome import CalledBack
from ..calls import View
from ..future import Future


class Call(CalledBack):
    """Made by ``Leases.submit``. Its result is that of the pounce future which it becomes; any thread may use it.

    Who waits in ``result()`` does what ``pounce.Future.result`` does: sees the output and the status line, and stops the call with ■.
    """

    def __init__(self, name: str, drop: Callable[[Call], bool]):
        super().__init__()
        self.name = name
        self._drop = drop  # it waits for others no more, if it still does
        self._inner: Future | None = None
        self._given = threading.Event()  # it is with a worker's lease, or has ended

    def result(self, timeout: float | None = None) -> Any:
        """As ``pounce.Future.result``. Blocks."""
        self._wait(timeout)
        try:
            return super().result(0)
        except concurrent.futures.CancelledError:
            if not self.cancelled():  # the function has raised one
                raise
            raise self._cancelled() from None
        finally:
            del self  # a traceback that ends here would hold the future

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """As ``pounce.Future.exception``. Blocks."""
        self._wait(timeout)
        try:
            return super().exception(0)
        except concurrent.futures.CancelledError:
            raise self._cancelled() from None

    def running(self) -> bool:
        """True while the function runs on a worker. Does not block."""
        return not self.done() and self._inner is not None and self._inner.running()

    def cancel(self) -> bool:
        """Cancels it if it has not been sent to a worker; returns whether it is cancelled. Does not block."""
        if self._drop(self):
            self.end_cancelled()
        elif self._inner is not None:
            self._inner.cancel()
        return self.cancelled()

    def stop(self, view: View) -> None:
        """Ends it, also where it runs already (KeyboardInterrupt). Does not block."""
        if self._drop(self):
            self.end_cancelled()
        elif self._inner is not None:
            view.cancel(self._inner)

    def start(self, submit: Callable[[], Future]) -> bool:
        """`submit` sends it on its way, or False: it ends with what `submit` raises."""
        try:
            inner = submit()
        except BaseException as error:  # what a call raised that it waits for: a SystemExit, say
            self.end(None, error)
            return False
        self._inner = inner
        self._given.set()
        inner.add_done_callback(self._settle)
        return True

    def end(self, value: Any, error: BaseException | None = None) -> None:
        """Its result, or what it failed with."""
        self._given.set()  # first: who hears of the end may ask exception() on this thread
        with contextlib.suppress(concurrent.futures.InvalidStateError):  # somebody was faster: it was cancelled
            if error is None:
                self.set_result(value)
            else:
                self.set_exception(error)

    def end_cancelled(self) -> None:
        self._given.set()
        if super().cancel():
            self.set_running_or_notify_cancel()

    def _settle(self, inner: Any) -> None:
        if inner.cancelled():
            self.end_cancelled()
            return
        error = inner.exception()
        self.end(None if error is not None else inner.result(), error)

    def _wait(self, timeout: float | None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            given = self._given.wait(timeout)
        except KeyboardInterrupt:
            self.cancel()
            raise
        if given and not self.done() and self._inner is not None:
            with contextlib.suppress(concurrent.futures.CancelledError):
                self._inner.exception(_left_until(deadline))
        if not concurrent.futures.wait([self], _left_until(deadline)).done:
            raise errors.Timeout(f"{self.name} has not ended within {timeout:g} s; it goes on")

    def _cancelled(self) -> BaseException:
        if self._inner is not None and self._inner.done():
            try:
                self._inner.result(0)
            except concurrent.futures.CancelledError as error:
                return error
        return errors.Cancelled(f"{self.name} was cancelled")

    def __repr__(self) -> str:
        return f"<pounce call {self.name} {'waits for its turn' if self._inner is None and not self.done() else self._inner or 'ended'}>"


def _left_until(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.monotonic())
