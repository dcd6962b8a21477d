"""The notebook's questions about what lives on a worker. They request no worker, and none is waited for longer than a
second: the worker answers beside the cell that runs there (`_worker/cell/looks.py`)."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
from dataclasses import asdict
from typing import Any

from ... import errors
from ..._common.cell_protocol import CompletionRow, Look, LookAnswer
from ..._engine.session import Session
from ..._worker.cell.looks import KIND
from ..notebook_state import NotebookState
from ..workers import Workers

_LONGEST_S = 1.0
_WARMS_UP = Look("complete", "int", 3)
_USE = Look("use", "")


class Pending:
    """A question on its way."""

    def __init__(self) -> None:
        self._came = threading.Event()
        self._answer: LookAnswer | None = None

    def came(self, answer: LookAnswer) -> None:
        self._answer = answer
        self._came.set()

    def now(self) -> dict[str, float] | None:
        """What the lease uses, if that has come."""
        return self._answer.use if self._answer is not None else None

    def answer(self) -> LookAnswer | None:
        """Blocks for a second at most. None: the worker has not answered in time."""
        self._came.wait(_LONGEST_S)
        return self._answer


class LookChannel:
    """Thread: any."""

    def __init__(self, workers: Workers):
        self._workers = workers
        self._numbers = itertools.count(1)
        self._pending: dict[int, Pending] = {}
        self._warm: set[str] = set()  # interpreters that have completed something

    def ask(self, state: NotebookState, look: Look) -> Pending | None:
        """Does not block. None: there is no worker, and nothing was sent."""
        with contextlib.suppress(errors.PounceError):
            worker = self._workers.reached(state)
            if worker is None:
                return None
            worker.session.takers[KIND] = self._hear
            number, pending = next(self._numbers), Pending()
            self._pending = {number: pending, **dict(list(self._pending.items())[:15])}  # the others were given up
            if worker.session.core.look(worker.lease, number, json.dumps(asdict(look)).encode()):
                self._warm |= {state.holder} if look.kind == _WARMS_UP.kind else set()
                return pending
        return None

    def ask_use(self, state: NotebookState) -> Pending | None:
        """What its worker's lease uses now. Does not block."""
        return self.ask(state, _USE)

    def warm_up(self) -> None:
        """Has each worker load what completion needs, in good time. Does not block."""
        for state in list(self._workers.states.values()):
            if state.holder not in self._warm:
                self.ask(state, _WARMS_UP)

    def _hear(self, session: Session, task: str, content: dict[str, Any], buffers: list[Any]) -> None:
        pending = self._pending.pop(content["question"], None)
        if pending is not None:
            answer = content["answer"]
            rows = [CompletionRow(**row) for row in answer.pop("completions")]
            pending.came(LookAnswer(rows, **answer))
