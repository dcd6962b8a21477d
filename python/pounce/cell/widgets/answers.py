"""What callbacks on workers show, each under the page's message that it belongs to."""

from __future__ import annotations

import base64
import threading
from dataclasses import dataclass, field
from typing import Any

from ..._engine.session import Session
from ..._worker.cell.comm_events import CommEvent, Json
from ..background import CellOutput
from ..notebook_state import NotebookState
from .stand_in import StandIn


@dataclass
class Waiting:
    """An event that has not been handled, as far as is known."""

    event: CommEvent
    of: StandIn
    state: NotebookState
    output: CellOutput  # of the page's message
    is_sent: bool = False  # beside the cell that runs
    over: threading.Event = field(default_factory=threading.Event)


class Answers:
    """Any thread. It is also where the output of the task goes that runs callbacks."""

    def __init__(self) -> None:
        self._waiting: dict[int, Waiting] = {}
        self._now: CellOutput | None = None  # of the event that the task is at

    def waits_for(self, one: Waiting) -> Waiting:
        self._waiting[one.event.number] = one
        return one

    def of(self, state: NotebookState) -> list[Waiting]:
        """In order."""
        return [one for _, one in sorted(self._waiting.items()) if one.state is state]

    def over(self, one: Waiting) -> None:
        self._waiting.pop(one.event.number, None)
        one.over.set()

    def heard(self, session: Session, task: str, content: Json, buffers: list[Any]) -> None:
        one = self._waiting.get(content["number"])
        if "begins" in content:
            self._now = one.output if one is not None else None
        elif one is None:
            return
        elif "printed" in content:
            is_error, text = content["printed"]
            one.output.printed(is_error, text.encode())
        elif "message" in content:
            one.output.message(content["message"], [base64.b64decode(each) for each in content["buffers"]])
        else:
            self.over(one)

    # ---- of a task ----

    def printed(self, is_error: bool, data: bytes) -> None:
        if self._now is not None:
            self._now.printed(is_error, data)

    def message(self, message: Json, buffers: list[Any]) -> None:
        if self._now is not None:
            self._now.message(message, buffers)
