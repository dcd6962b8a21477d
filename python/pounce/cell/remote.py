"""The workers of one notebook's cells: which has what, what runs there behind the cells, and the exchange with them."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .. import errors
from .._common import bundle
from .._common.byte_size import size
from .._engine.display import Shown
from .._engine.options import Options
from .._worker.cell import runner
from .._worker.state.problems import StateError
from ..calls import session_of, view_with
from ..client import Client
from ..future import engine_of
from .background import Again, CellJob, CellOutput
from .ledger import Parcel
from .loop import Loop
from .notebook_state import NotebookState
from .options_line import CellLine
from .place import Place
from .state_relay import StateRelay
from .stop import LeftBehind, say, wait
from .successors import MOVE_S, Successors, seconds_left
from .traceback import remote_error

_NEVER_S = 1e6  # stopping a cell alone does not cost the worker's variables
_HERE = ("queued", "starting", "idle", "busy")  # of a lease whose worker will serve the next cell
_DEATHS = (errors.WorkerCrashed, errors.OutOfMemory, errors.NodeFailed, errors.LostError)


class Remote:
    def __init__(self, shell: Any):
        self.shell = shell
        self._clients: dict[NotebookState, Client] = {}
        self.states: dict[Any, NotebookState] = {}  # by the name of --on; by the line, where one could not follow
        self.jobs: list[CellJob] = []
        self._successors = Successors(_new_client)
        self.relay = StateRelay(lambda state: self.at(state.place or Place(), state), self.is_there)
        self._tries: dict[int, str] = {}  # by minutes asked for: the class of a try, so that its lines find one worker again

    def settled(self, asked: CellLine) -> CellLine:
        """The line with the class of this cluster that a try goes to."""
        options = asked.place.options
        if not asked.trial or options.class_:
            return asked
        if options.time_min not in self._tries:
            self._tries[options.time_min] = self.client().classes().shortest(options.time_min)
        options = replace(options, class_=self._tries[options.time_min])
        return replace(asked, place=replace(asked.place, options=options))

    # ---- cells ----

    def run(self, asked: CellLine, wanted: Any, source: str) -> Shown | None:
        asked, reply = self.exchange(asked, wanted, source)
        return self._booked(asked, self.number(), reply)

    def _booked(self, asked: CellLine, number: int, reply: dict[str, Any]) -> Shown | None:
        """What the cell did, in our ledger; its value, or its error raised."""
        state = self.state(asked.place)
        self._changed(state, number, reply)
        if "error" in reply:
            raise remote_error(reply["error"], self._hint(reply["error"]["name"], asked.place))
        if asked.setup:
            state.note_setup(number)
        self.bring(reply, state)
        return Shown(*reply["shown"]) if reply["shown"] is not None else None

    def _changed(self, state: NotebookState, number: int, reply: dict[str, Any]) -> None:
        state.ledger.assigned(reply["assigned"], self.shell.user_ns, number, reply["asked"])
        state.ledger.deleted(reply["deleted"])

    def is_ours(self, name: str) -> bool:
        """A variable of the user's, not of IPython's."""
        return name in self.shell.user_ns and name not in self.shell.user_ns_hidden

    def exchange(self, asked: CellLine, wanted: Any, source: str) -> tuple[CellLine, dict[str, Any]]:
        """Sends what the worker lacks and the source; again, with more, to a new worker that lacks more than was known.
        Returns also the line as it would have been for the worker that it came to."""
        number, loop, sent = self.number(), None, None
        while True:
            if sent is None:
                asked = self._to_worker(asked)
                state = self.state(asked.place)
                sent = self._packed(asked, wanted, source, number, loop)
            parcel, words = sent
            future = self._view(asked).submit(runner.run_cell, *words)
            try:
                with self._successors.watching(state, self.client(state), asked.place):
                    reply = wait(future)
            except LeftBehind:
                output = CellOutput(self.shell)
                session, task = engine_of(future)
                session.show_at(task, output)
                self._goes_on(asked, number, parcel, words, future, output)
                raise KeyboardInterrupt("the cell was left to itself; %pounce restart ends its Python") from None
            except _DEATHS:
                state.crashed = True
                raise
            came = self._where_it_ran(asked, future)
            if reply["lacks"]:
                asked, state.place = came, came.place
                self.relay.give(state, words[0], reply["lacks"])
                continue
            sent = None
            if not self._has_run(state, came, parcel, reply):
                if loop is not None:
                    raise errors.LeaseEnded(f"{loop.words()}, and what it had done went with that worker", "Run the cell again.")
                asked = came
            elif "left" not in reply:
                return came, reply
            else:
                loop = self._left(state, came, number, reply)

    def _has_run(self, state: NotebookState, came: CellLine, parcel: Parcel, reply: dict[str, Any]) -> bool:
        """False: its worker is a new one without all that it counted on, and nothing ran."""
        state.place = came.place
        if reply["fresh"]:
            self._tell_lost(state, reply)
        if not reply["ran"]:
            state.after = reply["turn"]
            return False
        if reply["problem"] and reply["problem"] != state.problem:
            say(f"the variables of this worker are not saved: {reply['problem']}")
        state.has_run(reply["asked"], reply["holder"], reply["problem"])
        state.ledger.arrived(parcel)
        if reply["relayed"]:
            self.relay.ran(state, CellOutput(self.shell) if getattr(self.shell, "kernel", None) is not None else None)
        return True

    def _tell_lost(self, state: NotebookState, reply: dict[str, Any]) -> None:
        """What a new worker has not of the last one's."""
        lost = state.ledger.back_to(reply["turn"] if reply["turn"] < state.after else state.turn)
        if lost and reply["turn"]:
            say(f"this is a new worker, and what was saved is as it was after cell {reply['cell']}: "
                f"later changes of {', '.join(sorted(lost))} went with the last one")
        elif lost:
            why = f": {reply['problem']}" if reply["problem"] else ""
            say(f"this is a new worker: {', '.join(sorted(lost))} of earlier cells went with the last one{why}")
        for name, (why, cell) in sorted(reply["lost"].items()):
            state.ledger.deleted([name])
            say(f"{name} (cell {cell}) went with the last worker: {why}")

    def _to_worker(self, asked: CellLine) -> CellLine:
        """The line of the worker that the variables are on, if it offers what is asked for; else they move."""
        state = self.state(asked.place)
        self._to_successor(state)
        if state.place is None or state.place == asked.place or not self.is_there(state):
            return asked
        if state.place.offers(asked.place, self._minutes_left(state)):
            return replace(asked, place=state.place)
        self._leave(state, asked.place)
        return asked

    def _to_successor(self, state: NotebookState) -> None:
        """The time of its worker is, or is nearly, over, and the next one is ready."""
        client = self._clients.get(state)
        if client is None or not self._successors.is_ready(state):
            return
        left = seconds_left(client)
        if self.is_there(state) and (left is None or left > MOVE_S or not self._has_left(state, state.place)):
            return
        self._clients.pop(state).close()

    def _has_left(self, state: NotebookState, place: Place | None) -> bool:
        """Its worker has saved everything, and its variables with it; False: it holds what cannot be saved, and has not."""
        try:
            problem = wait(self.at(place or Place(), state).submit(runner.leave, state.id, True))
        except errors.PounceError:  # it has ended by itself
            return True
        if problem:
            say(f"it goes on here, on the worker that it has: {problem}")
            return False
        self.relay.bring_last(state)
        return True

    def _left(self, state: NotebookState, came: CellLine, number: int, reply: dict[str, Any]) -> Loop:
        """The cell is to go on elsewhere: it has given its worker back, or found that it cannot."""
        self._changed(state, number, reply)
        loop = Loop(reply["left"])
        say(f"{loop.words()}; the cell goes on with the next worker")
        if not self._has_left(state, came.place):
            return loop.that_stays()
        self._clients.pop(state).close()
        return loop

    def _leave(self, state: NotebookState, place: Place) -> None:
        """Its worker saves everything and goes back; the next one will have it."""
        assert state.place is not None
        problem = wait(self.at(state.place, state).submit(runner.leave, state.id))
        if not problem:
            self.relay.bring_last(state)
            self._clients.pop(state).close()
            return
        say(f"the variables of the worker with {state.place} cannot follow to one with {place}, which begins without them: {problem}")
        self.states[place] = NotebookState()

    def is_there(self, state: NotebookState) -> bool:
        """Whether a worker has, or will have, what is not only on the disk."""
        client = self._clients.get(state)
        return client is not None and any(lease.state in _HERE for lease in client.leases())

    def _minutes_left(self, state: NotebookState) -> float | None:
        left = seconds_left(self._clients[state])
        return left / 60 if left is not None else None

    def _packed(self, asked: CellLine, wanted: Any, source: str, number: int, loop: Loop | None = None) -> tuple[Parcel, tuple[Any, ...]]:
        """What travels, and the arguments of `run_cell`. `loop`: the cell goes on in the middle of it."""
        state = self.state(asked.place)
        self.have_folder(state)
        words = state.words(session_of(self.client()).parked_most_bytes)
        parcel = state.ledger.parcel(wanted, self.own(), number, words["turn"], forced=asked.sends is not None)
        request = {"holder": state.holder, "state": words, "source": source, "number": number, "files": self._files(parcel),
                   "reads": sorted(parcel.names), "brings": asked.brings, "setup": asked.setup, "colors": self.shell.colors,
                   "asks": not asked.background, "message": self._message(), "loop": loop.left if loop else None,
                   "leaves": not asked.background and not (loop and loop.stays)}
        state.cells[number] = source
        self._tell(parcel)
        return parcel, (request, *bundle.dumps(parcel.values))

    def have_folder(self, state: NotebookState) -> None:
        try:
            state.make_folder(self.parked_folder())
        except (OSError, StateError) as error:
            if state.problem != str(error):
                say(f"variables on workers will not be saved: {error}")
            state.problem = str(error)

    def parked_folder(self) -> str:
        """Where all saved states of this user on this cluster lie."""
        return session_of(self.client()).parked

    def run_behind(self, asked: CellLine, wanted: Any, source: str) -> CellJob | None:
        number, output = self.number(), CellOutput(self.shell)
        asked = self._to_worker(asked)
        parcel, words = self._packed(asked, wanted, source, number)
        job = self._goes_on(asked, number, parcel, words, self._sent_behind(asked, words, output), output)
        if not asked.name:
            return job
        self.shell.push({asked.name: job})
        return None

    def _sent_behind(self, asked: CellLine, words: tuple[Any, ...], output: CellOutput) -> Any:
        view = self._view(asked)
        session = session_of(view)
        with session.news_wait():
            future = view.submit(runner.run_cell, *words)
            session.show_at(engine_of(future)[1], output)
        return future

    def _goes_on(self, asked: CellLine, number: int, parcel: Parcel, words: tuple[Any, ...], future: Any, output: CellOutput) -> CellJob:
        state = self.state(asked.place)
        state.ledger.arrived(parcel)  # before the cells that come behind it
        state.after, state.place = state.turn, asked.place

        def again(lacks: list[str]) -> Any:
            self.relay.give(state, words[0], lacks)
            return self._sent_behind(asked, words, output)

        ended = lambda future: self._ended_behind(state, asked, number, parcel, future, again)  # noqa: E731
        job = CellJob(self.at(asked.place), lambda: self._where_it_ran(asked, future).place, future, output, ended)
        self.jobs = [*(old for old in self.jobs if old.state != "done"), job]
        return job

    def _ended_behind(self, state: NotebookState, asked: CellLine, number: int, parcel: Parcel, future: Any,
                      again: Callable[[list[str]], Any]) -> Shown | None:
        try:
            reply = future.result()
        except BaseException as error:
            state.ledger.withdraw(parcel)  # whether it has arrived nobody knows
            state.crashed |= isinstance(error, _DEATHS)
            raise
        if reply["lacks"]:
            raise Again(lambda: again(reply["lacks"]))
        came = self._where_it_ran(asked, future)
        if self._has_run(state, came, parcel, reply):
            if "left" in reply:
                self._changed(state, number, reply)
                raise errors.LeaseEnded(Loop(reply["left"]).words(), "Nobody waits for the cell, so it does not go on: run its rest.")
            return self._booked(came, number, reply)
        state.ledger.withdraw(parcel)
        text = "the cell did not run: its worker is a new one, and lacks variables that it counted on"
        raise errors.LeaseEnded(text, "Run the cell again.")

    def own(self) -> dict[str, Any]:
        hidden = self.shell.user_ns_hidden
        return {name: value for name, value in self.shell.user_ns.items() if name not in hidden}

    def _files(self, parcel: Parcel) -> dict[str, tuple[int, str]]:
        """The cells that hold the functions of a parcel: number and text."""
        cells = self.shell.compile._filename_map
        return {name: (cells[name], "".join(linecache.getlines(name))) for name in parcel.files if name in cells}

    def _tell(self, parcel: Parcel) -> None:
        for note in parcel.notes:
            say(note)
        if parcel.sizes:
            say("sent " + ", ".join(f"{name} ({size(nbytes)})" for name, nbytes in sorted(parcel.sizes.items())))
        if parcel.unchecked:
            say(f"not fully checked for changes, being large: {', '.join(sorted(parcel.unchecked))} (--in sends them again)")

    def bring(self, reply: dict[str, Any], state: NotebookState) -> None:
        if reply["missing"]:
            raise NameError(f"the worker has no variable {', '.join(reply['missing'])}")
        values = bundle.loads(*reply["bundle"])
        self.shell.push(values)
        state.ledger.brought(values, self.shell.user_ns)

    def require(self, names: Any) -> None:
        missing = [name for name in names if name not in self.shell.user_ns]
        if missing:
            raise NameError(f"the notebook has no variable {', '.join(missing)}")

    def _hint(self, name: str | None, place: Place) -> str:
        """Why a name is not on the worker although the user knows it."""
        if name is None:
            return ""
        if self.is_ours(name):
            return f"{name} is a variable of the notebook that was not sent: --in {name} sends it."
        mine = self.state(place)
        elsewhere = [state.place for state in self.states.values() if state is not mine and name in state.ledger.entries]
        return f"{name} is on the worker with {elsewhere[0]}: bring it here with %pounce pull {name} and those." if elsewhere else ""

    def number(self) -> int:
        """Of the cell that runs; IPython's own count is one ahead in some versions."""
        return self.shell.displayhook.prompt_count

    def _message(self) -> str:
        """The id of the message that the cell came in; "" where there are no messages."""
        kernel = getattr(self.shell, "kernel", None)
        parent = kernel.get_parent("shell") if kernel is not None else {}
        return str(parent.get("header", {}).get("msg_id", ""))

    def cell_ended(self, result: Any) -> None:
        for state in self.states.values():
            state.ledger.cell_ended(self.shell.user_ns, result.execution_count or 0)

    # ---- workers ----

    def state(self, place: Place) -> NotebookState:
        return self.states.get(place) or self.states.setdefault(place.on, NotebookState())

    def client(self, state: NotebookState | None = None) -> Client:
        """That of a state's worker; of the notebook's usual one, or any."""
        state = state or next(iter(self._clients), None) or self.state(Place())
        if state not in self._clients:
            self._clients[state] = self._successors.taken(state) or _new_client()
        return self._clients[state]

    def at(self, place: Place, state: NotebookState | None = None) -> Any:
        return view_with(self.client(state or self.state(place)), place.options, place.env)

    def _view(self, asked: CellLine) -> Any:
        view = self.at(asked.place)
        return view.options(wait_policy=[str(step) for step in asked.instead]) if asked.instead else view

    def _where_it_ran(self, asked: CellLine, future: Any) -> CellLine:
        """A cell that did not wait for what it had asked for is on another worker."""
        asks = replace(engine_of(future)[1].asks or Options(), wait_policy=())
        if asks == asked.place.options:
            return asked
        return replace(asked, place=replace(asked.place, options=asks), instead=())

    def release(self) -> None:
        """Gives all workers back, which save their variables first."""
        for state in [state for state in self._clients if not self._is_busy(state)]:
            self.relay.bring_last(state)
        self.jobs.clear()
        self._successors.close()
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _is_busy(self, state: NotebookState) -> bool:
        """A cell runs there in the background, or waits: it is cancelled, and no task comes before it."""
        return any(job.state != "done" and job.place == state.place for job in self.jobs)

    def held_names(self) -> set[str]:
        """The names of variables that workers hold, as far as is known here."""
        return {name for state in self.states.values() for name in state.ledger.entries}


def _new_client() -> Client:
    return Client(cancel_grace=_NEVER_S)
