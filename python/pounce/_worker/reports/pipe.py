"""The end of the pipe of reports that a worker reads. Any program of the lease writes into it, any bytes."""

from __future__ import annotations

import _thread
import os
import select
import signal
import sys
from collections.abc import Callable
from typing import Any

from .report_line import LINE_BYTES, WrongLine, read

_READS = 64 * 1024          # as much as a pipe holds
_MOST_TOLD = 5              # wrong lines of one worker that are told


class ReportPipe:
    """`hear` is called with each report, in order. Threads: one that waits for reports, and the main one at the end of
    a task."""

    def __init__(self, descriptor: int, hear: Callable[[dict[str, Any]], None]):
        self._descriptor, self._hear = descriptor, hear
        self._lock = _thread.allocate_lock()  # of all below
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        self._rest, self._skips = b"", False  # the line that has not ended; it is too long
        self._wrong = 0
        os.set_inheritable(descriptor, False)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are the main thread's
        _thread.start_new_thread(self._follow, ())
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def drain(self) -> None:
        """Hears what has been written by now."""
        with self._lock:
            if self._poll.poll(0):
                self._take()

    def _follow(self) -> None:
        waits = select.poll()
        waits.register(self._descriptor, select.POLLIN)
        while True:
            waits.poll()
            with self._lock:
                if not self._take():
                    return

    def _take(self) -> bool:
        """False: user code has closed the descriptor."""
        try:
            data = os.read(self._descriptor, _READS)
        except BlockingIOError:
            return True
        except OSError:
            return False
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if not self._skips:
                self._line(line)
            self._skips = False
        if len(self._rest) >= LINE_BYTES:
            if not self._skips:
                self._line(self._rest)
            self._rest, self._skips = b"", True
        return bool(data)

    def _line(self, line: bytes) -> None:
        try:
            if len(line) >= LINE_BYTES:
                raise WrongLine(f"it is longer than {LINE_BYTES} bytes")
            content = read(line)
            if content:
                self._hear(content)
        except WrongLine as error:
            self._tell(str(error))
        except Exception as error:  # its reader must not end with one report
            self._tell(f"{type(error).__name__}: {error}")

    def _tell(self, why: str) -> None:
        self._wrong += 1
        if self._wrong <= _MOST_TOLD:
            more = "; further ones are not told" if self._wrong == _MOST_TOLD else ""
            print(f"pounce: a line of a report is left out: {why}{more}", file=sys.stderr)
