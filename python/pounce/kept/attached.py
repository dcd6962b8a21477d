"""``pounce.attach``: a cell that goes on without its kernel, in any process of its user."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from .. import errors
from .._engine import daemon
from .._engine.display import Shown, republish
from .._engine.shell import shell
from ..cell.traceback import remote_error
from . import records
from .output_reader import Output, OutputReader
from .records import Record

_LOOK_S = 1.0  # between two looks
_SHOWN = ("display_data", "update_display_data", "clear_output", "error")
taken: Callable[[Attached], None] | None = None  # has the variables of a cell that has ended for the notebook's cells


class Attached:
    """A cell that goes on without its kernel, or has ended.

    Examples
    --------
    In a new kernel, another notebook or a script::

        job = pounce.attach("training")
        job.follow()             # its output from the beginning, and then as it comes

    Any number may look at one cell; each sees all of it.
    """

    def __init__(self, record: Record):
        self.record = record

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def state(self) -> str:
        """``waiting``, ``running``, ``silent`` (its worker has not been heard for a minute), ``done`` or ``failed``."""
        return self.record.state()

    def __repr__(self) -> str:
        return f"<cell {self.record.cell}, {self.name}: {self.state}>"

    def log(self) -> str:
        """What it has printed, as far as that is kept."""
        reader = OutputReader(self.record.folder)
        try:
            outputs = [*reader.unread(), *reader.missing_at_the_end(self.record.totals())]
            return "".join(f"pounce: {output.words()}\n" if output.kind == "missing" else output.text()
                           for output in outputs if output.kind != "message")
        finally:
            reader.close()

    def outputs(self, deadline: float = float("inf")) -> Iterator[Output]:
        """Its output from the beginning, then what comes, until it has ended. Blocks.

        Raises
        ------
        LostError
            Its worker has gone.
        """
        reader, pulse = OutputReader(self.record.folder), _Pulse(self.record)
        try:
            while True:
                ended = self.record.end() is not None  # looked for first: its output is whole then
                yield from reader.unread()
                if ended:
                    yield from reader.missing_at_the_end(self.record.totals())
                    return
                pulse.look()
                if time.monotonic() >= deadline:
                    raise errors.Timeout(f"the cell {self.name} has not ended; it goes on")
                time.sleep(_LOOK_S)
        finally:
            reader.close()

    def follow(self) -> Shown | None:
        """Shows its output here, from the beginning, and follows it to its end. Returns its last value or raises its
        error. Ctrl-C or the stop button ends the looking; the cell goes on."""
        for output in self.outputs():
            show(output)
        return self._came_out()

    def result(self, timeout: float | None = None) -> Shown | None:
        """Its last value, as it is shown, or its error. Blocks.

        Raises
        ------
        TimeoutError
            It has not ended within `timeout` seconds; it goes on.
        BaseException
            What the cell raised.
        """
        for _ in self.outputs(float("inf") if timeout is None else time.monotonic() + timeout):
            pass
        return self._came_out()

    def _came_out(self) -> Shown | None:
        if taken is not None:
            taken(self)
        end = self.record.end()
        assert end is not None
        for message in end.below:
            republish(message, [])
        if end.error is not None:
            raise remote_error(replace(end.error, lines=end.error.lines or [end.error.text]))
        return Shown(*end.shown, self.record.cell) if end.shown is not None else None


class _Pulse:
    """Finds out that a worker has gone: its clock is another one, so changes count."""

    def __init__(self, record: Record):
        self._record = record
        self._beat, self._since = 0, time.monotonic()

    def look(self) -> None:
        beat = self._record.beat()
        if beat != self._beat or not beat:
            self._beat, self._since = beat, time.monotonic()
            if not beat and self._record.state() == "silent":
                raise errors.LostError("its kernel ended while the cell waited, so it never began", "Run it again.")
        elif time.monotonic() - self._since >= records.SILENT_S and self._record.end() is None:
            raise errors.LostError("its worker has not been heard for half a minute: it, or its node, has gone",
                                   "%pounce parked names the variables that were saved before.")


def attach(name: str = "") -> Attached:
    """A cell of yours that goes on without its kernel, by the name of ``--name``, the beginning of its id, or without
    either the newest one. It may have ended.

    Raises
    ------
    BadRequest
        There is no such cell, or it ended so long ago that it is not kept any more.
    """
    return Attached(records.find(found_root(), name))


def found_root() -> str:
    """The folder of these cells, as pounced names it; those that are too old are removed. Blocks."""
    pounced: dict[str, Any] = json.loads(daemon.ensure(None, None))
    root = records.root_of(os.fspath(pounced["parked"]))
    records.remove_old(root, float(pounced.get("parked_keep_s", math.inf)))
    return root


def show(output: Output) -> None:
    """Shows one piece in this notebook, or prints it."""
    if output.kind == "missing":
        print(f"pounce: {output.words()}", flush=True)
    elif output.kind != "message":
        stream = sys.stderr if output.kind == "stderr" else sys.stdout
        stream.write(output.text())
        stream.flush()
    else:
        message = output.message()
        kind = message["type"]
        if kind == "page":
            message = {"type": "display_data", "content": {"data": message["content"]["data"], "metadata": {},
                                                           "transient": {}}}
        elif kind not in _SHOWN and not kind.startswith("comm_"):
            return
        if shell() is None:
            print(message["content"].get("data", {}).get("text/plain", ""), flush=True)
        republish(message, list(output.parts[1:]))
