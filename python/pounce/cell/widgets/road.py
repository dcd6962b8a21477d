"""The way of a page's messages to the widgets that cells made on workers.

While its worker runs no cell a message is a task there, and the kernel waits for it as it would for the callback: what
the callback shows comes before the kernel is idle again. While a cell runs the message goes beside it, and waits there
until the cell lets callbacks run. No task of a message stands behind a cell: JupyterLab sends the messages of all
widgets on one subshell, which would wait with it.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import threading
from collections.abc import Callable
from typing import Any

from ... import errors
from ..._common.cell_protocol import CallbacksReply
from ..._engine.session import Session
from ..._worker.cell import runner
from ..._worker.cell.comm_events import HERE, KIND, CommEvent, Json, packed
from ..background import CellOutput
from ..errand import sent_there
from ..notebook_state import NotebookState
from ..remote import Remote
from ..target import Target
from .answers import Answers, Waiting
from .own_subshell import OwnSubshell
from .stand_in import Arrivals, StandIn

_BESIDE_S = 1.0  # a kernel that has to hear of other widgets waits so long for a callback in a cell that runs
_MOST_BESIDE_BYTES = 8 * 1024 * 1024  # a larger one waits for the cell's end


class Road:
    """Thread: any."""

    def __init__(self, shell: Any, remote: Remote):
        self._shell, self._remote = shell, remote
        self._id, self._numbers = os.urandom(8).hex(), itertools.count(1)
        self._answers = Answers()
        self._arrivals = Arrivals()
        self._subshell = OwnSubshell(shell.kernel, remote.waits_for_cell)

    # ---- from the worker ----

    def heard(self, session: Session, message: Json) -> Json:
        """A comm message of a worker, as it is for the page."""
        comms, content = self._shell.kernel.comm_manager.comms, message["content"]
        known = comms.get(content["comm_id"])
        if message["type"] == HERE:
            if isinstance(known, StandIn):
                known.session, known.told = session, False
                return {**message, "type": "comm_msg", "content": known.synchronised(content["data"])}
            message = {**message, "type": "comm_open"}
        if message["type"] == "comm_open":
            comms[content["comm_id"]] = StandIn(content, session, self._arrivals, self._subshell, self.pass_on)
        elif isinstance(known, StandIn) and message["type"] == "comm_close":
            del comms[content["comm_id"]]
        return message

    # ---- from the page ----

    def pass_on(self, of: StandIn, kind: str, data: Json, message: Json) -> None:
        state, output = self._state_of(of), CellOutput(self._shell)
        if state is None:
            return self._gone(of, output)
        of.session.takers[KIND] = self._answers.heard
        buffers = [bytes(buffer) for buffer in message.get("buffers") or ()]
        with self._remote.sending:  # events are sent in the order of their numbers
            event = CommEvent(self._id, next(self._numbers), kind, of.comm_id, data, _header(message),
                              message.get("metadata") or {}, buffers)
            self._answers.waits_for(Waiting(event, of, state, output))
            handled = self._sent(state)
        handled()

    def _sent(self, state: NotebookState) -> Callable[[], None]:
        """Sends what waits for that worker. Returns what blocks until it is handled; in a cell, for a moment.

        The caller holds `sending`: else a cell might come first, and a page that waits behind it would reach no widget
        meanwhile."""
        waiting = self._answers.of(state)
        if self._remote.is_running(state):
            return self._beside(state, waiting)
        workers = self._remote.workers
        try:
            replied = sent_there(
                lambda: workers.at(state.target or Target(), state), lambda: workers.reached(state) is not None,
                self._answers, runner.run_callbacks, [one.event for one in waiting])
        except errors.PounceError as error:
            return functools.partial(self._failed, waiting, error)
        return functools.partial(self._handled, state, waiting, replied)

    def _beside(self, state: NotebookState, waiting: list[Waiting]) -> Callable[[], None]:
        """What cannot be sent waits for the cell's end, and with it what is behind it."""
        worker = self._remote.reached(state)
        for one in waiting:
            if not one.is_sent:
                text = packed(one.event)
                one.is_sent = worker is not None and len(text) <= _MOST_BESIDE_BYTES and worker.session.core.look(
                    worker.lease, one.event.number, text)
            if not one.is_sent:
                return _nothing
        return functools.partial(_for_a_moment, waiting[0]) if len(waiting) == 1 else _nothing

    def _handled(self, state: NotebookState, waiting: list[Waiting], replied: Callable[[], CallbacksReply]) -> None:
        """Blocks until the task has run all of them."""
        try:
            reply = replied()
        except errors.PounceError as error:
            self._failed(waiting, error)
        else:
            names, number = self._shell.user_ns, self._remote.number()
            state.ledger.assigned(reply.assigned, names, number, state.turn)
            state.ledger.removed(reply.deleted, names, number, state.turn)
            for one in waiting:
                if one.event.number in reply.gone:
                    self._gone(one.of, one.output)
        finally:
            for one in waiting:
                self._answers.over(one)

    def _failed(self, waiting: list[Waiting], error: errors.PounceError) -> None:
        for one in waiting:
            if isinstance(error, errors.LeaseEnded):
                self._gone(one.of, one.output)
            else:
                one.output.printed(True, f"pounce: {error}\n".encode())
            self._answers.over(one)

    def cell_ended(self, state: NotebookState) -> None:
        """What came too late for the cell runs now. Does not block."""
        if self._answers.of(state):
            threading.Thread(target=self._after_cell, args=(state,), name="pounce-widgets", daemon=True).start()

    def _after_cell(self, state: NotebookState) -> None:
        with self._remote.sending:
            handled = self._sent(state) if self._answers.of(state) else _nothing
        handled()

    # ---- whose worker has gone ----

    def _state_of(self, of: StandIn) -> NotebookState | None:
        for state in list(self._remote.workers.states.values()):
            with contextlib.suppress(errors.PounceError):
                worker = self._remote.reached(state)
                if worker is not None and worker.session is of.session:
                    return state
        return None

    def released(self) -> None:
        """The workers were given back."""
        output = CellOutput(self._shell)
        for one in list(self._shell.kernel.comm_manager.comms.values()):
            if isinstance(one, StandIn) and not one.told and self._state_of(one) is None:
                one.told = self._becomes_inert(one, output)

    def _gone(self, of: StandIn, output: CellOutput) -> None:
        if not of.told:
            of.told = True
            self._becomes_inert(of, output)
            output.printed(False, f"pounce: {self._farewell(of)}\n".encode())

    def _becomes_inert(self, of: StandIn, output: CellOutput) -> bool:
        content = of.inert(self._farewell(of))
        if content:
            output.message({"type": "comm_msg", "content": content, "metadata": {}}, [])
        return bool(content)

    def _farewell(self, of: StandIn) -> str:
        """What the widget was, and how it answers again."""
        for state in list(self._remote.workers.states.values()):
            name = state.widgets.get(of.comm_id, "")
            entry = state.ledger.entries.get(name)
            if entry is not None and not entry.is_gone:
                return (f"the worker of this {of.what} has gone: a cell that reads {name} restores it with its "
                        "variables, and it answers again")
        return f"no worker answers this {of.what}, and no variable has it: run the cell that made it again"


def _for_a_moment(one: Waiting) -> None:
    one.over.wait(_BESIDE_S)


def _nothing() -> None:
    """It is not waited for."""


def _header(message: Json) -> Json:
    return {name: str(value) for name, value in message["header"].items() if value is not None}
