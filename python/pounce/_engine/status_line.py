"""The line that a waiting user reads: the state, the reason, how long it has waited, the device."""

from __future__ import annotations

import sys
import time
from typing import Any, TypeAlias

from .. import _core
from .pools import Pool
from .shell import has_page, marimo
from .wait import wait_of

_TICK_S = 1.0
QUIET_S = 1.0  # a shorter wait is not shown


class StatusLine:
    """The line of one wait. In a notebook it is one output that is updated in place; in marimo's, the cell's output;
    on a terminal one line that is overwritten; elsewhere only trouble is told, a line for each. It ends as a summary of
    the wait."""

    def __init__(self, waited_s: float = 0.0) -> None:
        self._since = time.monotonic() - waited_s
        self._device = ""
        self._out: LiveOutput | None = None
        self._over = False

    def update(self, state: str | None, lease: _core.LeaseStatus | None, hint: str = "",
               pool: Pool | None = None) -> float:
        """Shows the state, with `pool` that of the whole pool. Returns the seconds until the next update."""
        if self._over:
            return _TICK_S
        unnoticed = self._since + QUIET_S - time.monotonic()
        if unnoticed > 0:
            return unnoticed
        if state in ("sent", "running", None):
            if lease is not None:
                self._device = str(pool or _device(lease))
            self._end("running" if state else "done")
            return _TICK_S
        words, self._device = str(pool or words_of(lease)), _device(lease) if lease is not None else ""
        words += f" · {hint}" if hint else ""
        if self._out is None:
            self._out = live_output()
        self._out.show(_core.printable(f"pounce: {words} · {self._seconds()}"), words if _is_trouble(lease) else "")
        return _TICK_S

    def finish(self) -> None:
        if not self._over:
            self._end("over")

    def _end(self, state: str) -> None:
        self._over = True
        if self._out is not None:
            device = f" on {self._device}" if self._device else ""
            words = f"waited {self._seconds()}" if state == "over" else f"{state}{device} after {self._seconds()}"
            self._out.end(_core.printable(f"pounce: {words}"))

    def _seconds(self) -> str:
        seconds = int(time.monotonic() - self._since)
        return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min {seconds % 60} s"


def words_of(lease: _core.LeaseStatus | None) -> str:
    """The state of a request: state, reason, job, expected start, device."""
    if lease is None:
        return "asking for a lease"
    words, device = str(wait_of(lease)), _device(lease)
    return words + (f" · {device}" if device else "")


def _is_trouble(lease: _core.LeaseStatus | None) -> bool:
    """Whether there is no job, and a reason: Slurm does not answer, or the last job could not start."""
    return lease is not None and lease.state in ("requested", "submitting") and lease.reason != ""


def _device(lease: _core.LeaseStatus) -> str:
    return ", ".join(filter(None, (lease.node, lease.devices)))


class _Terminal:
    def show(self, line: str, trouble: str = "") -> None:
        _write(f"\r\x1b[2K{line}")

    def end(self, line: str) -> None:
        _write(f"\r\x1b[2K{line}\n")

    def clear(self) -> None:
        _write("\r\x1b[2K")


class _File:
    def end(self, line: str) -> None:
        _write(line + "\n")


class _Log(_File):
    """Of a program without a terminal, whose standard error is for its own lines."""

    def __init__(self) -> None:
        self._told = ""

    def show(self, line: str, trouble: str = "") -> None:
        if trouble and trouble != self._told:
            self._told = trouble
            super().end(line)

    def end(self, line: str) -> None:
        if self._told:
            super().end(line)

    def clear(self) -> None: ...


class _Notebook:
    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, line: str, trouble: str = "") -> None:
        from IPython.display import display

        # A page needs no newline between outputs. A program that joins the texts of a saved notebook does.
        data = {"text/plain": f"{line}\n"}
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)

    def end(self, line: str) -> None:
        self.show(line)

    def clear(self) -> None:
        """A page cannot take one output away: it stays, empty."""
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)


class _Marimo:
    """The output of the cell, which its value replaces in the end."""

    def show(self, line: str, trouble: str = "") -> None:
        page = marimo()
        if page is not None:  # a thread that marimo does not know is in no cell
            page.output.replace(page.plain_text(line))

    def end(self, line: str) -> None:
        self.show(line)

    def clear(self) -> None:
        page = marimo()
        if page is not None:
            page.output.clear()


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


LiveOutput: TypeAlias = _Terminal | _Log | _Notebook | _Marimo


def output() -> _Terminal | _File | _Notebook:
    """Where a notice of pounce's own goes: on a page each is an output of its own."""
    if has_page():
        return _Notebook()
    return _Terminal() if is_terminal() else _File()


def live_output() -> LiveOutput:
    """Where a line goes that changes while a person watches it."""
    if has_page():
        return _Notebook()
    if marimo() is not None:
        return _Marimo()
    return _Terminal() if is_terminal() else _Log()


def shows_live() -> bool:
    """Whether such a line is seen at all."""
    return has_page() or marimo() is not None or is_terminal()


def is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
