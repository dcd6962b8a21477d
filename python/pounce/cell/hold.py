"""A worker that the notebook holds: it stays, busy or not, and cells run there without a magic."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from .. import _core, errors
from .._engine.durations import in_words
from .._engine.time_left import TimeLeft
from ..future import cancel_if_queued
from ..lease import Lease, status_of_lease
from .background import CellOutput
from .notebook_state import NotebookState
from .target import Target

_LOOK_S = 2.0  # between two looks whether the worker is still there
_PATIENCE_S, _PAUSE_S = 15.0, 0.2  # for the reason of its end: a worker may take a while to leave


class Hold:
    """
    Attributes
    ----------
    requested : Target
        The target that the line named.
    state : NotebookState
        The variables on the worker.
    lease : Lease

    Thread: the notebook's, and one of its own. That one prints under the line of the hold when its time is nearly over,
    and when it is over.
    """

    def __init__(self, requested: Target, state: NotebookState, lease: Lease, status: Callable[[], dict[str, Any]],
                 output: CellOutput):
        self.requested, self.state, self.lease = requested, state, lease
        self._status, self._output = status, output
        self._began = time.monotonic()
        self._over = threading.Event()
        self._waiting: list[Any] = []  # futures
        state.held = True
        threading.Thread(target=self._watch, name="pounce-hold", daemon=True).start()

    @property
    def target(self) -> Target:
        """The target of the worker."""
        return self.state.target or self.requested

    @property
    def is_there(self) -> bool:
        return not self._over.is_set() and self.lease.state != "ended"

    def end(self) -> None:
        """Nothing more is printed about this hold."""
        self._over.set()
        self.state.held = False

    def waits_for(self, future: Any) -> None:
        """Notes a call for this worker alone: if the worker has gone, the call requests no other. Any thread."""
        self._waiting = [*(before for before in self._waiting if not before.done()), future]
        if self.lease.state == "ended":
            self._nothing_waits()

    def _nothing_waits(self) -> None:
        for future in self._waiting:
            cancel_if_queued(future)

    def words(self) -> str:
        lease = self.lease
        where = ", ".join(filter(None, (lease.node, lease.devices))) or "a worker"
        job = f" (job {lease.job})" if lease.job else ""
        until = f" until {time.strftime('%H:%M', time.localtime(lease.end_time))}" if lease.end_time else ""
        return _core.printable(f"{where}{job}{until}")

    def used(self) -> str:
        """What the hold has cost so far; without the worker's figures where pounced does not answer."""
        held = f"held for {in_words(time.monotonic() - self._began)}"
        try:
            report = self.lease.report()
        except errors.PounceError:
            report = None
        if report is None:
            return held
        return f"{held}; the worker was busy for {in_words(report.busy)} and idle for {in_words(report.idle)}"

    def why(self) -> errors.PounceError:
        """Why the hold has ended."""
        row = self._row()
        reason = row["reason"].rstrip(".") if row else "pounced does not say why"
        text = f"the worker that this notebook held is gone: {reason}"
        remedy = ("This cell has not run, and cells run in the notebook again from the next one on: "
                  "%pounce hold takes another worker, which restores the variables that were saved.")
        return errors.make(row.get("code", "lease_ended"), text, remedy)

    def _row(self) -> dict[str, Any]:
        """pounced's record of the lease; empty: none. pounced writes it when the job has ended, a little after it has
        reported the end."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                rows = self._status()["ended"]
            except errors.PounceError:
                return {}
            found: dict[str, Any] = next((row for row in reversed(rows) if row["lease"] == self.lease.id), {})
            if found or time.monotonic() > deadline:
                return found
            time.sleep(_PAUSE_S)

    def _watch(self) -> None:
        time_left = TimeLeft()
        while not self._over.wait(_LOOK_S):
            try:
                now = status_of_lease(self.lease)
                if self.lease.state == "ended":
                    self._nothing_waits()
                    return self._output.printed(False, f"pounce: {self._end_words()}\n".encode())
                warning = time_left.warning("running", now)
            except errors.PounceError:
                return
            if warning:
                self._output.printed(False, f"{_core.printable(warning)}\n".encode())

    def _end_words(self) -> str:
        return f"the hold is over: {self.why().text}; the next cell says so too, and does not run"
