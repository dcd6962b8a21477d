"""``Call``: one call on a lease, with the interface of ``concurrent.futures.Future``."""

from __future__ import annotations

import concurrent.futures
import contextlib
import time
from typing import Any

from .. import errors
from .._engine.outcome import CalledBack
from ..calls import View
from ..future import Future


class Call(CalledBack):
    """Made by ``Leases.submit``. Its result is that of the pounce future behind it; any thread may use it.

    ``result()`` waits as ``pounce.Future.result`` does: it shows the output and the status line, and ■ stops the call.

    Attributes
    ----------
    inner : pounce.Future or None
        None: the result is a value that the kernel has.
    """

    def __init__(self, name: str, inner: Future | None):
        super().__init__()
        self.name, self.inner = name, inner
        if inner is not None:
            inner.add_done_callback(self._settle)

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
        return not self.done() and self.inner is not None and self.inner.running()

    def cancel(self) -> bool:
        """Cancels it if it has not been sent to a worker; returns whether it is cancelled. Does not block."""
        if self.inner is not None:
            self.inner.cancel()
        return self.cancelled()

    def stop(self, view: View) -> None:
        """Ends it, also if it runs already (KeyboardInterrupt). Does not block."""
        if self.inner is not None:
            view.cancel(self.inner)

    def _settle(self, inner: Any) -> None:
        if inner.cancelled():
            if super().cancel():
                self.set_running_or_notify_cancel()
            return
        error = inner.exception()
        if error is None:
            self.set_result(inner.result())
        else:
            self.set_exception(error)

    def _wait(self, timeout: float | None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        if self.inner is not None and not self.done():
            with contextlib.suppress(concurrent.futures.CancelledError):
                self.inner.exception(timeout)
        if not concurrent.futures.wait([self], left_until(deadline)).done:
            raise errors.Timeout(f"{self.name} has not ended within {timeout:g} s; it goes on")

    def _cancelled(self) -> BaseException:
        try:
            if self.inner is not None:
                self.inner.result(0)
        except concurrent.futures.CancelledError as error:
            return error
        return errors.Cancelled(f"{self.name} was cancelled")

    def __repr__(self) -> str:
        return f"<pounce call {self.name} {self.inner or 'ended'}>"


def cancelled_call(name: str) -> Call:
    """One that has ended already."""
    call = Call(name, None)
    concurrent.futures.Future.cancel(call)
    call.set_running_or_notify_cancel()
    return call


def left_until(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.monotonic())
