"""The workers of one notebook's cells: what each holds, what runs there behind the cells, and the exchange with them."""

from __future__ import annotations

import linecache
from dataclasses import replace
from typing import Any

from .. import errors
from .._common import bundle
from .._engine.display import Shown, size
from .._engine.options import Options
from .._worker.cell import runner
from ..calls import session_of, view_with
from ..client import Client
from ..future import engine_of
from .background import CellJob, CellOutput
from .ledger import Ledger, Parcel
from .options_line import CellLine, Place
from .stop import LeftBehind, say, wait
from .traceback import remote_error

_NEVER_S = 1e6  # stopping a cell alone does not cost the worker's variables


class Remote:
    def __init__(self, shell: Any):
        self.shell = shell
        self._client: Client | None = None
        self.ledgers: dict[Place, Ledger] = {}
        self.jobs: list[CellJob] = []
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

    def run(self, asked: CellLine, wanted: Any, source: str) -> Shown | None:
        asked, reply = self.exchange(asked, wanted, source)
        return self._booked(asked, self.number(), reply)

    def _booked(self, asked: CellLine, number: int, reply: dict[str, Any]) -> Shown | None:
        """What the cell did, in our ledger; its value, or its error raised."""
        ledger = self.ledger(asked.place)
        ledger.assigned(reply["assigned"], self.shell.user_ns, number)
        ledger.deleted(reply["deleted"])
        if "error" in reply:
            raise remote_error(reply["error"], self._hint(reply["error"]["name"], asked.place))
        self.bring(reply, ledger)
        return Shown(*reply["shown"]) if reply["shown"] is not None else None

    def is_ours(self, name: str) -> bool:
        """A variable of the user's, not of IPython's."""
        return name in self.shell.user_ns and name not in self.shell.user_ns_hidden

    def exchange(self, asked: CellLine, wanted: Any, source: str) -> tuple[CellLine, dict[str, Any]]:
        """Sends what the worker lacks and the source; again, and all of it, to a worker that turns out to be a new one.
        Returns also the line as it would have been for the worker that it came to."""
        number = self.number()
        while True:
            parcel, words = self._packed(asked, wanted, source, number)
            future = self._view(asked).submit(runner.run_cell, *words)
            try:
                reply = wait(future)
            except LeftBehind:
                output = CellOutput(self.shell)
                session, task = engine_of(future)
                session.show_at(task, output)
                self._goes_on(asked, number, parcel, future, output)
                raise KeyboardInterrupt("the cell was left to itself; %pounce restart ends its Python") from None
            came = self._where_it_ran(asked, future)
            ledger = self.ledger(came.place)
            if reply["ran"]:
                ledger.worker = reply["namespace"]
                ledger.arrived(parcel)
                return came, reply
            lost = ledger.forget() if came == asked else ()  # else it was packed for another worker, which is not this one
            if lost:
                say(f"this is a new worker: {', '.join(sorted(lost))} of earlier cells went with the last one")
            asked = came

    def _packed(self, asked: CellLine, wanted: Any, source: str, number: int) -> tuple[Parcel, tuple[Any, ...]]:
        """What travels, and the arguments of `run_cell`."""
        ledger = self.ledger(asked.place)
        parcel = ledger.parcel(wanted, self.own(), number, forced=asked.sends is not None)
        request = {"namespace": ledger.worker, "source": source, "number": number, "files": self._files(parcel),
                   "reads": sorted(parcel.names), "brings": asked.brings, "colors": self.shell.colors,
                   "asks": not asked.background, "message": self._message()}
        self._tell(parcel)
        return parcel, (request, *bundle.dumps(parcel.values))

    def run_behind(self, asked: CellLine, wanted: Any, source: str) -> CellJob | None:
        number, output = self.number(), CellOutput(self.shell)
        parcel, words = self._packed(asked, wanted, source, number)
        view = self._view(asked)
        session = session_of(view)
        with session.news_wait():
            future = view.submit(runner.run_cell, *words)
            session.show_at(engine_of(future)[1], output)
        job = self._goes_on(asked, number, parcel, future, output)
        if not asked.name:
            return job
        self.shell.push({asked.name: job})
        return None

    def _goes_on(self, asked: CellLine, number: int, parcel: Parcel, future: Any, output: CellOutput) -> CellJob:
        self.ledger(asked.place).arrived(parcel)  # before the cells that come behind it
        ended = lambda future: self._ended_behind(asked, number, parcel, future)  # noqa: E731
        job = CellJob(self.at(asked.place), lambda: self._where_it_ran(asked, future).place, future, output, ended)
        self.jobs = [*(old for old in self.jobs if old.state != "done"), job]
        return job

    def _ended_behind(self, asked: CellLine, number: int, parcel: Parcel, future: Any) -> Shown | None:
        came = self._where_it_ran(asked, future)
        try:
            reply = future.result()
        except BaseException:
            self.ledger(asked.place).withdraw(parcel)  # whether it has arrived nobody knows
            raise
        ledger, moved = self.ledger(came.place), came.place != asked.place
        if moved:
            self.ledger(asked.place).withdraw(parcel)
        if reply["ran"]:
            ledger.worker = reply["namespace"]
            ledger.arrived(parcel)
            return self._booked(came, number, reply)
        if moved:
            words = f"the cell did not run: instead of waiting it came to a worker with {came.place}, and it counts on variables of the"
            raise errors.LeaseEnded(f"{words} one with {asked.place}", "Run the cell again, with the options of the one it shall run on.")
        lost = ", ".join(sorted(ledger.forget())) or "its variables"
        raise errors.LeaseEnded(f"the cell did not run: its worker is a new one, and {lost} went with the last", "Run the cell again.")

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

    def bring(self, reply: dict[str, Any], ledger: Ledger) -> None:
        if reply["missing"]:
            raise NameError(f"the worker has no variable {', '.join(reply['missing'])}")
        values = bundle.loads(*reply["bundle"])
        self.shell.push(values)
        ledger.brought(values, self.shell.user_ns)

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
        elsewhere = [other for other, ledger in self.ledgers.items() if other != place and name in ledger.entries]
        return f"{name} is on the worker of other options: bring it here with %pounce pull {name} and those." if elsewhere else ""

    def number(self) -> int:
        """Of the cell that runs; IPython's own count is one ahead in some versions."""
        return self.shell.displayhook.prompt_count

    def _message(self) -> str:
        """The id of the message that the cell came in; "" where there are no messages."""
        kernel = getattr(self.shell, "kernel", None)
        parent = kernel.get_parent("shell") if kernel is not None else {}
        return str(parent.get("header", {}).get("msg_id", ""))

    def cell_ended(self, result: Any) -> None:
        for ledger in self.ledgers.values():
            ledger.cell_ended(self.shell.user_ns, result.execution_count or 0)

    def client(self) -> Client:
        if self._client is None:
            self._client = Client(cancel_grace=_NEVER_S)
        return self._client

    def at(self, place: Place) -> Any:
        return view_with(self.client(), place.options, place.env)

    def _view(self, asked: CellLine) -> Any:
        view = self.at(asked.place)
        return view.options(wait_policy=[str(step) for step in asked.instead]) if asked.instead else view

    def _where_it_ran(self, asked: CellLine, future: Any) -> CellLine:
        """A cell that did not wait for what it had asked for is on another worker, whose ledger is another."""
        asks = replace(engine_of(future)[1].asks or Options(), wait_policy=())
        if asks == asked.place.options:
            return asked
        return replace(asked, place=replace(asked.place, options=asks), instead=())

    def ledger(self, place: Place) -> Ledger:
        return self.ledgers.setdefault(place, Ledger())

    def release(self) -> None:
        """Gives all workers back."""
        self.ledgers.clear()
        self.jobs.clear()
        if self._client is not None:
            self._client.close()
            self._client = None

    def held_names(self) -> set[str]:
        """The names of variables that workers hold, as far as is known here."""
        return {name for ledger in self.ledgers.values() for name in ledger.entries}
