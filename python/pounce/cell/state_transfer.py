"""Saved variables of workers that do not see the notebook's folder: fetched in the background for the next worker."""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from .. import errors
from .._common.byte_size import size
from .._common.cell_protocol import NamespaceRequest
from .._engine.session import Sink
from .._worker.cell import transfer_calls
from .._worker.state import crossing
from .._worker.state.folder import Folder
from .._worker.state.key import key_of
from .._worker.state.problems import Damaged
from ..calls import session_of
from .errand import run_there
from .intake import Intake
from .notebook_state import NotebookState
from .partings import Partings
from .stop import say, wait

_FIRST_S, _MOST_S = 0.3, 60.0  # from a cell to the first fetch; then doubled, since each fetch interrupts a save
_SOON_S = 5.0  # a worker that has just run a cell may not be known to be there for so long
_END_S = 3.0  # a kernel that ends may spend this long on what has not come
_TOLD_S = 1.0  # the user waits this long before a line tells what for
_SAVING_S = 0.05  # between two looks at what another worker saves
_GIVEN_BYTES = 16 * 1024 * 1024  # at a time, while a cell waits for it


class StateTransfer:
    """
    Parameters
    ----------
    view : callable
        Of a state: the view that its worker is called through.
    is_there : callable
        Of a state: whether its worker runs.

    Thread: the notebook's, and one of its own, which fetches what is new and keeps no kernel from ending.
    """

    def __init__(self, view: Callable[[NotebookState], Any], is_there: Callable[[NotebookState], bool]):
        self._view, self._is_there = view, is_there
        self._intakes: dict[NotebookState, Intake] = {}
        self._holders: dict[NotebookState, str] = {}  # of the intakes
        self._outputs: dict[NotebookState, Sink | None] = {}  # of the cell that ran last
        self._due: dict[NotebookState, float] = {}
        self._pauses: dict[NotebookState, float] = {}  # before the next fetch
        self._owed: set[NotebookState] = set()  # not all of it has come
        self._partings = Partings(lambda: list(self._outputs), self._at_once)
        self._until = math.inf  # workers are called
        self._changed = threading.Condition()
        self._bringing: dict[NotebookState, threading.RLock] = {}  # one each: a worker may be busy for hours
        self._wanted = False  # by the notebook's thread
        self._thread: threading.Thread | None = None

    # ---- behind the cells ----

    def ran(self, state: NotebookState, output: Sink | None) -> None:
        """A cell has run on a worker that does not see its folder. Its prints between cells go to `output`."""
        self._partings.listen(session_of(self._view(state)))
        if not state.unshared:
            state.unshared = True
            say(f"this worker does not see {state.folder}: what cells change is brought there when they have run")
        with self._changed:
            self._outputs[state], self._pauses[state] = output, _FIRST_S
            self._owed.add(state)
            self._ask_later(state)
            self._changed.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="pounce-transfer", daemon=True)
            self._thread.start()
            atexit.register(self._end)  # before clients close, which were made earlier

    def sees_folder(self, state: NotebookState) -> None:
        """Its worker sees the folder, unlike the one before: nothing has to be fetched. Does not block. Any thread,
        also the one that delivers all answers."""
        state.unshared = False
        self._at_once(state)  # the thread that has the intake open closes it

    def _at_once(self, state: NotebookState) -> None:
        with self._changed:
            self._due[state] = 0.0
            self._changed.notify()

    def _run(self) -> None:
        while True:
            state = self._next()
            try:
                with self._lock(state):
                    whole = self._looked_after(state)
            except errors.PounceError:  # its client is closed just now
                whole = True
            with self._changed:
                if not whole:
                    self._ask_later(state)
                elif state not in self._due:  # no cell has run since
                    self._owed.discard(state)

    def _looked_after(self, state: NotebookState) -> bool:
        """Returns whether all of it is here."""
        if self._partings.take(state, lambda: self._intake(state)):
            if not self._partings.says_more(state):
                self._close(state)  # the next worker has to wait for nothing
            return True
        if not state.unshared:
            self._close(state)
            return True
        return self._brought(state) if self._is_there(state) else self._pauses[state] > _SOON_S

    def _lock(self, state: NotebookState) -> threading.RLock:
        with self._changed:
            return self._bringing.setdefault(state, threading.RLock())

    def _ask_later(self, state: NotebookState) -> None:
        pause = self._pauses[state]
        self._due.setdefault(state, time.monotonic() + pause)
        self._pauses[state] = min(2 * pause, _MOST_S)

    def _next(self) -> NotebookState:
        """The next state that is due. Blocks until then."""
        with self._changed:
            while True:
                state = min(self._due, key=self._due.__getitem__, default=None)
                left = None if state is None else self._due[state] - time.monotonic()
                if state is not None and left is not None and left <= 0 and not self._wanted:
                    del self._due[state]
                    return state
                self._changed.wait(None if self._wanted else left)

    def _brought(self, state: NotebookState) -> bool:
        """Returns False if it has to be tried again."""
        intake: Intake | None = None
        try:
            intake = self._intake(state)
            return intake.bring(pauses=lambda: self._wanted)
        except errors.PounceError:
            pass  # the worker has gone; the next says what is missing
        except Exception as error:  # the folder is full, say; the next save tries again
            if intake is not None:
                with contextlib.suppress(errors.PounceError):
                    intake.cannot(str(error))
        return True

    def _intake(self, state: NotebookState) -> Intake:
        if state not in self._intakes or self._holders[state] != state.holder:
            self._close(state)
            self._intakes[state] = Intake(state.folder, lambda *call: self._call_worker(state, *call))
            self._holders[state] = state.holder
        return self._intakes[state]

    def _call_worker(self, state: NotebookState, *call: Any) -> Any:
        return run_there(lambda: self._view(state), lambda: self._serves(state), self._outputs.get(state), *call)

    def _serves(self, state: NotebookState) -> bool:
        return self._is_there(state) and not self._partings.has_begun(state) and time.monotonic() < self._until

    # ---- the notebook's thread: a worker goes ----

    def bring_last(self, state: NotebookState) -> str:
        """Its worker goes next, or is going: blocks until everything it has is here. Does nothing if the worker sees
        the folder. Returns why it could not be brought; the earlier state here is whole then."""
        problem = ""
        if state.unshared and state.holder:
            if self._is_there(state):
                with self._alone(state):
                    problem = self._last(state)
            self._partings.wait(state, session_of(self._view(state)), self._until)
        self.forget(state)
        return problem

    def _last(self, state: NotebookState) -> str:
        begun = time.monotonic()
        try:
            intake = self._intake(state)
            before = intake.nbytes
            intake.bring(last=True)
        except errors.PounceError:
            return ""  # as in _brought()
        except Exception as error:
            return str(error)
        if time.monotonic() - begun > _TOLD_S:
            say(f"brought {size(intake.nbytes - before)} of variables from the worker")
        return ""

    def _end(self) -> None:
        """The kernel ends."""
        self._until = time.monotonic() + _END_S
        for state in list(self._owed):
            with contextlib.suppress(errors.PounceError):
                self.bring_last(state)

    def forget(self, state: NotebookState) -> None:
        """What comes next is another worker's. Blocks while something is fetched: never on the notifier's thread."""
        with self._changed:
            self._due.pop(state, None)
            self._owed.discard(state)
        with self._alone(state):
            self._close(state)

    def _close(self, state: NotebookState) -> None:
        intake = self._intakes.pop(state, None)
        if intake is not None:
            with contextlib.suppress(OSError):  # the folder was removed
                intake.close()

    @contextlib.contextmanager
    def _alone(self, state: NotebookState) -> Iterator[None]:
        self._wanted = True
        try:
            with self._lock(state):
                yield
        finally:
            with self._changed:
                self._wanted = False
                self._changed.notify()

    # ---- the next worker ----

    def give(self, state: NotebookState, request: NamespaceRequest, lacks: list[str]) -> None:
        """Gives what a worker lacks for a request, which is then sent again: first the list, then the blobs that
        the cell reads."""
        if lacks == [crossing.MANIFEST]:
            request.supply = _supply(state.folder, request.after, request.patience_s)
            return
        with contextlib.suppress(errors.LeaseEnded):  # the request, sent again, finds out what the next one lacks
            for parts in _given(state.folder, lacks):
                wait(self._view(state).submit(transfer_calls.receive, state.id, crossing.as_sent(parts)))


def _supply(path: str, turn: int, patience_s: float) -> bytes:
    """The saved state, as soon as it has this turn, or as it is after `patience_s`: a worker that saw the folder may
    still be saving."""
    until = time.monotonic() + patience_s
    with contextlib.closing(Folder(path)) as folder:
        while True:
            left = folder.left()  # before the state is read: a save from before then is seen
            state = crossing.state_in(folder, key_of(os.path.dirname(path)))
            if state.turn >= turn or left or time.monotonic() >= until:
                return crossing.unsigned(state)
            time.sleep(_SAVING_S)


def _given(path: str, blobs: list[str]) -> Iterator[list[crossing.Part]]:
    """Whole blobs. A missing file is sent as an empty one: the worker refuses it as it would on a disk."""
    with contextlib.closing(Folder(path)) as folder:
        parts: list[crossing.Part] = []
        for blob in blobs:
            try:
                nbytes, data = folder.part(blob, 0, _GIVEN_BYTES)
            except Damaged:
                nbytes, data = 0, b""
            parts.append(crossing.Part(blob, 0, nbytes, data))
            if sum(len(part.data) for part in parts) >= _GIVEN_BYTES:
                yield parts
                parts = []
        if parts:
            yield parts
