"""The workers that have one notebook's variables: which has which, which client reaches them, and how they are left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from IPython.core.error import UsageError

from .. import errors
from .._engine.pools import Pool, pools_of
from .._engine.session import Session
from .._engine.submission import open_sessions
from .._worker.cell import runner
from .._worker.state.problems import StateError
from ..calls import asks_of, session_of, view_with
from ..client import Client
from ..lease import Lease, lease_with
from .loaded_modules import LoadedModules
from .notebook_state import NotebookState
from .options_line import CellLine
from .state_transfer import StateTransfer
from .stop import say, wait
from .successors import MOVE_S, Successors, seconds_left
from .target import Target

_STATUS_S = 5.0
_NEVER_S = 1e6  # stopping a cell alone does not cost the worker's variables
_HERE = ("queued", "starting", "idle", "busy")  # states of a lease whose worker will serve the next cell
_RUNS = ("starting", "idle", "busy")


@dataclass(frozen=True)
class Reached:
    """A worker, as the session names it that talks to it."""

    session: Session
    lease: str


class Workers:
    """
    Attributes
    ----------
    states : dict of NotebookState
        By the name of ``--on``; by the target, where the variables could not follow.
    successors : Successors
    transfer : StateTransfer
    """

    def __init__(self, modules: LoadedModules) -> None:
        self._modules = modules
        self._clients: dict[NotebookState, Client] = {}
        self.states: dict[Any, NotebookState] = {}
        self.successors = Successors(self._new_client)
        self.transfer = StateTransfer(lambda state: self.at(state.target or Target(), state),
                                lambda state: self.is_there(state, _RUNS))
        self._tries: dict[int, str] = {}  # the class of a try by its minutes, so that its lines find one worker again

    # ---- which ----

    def state(self, target: Target) -> NotebookState:
        return self.states.get(target) or self.states.setdefault(target.on, NotebookState())

    def client(self, state: NotebookState | None = None) -> Client:
        """The client of a state's worker; without a state the notebook's usual one, or any."""
        state = state or next(iter(self._clients), None) or self.state(Target())
        if state not in self._clients:
            self._clients[state] = self.successors.taken(state) or self._new_client()
        return self._clients[state]

    def at(self, target: Target, state: NotebookState | None = None) -> Any:
        return view_with(self.client(state or self.state(target)), target.options, target.env)

    def will_import(self, target: Target, names: list[str], values: list[Any]) -> None:
        """Names what the next cell imports and sends: a new worker loads those modules while it waits for the cell."""
        session = session_of(self.at(target))
        if session.modules is not None:
            session.modules.before_cell(names, values, first=not session.under_way)

    def loading(self, state: NotebookState) -> str:
        """The modules that a state's worker loads ahead, as pounced last reported; empty: none."""
        client = self._clients.get(state)
        try:
            rows = session_of(client).status(_STATUS_S)["leases"] if client is not None else []
        except errors.PounceError:
            return ""
        own = {lease.id for lease in client.leases()} if client is not None else set()
        return ", ".join(sorted({name for row in rows if row["lease"] in own for name in row.get("loading", ())}))

    def pools(self) -> list[Pool]:
        """The pools of this notebook's own clients. Empty too if pounced does not answer."""
        try:
            return next((pools_of(session.status(_STATUS_S)) for session in open_sessions()), [])
        except errors.PounceError:
            return []

    def is_there(self, state: NotebookState, words: tuple[str, ...] = _HERE) -> bool:
        """Whether there is, or will be, a worker with variables that are not only on the disk."""
        client = self._clients.get(state)
        return client is not None and any(lease.state in words for lease in client.leases())

    def reached(self, state: NotebookState, target: Target | None = None) -> Reached | None:
        """Its worker, if that is there now. Requests none, and does not block. `target`: of a first cell that runs."""
        client = self._clients.get(state)
        lease = next((one for one in client.leases() if one.state in _RUNS), None) if client is not None else None
        if lease is None:
            return None
        return Reached(session_of(self.at(state.target or target or Target(), state)), lease.id)

    def _minutes_left(self, state: NotebookState) -> float | None:
        left = seconds_left(self._clients[state])
        return left / 60 if left is not None else None

    def settled(self, line: CellLine) -> CellLine:
        """The line, with the class of this cluster that a try goes to."""
        options = line.target.options
        if not line.trial or options.resources.class_:
            return line
        if options.resources.time_min not in self._tries:
            self._tries[options.resources.time_min] = self.client().classes().shortest(options.resources.time_min)
        options = options.with_resources(class_=self._tries[options.resources.time_min])
        return replace(line, target=replace(line.target, options=options))

    def held_names(self) -> set[str]:
        """The names of variables that workers hold, as far as is known here."""
        return {name for state in self.states.values() for name in state.ledger.entries}

    # ---- for the next cell ----

    def for_line(self, line: CellLine) -> CellLine:
        """The line of the worker that has the variables, if it offers what this line requests; else they move."""
        state = self.state(line.target)
        if state.out_of_time:
            self._end_of_time(state)
        self._to_successor(state)
        if state.target is None or state.target == line.target or not self.is_there(state):
            return line
        if state.target.offers(line.target, self._minutes_left(state)):
            return replace(line, target=state.target)
        if state.held:
            raise UsageError(f"this notebook holds a worker with {state.target}, which does not offer {line.target}: "
                             "%pounce release, and this cell gets another one; --on NAME gives it one beside it")
        self._move(state, line.target)
        return line

    def _end_of_time(self, state: NotebookState) -> None:
        """Its worker saves what it can and goes back: it has no time for another cell."""
        state.out_of_time = False
        if not self.is_there(state):
            return
        try:
            problem = self.saved(state, state.target or Target())
        except errors.PounceError:  # it has ended by itself
            problem = self.transfer.bring_last(state)
        if problem:
            say(f"what the last cells changed on the worker went with it: {problem}")
        self._clients.pop(state).close()

    def _to_successor(self, state: NotebookState) -> None:
        """Moves to the next worker if that is ready and the time of this one is, or is nearly, over."""
        client = self._clients.get(state)
        if client is None or not self.successors.is_ready(state):
            return
        left = seconds_left(client)
        if not self.is_there(state):
            self.transfer.bring_last(state)
        elif left is None or left > MOVE_S or not self._has_left(state, state.target):
            return
        self._clients.pop(state).close()

    def _move(self, state: NotebookState, target: Target) -> None:
        """Its worker saves everything and goes back; the next one gets it."""
        assert state.target is not None
        problem = self.saved(state, state.target)
        if not problem:
            self._clients.pop(state).close()
            return
        say(f"the variables of the worker with {state.target} cannot follow to one with {target}, "
            f"which begins without them: {problem}")
        self.states[target] = NotebookState()

    def left(self, state: NotebookState, target: Target) -> bool:
        """Its worker, requested with this line, saves everything and goes back; the next one gets it. Returns False if
        it holds something that cannot be saved: it stays."""
        if not self._has_left(state, target):
            return False
        self._clients.pop(state).close()
        return True

    def _has_left(self, state: NotebookState, target: Target | None) -> bool:
        try:
            problem = self.saved(state, target or Target(), whole=True)
        except errors.PounceError:  # it has ended by itself
            self.transfer.bring_last(state)
            return True
        if problem:
            say(f"it goes on here, on the worker that it has: {problem}")
        return not problem

    def saved(self, state: NotebookState, target: Target, whole: bool = False) -> str:
        """Has its worker, requested with this line, save everything and forget it. Returns why it could not, and
        then it has not; with `whole` one variable that cannot be saved is reason enough. Blocks."""
        problem = str(wait(self.at(target, state).submit(runner.leave, state.id, whole)))
        return problem or self.transfer.bring_last(state)

    def release(self, is_busy: Callable[[NotebookState], bool]) -> None:
        """Gives all back; they save their variables first. On a busy one a background cell runs, which is cancelled."""
        for state in [state for state in self._clients if not is_busy(state)]:
            problem = self.transfer.bring_last(state)
            if problem:
                say(f"what the last cells changed on the worker could not be brought, and went with it: {problem}")
        self.successors.close()
        clients = list(self._clients.values())
        self._clients.clear()  # first: no thread may use a closed one
        for client in clients:
            client.close()

    # ---- held ----

    @staticmethod
    def lease_of(view: Any) -> Lease | None:
        """The lease of a view's worker; None: it has gone already."""
        lease = lease_with(session_of(view), asks_of(view))
        return lease if lease is not None and lease.state in _RUNS else None

    # ---- where they save ----

    def make_folder(self, state: NotebookState) -> None:
        try:
            state.make_folder(self.saved_states_folder())
        except (OSError, StateError) as error:
            if state.problem != str(error):
                say(f"variables on workers will not be saved: {error}")
            state.problem = str(error)

    def saved_states_folder(self) -> str:
        """The folder of all saved states of this user on this cluster."""
        return session_of(self.client()).saved_states

    def _new_client(self) -> Client:
        return self._modules.followed(Client(cancel_grace=_NEVER_S))
