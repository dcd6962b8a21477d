"""Messages of workers that end by themselves and have unsaved state: first its list, then each part on request."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .. import errors
from .._common.cell_protocol import PartingOffer
from .._engine.session import Session
from .._worker.cell import parting
from .._worker.state.problems import StateError
from .intake import Intake
from .notebook_state import NotebookState

_NOTHING: tuple[list[str], int] = ([], 0)
_LOOK_S = 0.05


@dataclass(frozen=True)
class _Words:
    """A message that its worker waits to have answered."""

    session: Session
    task: str
    offer: PartingOffer
    buffers: list[Any]

    def answer(self, wanted: tuple[list[str], int]) -> None:
        with contextlib.suppress(errors.PounceError):  # the client is closed just now
            self.session.core.tell(self.task, json.dumps({"parting": wanted}).encode())


class Partings:
    """`states()`: those whose workers may have something. `heard` is called with a state whose worker has sent a
    message, which waits for take(); on the thread that delivers news."""

    def __init__(self, states: Callable[[], Iterable[NotebookState]], heard: Callable[[NotebookState], None]):
        self._states, self._heard = states, heard
        self._words: dict[NotebookState, _Words] = {}
        self._going: set[str] = set()  # workers that have begun to leave
        self._gone: set[str] = set()   # those of them that have sent everything
        self._lock = threading.Lock()

    def listen(self, session: Session) -> None:
        """Listens from now on, also after the lease has ended. A second call does nothing."""
        session.takers[parting.KIND] = self._hear
        session.core.read_to_the_end(parting.LEAVE_S)

    def _hear(self, session: Session, task: str, content: dict[str, Any], buffers: list[Any]) -> None:
        offer = PartingOffer(**content)
        words = _Words(session, task, offer, buffers)
        state = next((state for state in self._states()
                      if state.id == offer.state and state.holder == offer.holder), None)
        if state is None:  # of an earlier worker
            return words.answer(_NOTHING)
        with self._lock:
            self._words[state] = words
            self._going.add(state.holder)
        self._heard(state)

    def has_begun(self, state: NotebookState) -> bool:
        """Whether its worker is leaving by itself, and accepts no other work."""
        return state.holder in self._going

    def take(self, state: NotebookState, intake: Callable[[], Intake]) -> bool:
        """Takes its worker's last message into the folder; the answer requests more. False: there is no message."""
        with self._lock:
            words = self._words.pop(state, None)
        if words is None:
            return False
        wanted = _NOTHING
        with contextlib.suppress(StateError, OSError):  # the next worker says what is missing
            wanted = intake().take_parting(words.offer, words.buffers)
        if not wanted[0]:
            self._gone.add(words.offer.holder)
        words.answer(wanted)
        return True

    def wait(self, state: NotebookState, session: Session, until: float) -> None:
        """Blocks while its worker is leaving and may still send something; another thread takes it."""
        until = min(until, time.monotonic() + parting.LEAVE_S)
        while time.monotonic() < until and (session.core.reads_on() or self.says_more(state)):
            time.sleep(_LOOK_S)

    def says_more(self, state: NotebookState) -> bool:
        """Whether its worker is leaving, and has not sent everything."""
        return state.holder in self._going and state.holder not in self._gone
