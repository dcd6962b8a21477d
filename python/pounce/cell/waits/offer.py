"""``Offer``: what a cell that waits could do instead, shown while it waits, and taken by a click."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from ... import errors
from ..._batch.run import BatchRun
from ..._engine.choices import Choice
from ..._engine.wait_policy import Step
from ...calls import session_of
from ...future import cancel_if_queued, engine_of
from .. import batch
from ..background import CellOutput
from ..options_line import CellLine
from ..remote import Remote
from . import alternatives
from .alternatives import Alternative
from .telling import Telling
from .under_cell import Json, UnderCell


class Offer:
    """Of one cell that the notebook waits for. `update` is called by the thread that waits, the rest by any."""

    def __init__(self, remote: Remote, line: CellLine, said: str):
        self._remote, self._line, self._said = remote, line, said
        self._number = remote.number()
        self._output = CellOutput(remote.shell)
        self._under = UnderCell(remote.shell, self._output, self._heard)
        self.telling = Telling(line.name or f"cell {self._number}", self._under, self._output,
                               session_of(remote.workers.client()).notify, line.tells)
        self._turn = threading.Lock()  # of two clicks
        self._since = time.monotonic()
        self._choices: Sequence[Choice] = ()
        self._is_shown = self._is_new = False
        self._note = ""
        self._future: Any = None
        self._place: Any = None  # a call that keeps the cell's place in the queue
        self.leaves = ""  # the cell is taken back, to be done otherwise: "behind" or "batch"
        self.batch_run: BatchRun | None = None

    def begins(self) -> None:
        if self.telling.is_wanted:
            self.telling.begins()

    def waits_for(self, future: Any) -> None:
        self._future = future
        engine_of(future)[1].offer = self

    def let_place_go(self) -> None:
        if self._place is not None:
            cancel_if_queued(self._place)

    # ---- the session's ----

    def knows(self, choices: Sequence[Choice]) -> bool:
        """The choices as they are now. Returns whether they are shown."""
        if self._line.instead or not alternatives.is_long(choices, time.monotonic() - self._since):
            return self._is_shown  # a short wait, or what it asks for instead was decided beforehand
        self._choices, self._is_new = choices, True
        return True

    def update(self, state: str | None) -> None:
        """Called about once a second."""
        if state == "waiting":
            if self._is_new:
                self._is_new, self._is_shown = False, True
                self._show()
        elif state in ("sent", "running"):
            self.telling.started()
            if self.leaves and state == "running":
                self.leaves = ""
                self.telling.say("the cell had started already, and goes on here")
            if self._is_shown:
                self._choices, self._is_shown, self._note = (), False, ""
                self._show() if self.telling.is_wanted else self._under.end()

    # ---- the page's ----

    def _heard(self, request: Json) -> Json:
        with self._turn:
            try:
                self._note = self._done(request)
            except (errors.PounceError, OSError) as error:
                self._note = str(error)
            return self._facts()

    def _done(self, request: Json) -> str:
        """Returns what the page says of it."""
        do, option = request.get("do"), str(request.get("option", ""))
        if do == "look":
            return self._note
        if do == "tell":
            self.telling.want()
            return ""
        if self._future.done() or not any((one.do, one.option) == (do, option) for one in self._others()):
            return "that is no choice any more"
        return self._taken(option) if do == "take" else self._left(str(do))

    def _taken(self, option: str) -> str:
        step = Step(option)
        if not self._future.move(**step.changes()):
            return "the cell does not wait any more"
        self._choices, self._is_shown = (), False
        self._show()
        self.telling.say(f"the cell asks for {step.what} now, as you chose")
        return ""

    def _left(self, do: str) -> str:
        """Takes the cell back, for the kernel's own thread to do it otherwise. In the background it has the same
        request, whose place in the queue a call without work keeps meanwhile."""
        if do == "batch":
            self.batch_run = batch.of_running_cell(self._remote, self._number)
        else:
            self.telling.want()
            self._place = self._remote.workers.at(self.line().target).submit(int)
        self.leaves, self._choices = do, ()
        self._show()
        cancel_if_queued(self._future)
        return ""

    # ---- what is shown ----

    def line(self) -> CellLine:
        """With what it asks for by now."""
        return self._remote.where_it_ran(self._line, self._future)

    def _others(self) -> list[Alternative]:
        return alternatives.alternatives(self._choices, self._said, self._number) if self._choices else []

    def _facts(self) -> Json:
        shown = [{"do": one.do, "option": one.option, "label": one.label, "line": one.line} for one in self._others()]
        return {"when": alternatives.until(self._choices), "choices": shown, "note": self._note, **self.telling.facts()}

    def _show(self) -> None:
        others = self._others()
        words = alternatives.as_text(alternatives.until(self._choices), others) if others else ""
        self._under.show(self._facts(), words)
