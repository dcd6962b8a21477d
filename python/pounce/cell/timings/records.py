"""What the time of each cell on a worker went to. All parts but three are those of ``Future.timings()``: the cell's
code tells when it began and how long it compiled, and the kernel when output arrived."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..._common.cell_protocol import CellReply
from ..._engine.progress.first_output import FirstOutput
from ...future import engine_of

_KEPT = 100  # cells of this kernel
_kept: deque[CellTimings] = deque(maxlen=_KEPT)


@dataclass(frozen=True)
class CellTimings:
    """Of one cell, in seconds.

    Attributes
    ----------
    cell : int
        Its number.
    began : float
        When it was started, in seconds since 1970.
    cold : bool
        It had to wait for its worker's Python, or was the first there.
    queue, start, imports, data, compile : float
        Until the lease's job ran, and for a free worker; from the job's start until its Python could be reached; for
        modules to load; to look through, send and restore variables; for ``torch.compile``, as torch measures it.
    total : float
        Until its value or its error was here.
    first_output, first_loss : float or None
        From the cell's start until they were here; None: there was none.
    loss : str
        What was taken for a loss; empty: nothing.
    ranks : int
        Of its gang; 1: it has none. The times are those of rank 0; `data` has the wait for the other ranks, too.
    """

    cell: int
    began: float
    cold: bool
    queue: float
    start: float
    imports: float
    data: float
    compile: float
    total: float
    first_output: float | None
    first_loss: float | None
    loss: str
    ranks: int = 1

    def parts(self) -> dict[str, float]:
        """As a bar shows them, one behind the other. Together they are `total`."""
        parts, left = dict[str, float](), self.total
        measured = {"queue": self.queue, "start": self.start, "import": self.imports, "data": self.data,
                    "compile": self.compile}
        for name, seconds in measured.items():
            parts[name] = min(max(0.0, seconds), left)
            left -= parts[name]
        for name, at in (("first output", self.first_output), ("first loss", self.first_loss)):
            parts[name] = min(max(0.0, (at or 0.0) - (self.total - left)), left)
            left -= parts[name]
        return parts | {"rest": left}


def timings() -> list[CellTimings]:
    """Where the time of this notebook's last cells on workers went, the newest last; 100 are kept. Does not block.

    Returns
    -------
    list of CellTimings
        Empty where no cell has run on a worker. ``%pounce timings`` shows the last ten as bars. Of a call
        ``future.timings()`` tells the same.

    Examples
    --------
    >>> pounce.timings()
    []
    """
    return list(_kept)


class Stopwatch:
    """Of one cell, from its start to its end. It may be sent several times, and run on several workers."""

    def __init__(self, number: int):
        self._number, self._began, self._start = number, time.time(), time.monotonic()
        self.ranks = 1
        self._cold = False
        self._queue = self._boot = self._imports = self._data = self._compile = 0.0
        self._seen: list[FirstOutput] = []
        self._code_began = False

    def ran(self, future: Any, reply: CellReply | None = None) -> None:
        """One attempt has ended; None: without a reply."""
        _, task = engine_of(future)
        if task.first is not None:
            self._seen.append(task.first)
        timings = task.timings
        if timings is None:
            return
        self._queue += timings.queue
        self._boot += timings.boot
        self._cold |= timings.boot > 0
        self._imports += timings.figures.imports if timings.figures is not None else 0.0
        if reply is None:
            return
        self._cold |= reply.namespace.fresh
        run = reply.run
        self._compile += run.compiled
        if not self._code_began and run.code_began:
            self._code_began = True
            imported_in_code = timings.figures.imports - run.imported if timings.figures is not None else 0.0
            ended = task.unpickled - self._start
            behind = timings.run - run.code_began + timings.receive  # the code, and what came after it
            self._data = ended - behind - self._queue - self._boot - (self._imports - imported_in_code)

    @contextlib.contextmanager
    def to_the_end(self, *not_yet: type[BaseException]) -> Iterator[Stopwatch]:
        """Around the rest of the cell. It has not ended where one of `not_yet` is raised."""
        try:
            yield self
        except not_yet:
            raise
        except BaseException:
            self._end()
            raise
        self._end()

    def _end(self) -> None:
        outputs = [seen.output for seen in self._seen if seen.output]
        first = min((seen for seen in self._seen if seen.loss), key=lambda seen: seen.loss, default=None)
        since = lambda at: max(0.0, at - self._start)  # noqa: E731
        _kept.append(CellTimings(
            self._number, self._began, self._cold, self._queue, self._boot, self._imports, max(0.0, self._data),
            self._compile, since(time.monotonic()), since(min(outputs)) if outputs else None,
            since(first.loss) if first is not None else None, first.words if first is not None else "", self.ranks))
