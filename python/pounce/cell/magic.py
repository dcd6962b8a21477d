"""``%%pounce`` and ``%pounce``: the way in from a notebook."""

from __future__ import annotations

import ast
import contextlib
import linecache
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class

from .. import errors
from ..client import Client
from ..status import words_of
from . import bundle, runner
from .background import CellJob, CellOutput
from .completion import Completion
from .ledger import Ledger, Parcel
from .names import reads
from .options_line import CellLine, Place, parse_cell, parse_verb
from .show import Shown, size
from .stop import LeftBehind, say, wait
from .traceback import remote_error, syntax_error

_NEVER_S = 1e6  # stopping a cell alone does not cost the worker's variables


def load(shell: Any) -> None:
    """Registers the magics; twice is once."""
    if "pounce" in shell.magics_manager.magics["cell"]:
        return
    magics = PounceMagics(shell)
    shell.register_magics(magics)
    shell.events.register("post_run_cell", magics.cell_ended)
    magics.completion.register(shell)


@magics_class
class PounceMagics(Magics):
    def __init__(self, shell: Any):
        super().__init__(shell)
        self._client: Client | None = None
        self._ledgers: dict[Place, Ledger] = {}
        self._jobs: list[CellJob] = []
        self.completion = Completion(self._own, self._on_workers)

    # ---- the cell ----

    @cell_magic("pounce")
    def cell(self, line: str, cell: str) -> Any:
        """Runs this cell on a worker: a GPU, or the memory and CPUs that you ask for, leased for as long as there is work.

            %%pounce --gpu 1
            model = train(Net().cuda(), loader)

        Variables, functions and classes of the notebook that the cell reads are sent along (only what the worker lacks, or
        what changed). What the cell assigns stays on the worker, for the next %%pounce cell with the same options. Prints,
        progress bars, figures and tracebacks appear here as they come. The stop button stops the cell on the worker and keeps
        the worker's variables; while the cell still waits for its turn, it takes the request back.

        Options
          --gpu N|TYPE     how many GPUs, or which: 1, a100, a100:2
          --mem SIZE       memory: 8GB
          --cpus N         processors
          --time T         how long the lease may last at most: 20min, 2h
          --class NAME     a class of this cluster: cheetah
          --env PREFIX     another environment's Python, of the same version
          --in a,b         send just these variables, even if they seem unchanged
          --out x,y        bring these variables back into the notebook
          --bg             return at once; the output goes on under this cell, and its value is a job: .state, .result(), .log()
          --name N         with --bg: N is the job
          --try            a short try without a GPU, on processors that are kept for it: the code is checked while GPUs are busy

        After an error  a %%pounce cell of %debug looks into the worker's frames.
        See also  %pounce vars | pull x,y | push a,b | status | explain | restart | release   (followed by the cell's options)
        """
        asked = _usage(parse_cell, line)
        tree = self._parsed(cell)
        if tree is None:
            return None
        wanted = asked.sends if asked.sends is not None else [n for n in reads(tree) if self._is_ours(n)]
        self._require(wanted if asked.sends is not None else ())
        if asked.background:
            return self._in_background(asked, wanted, cell)
        return self._booked(asked, self._number(), self._exchange(asked, wanted, cell))

    def _booked(self, asked: CellLine, number: int, reply: dict[str, Any]) -> Shown | None:
        """What the cell did, in our books; its value, or its error raised."""
        ledger = self._ledger(asked.place)
        ledger.assigned(reply["assigned"], self.shell.user_ns, number)
        ledger.deleted(reply["deleted"])
        if "error" in reply:
            raise remote_error(reply["error"], self._hint(reply["error"]["name"], asked.place))
        self._bring(reply, ledger)
        return Shown(*reply["shown"]) if reply["shown"] is not None else None

    def _parsed(self, cell: str) -> ast.Module | None:
        """A SyntaxError is the notebook's own: nothing is sent. The line of the magic counts."""
        compiler, code = self.shell.compile, "\n" + cell
        try:
            code = "\n" + self.shell.transform_cell(cell)
            filename = compiler.cache(code, self._number())
            tree = compile(code, filename, "exec", compiler.flags | ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except SyntaxError as error:
            raise syntax_error(self.shell, error) from None
        return tree if tree.body else None

    def _is_ours(self, name: str) -> bool:
        """A variable of the person's, not of IPython's."""
        return name in self.shell.user_ns and name not in self.shell.user_ns_hidden

    def _exchange(self, asked: CellLine, wanted: Any, source: str) -> dict[str, Any]:
        """Sends what the worker lacks and the source; again, and all of it, to a worker that turns out to be a new one."""
        ledger, number = self._ledger(asked.place), self._number()
        while True:
            parcel, words = self._packed(asked, wanted, source, number)
            future = self._at(asked.place).submit(runner.run_cell, *words)
            try:
                reply = wait(future)
            except LeftBehind:
                output = CellOutput(self.shell)
                future._session.show_elsewhere(lambda: future, output)  # noqa: B023  called at once
                self._goes_on(asked, number, parcel, future, output)
                raise KeyboardInterrupt("the cell was left to itself; %pounce restart ends its Python") from None
            if reply["ran"]:
                ledger.worker = reply["namespace"]
                ledger.arrived(parcel)
                return reply
            lost = ledger.forget()
            if lost:
                say(f"this is a new worker: {', '.join(sorted(lost))} of earlier cells went with the last one")

    def _packed(self, asked: CellLine, wanted: Any, source: str, number: int) -> tuple[Parcel, tuple[Any, ...]]:
        """What travels, and the arguments of `run_cell`."""
        ledger = self._ledger(asked.place)
        parcel = ledger.parcel(wanted, self._own(), number, forced=asked.sends is not None)
        request = {"namespace": ledger.worker, "source": source, "number": number, "files": self._files(parcel),
                   "reads": sorted(parcel.names), "brings": asked.brings, "colors": self.shell.colors,
                   "asks": not asked.background, "message": self._message()}
        self._tell(parcel)
        return parcel, (request, *bundle.dumps(parcel.values))

    def _in_background(self, asked: CellLine, wanted: Any, source: str) -> CellJob | None:
        number, output = self._number(), CellOutput(self.shell)
        parcel, words = self._packed(asked, wanted, source, number)
        view = self._at(asked.place)
        future = view._home()._session.show_elsewhere(lambda: view.submit(runner.run_cell, *words), output)
        job = self._goes_on(asked, number, parcel, future, output)
        if not asked.name:
            return job
        self.shell.push({asked.name: job})
        return None

    def _goes_on(self, asked: CellLine, number: int, parcel: Parcel, future: Any, output: CellOutput) -> CellJob:
        self._ledger(asked.place).arrived(parcel)  # before the cells that come behind it
        ended = lambda reply: self._ended_behind(asked, number, reply)  # noqa: E731
        job = CellJob(self._at(asked.place), asked.place, future, output, ended)
        self._jobs = [*(old for old in self._jobs if old.state != "done"), job]
        return job

    def _ended_behind(self, asked: CellLine, number: int, reply: dict[str, Any]) -> Shown | None:
        ledger = self._ledger(asked.place)
        if reply["ran"]:
            ledger.worker = reply["namespace"]
            return self._booked(asked, number, reply)
        lost = ", ".join(sorted(ledger.forget())) or "its variables"
        raise errors.LeaseEnded(f"the cell did not run: its worker is a new one, and {lost} went with the last", "Run the cell again.")

    def _own(self) -> dict[str, Any]:
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

    def _bring(self, reply: dict[str, Any], ledger: Ledger) -> None:
        if reply["missing"]:
            raise NameError(f"the worker has no variable {', '.join(reply['missing'])}")
        values = bundle.loads(*reply["bundle"])
        self.shell.push(values)
        ledger.brought(values, self.shell.user_ns)

    def _require(self, names: Any) -> None:
        missing = [name for name in names if name not in self.shell.user_ns]
        if missing:
            raise NameError(f"the notebook has no variable {', '.join(missing)}")

    def _hint(self, name: str | None, place: Place) -> str:
        """Why a name is not on the worker although the person knows it."""
        if name is None:
            return ""
        if self._is_ours(name):
            return f"{name} is a variable of the notebook that was not sent: --in {name} sends it."
        elsewhere = [other for other, ledger in self._ledgers.items() if other != place and name in ledger.entries]
        return f"{name} is on the worker of other options: bring it here with %pounce pull {name} and those." if elsewhere else ""

    # ---- the line ----

    @line_magic("pounce")
    def line(self, line: str) -> Any:
        """Looks after the workers of %%pounce cells. Options after the names say which worker is meant, as in the cell.

        %pounce status           which workers this notebook has
        %pounce explain          what waits, why, and what Slurm says about it
        %pounce vars             the variables on the worker
        %pounce pull x,y         brings variables into the notebook
        %pounce push a,b         sends variables of the notebook
        %pounce restart          a new Python on the same worker: its variables are gone, its GPU stays
        %pounce release          gives all workers back
        """
        verb, asked, names = _usage(parse_verb, line)
        if verb in ("pull", "push") and not names:
            raise UsageError(f"%pounce {verb} takes names of variables, such as a,b")
        return getattr(self, f"_{verb}")(asked, names)

    def _status(self, asked: CellLine, names: tuple[str, ...]) -> None:
        ledgers = [(place, ledger) for place, ledger in self._ledgers.items() if ledger.worker]
        for place, ledger in ledgers:
            print(f"worker with {place}: {', '.join(sorted(ledger.entries)) or 'no variables'}")
        for job in self._jobs:
            print(job)
        if not ledgers and not self._jobs:
            print("no worker: the next %%pounce cell asks for one")

    def _explain(self, asked: CellLine, names: tuple[str, ...]) -> None:
        waiting = [job for job in self._jobs if job.state == "waiting"]
        for job in waiting:
            print(f"a cell in the background waits: {words_of(job.lease())}")
        if not waiting:
            print("nothing of this notebook waits")
        for row in self._the_client().queue():
            devices = f" on {row.node or 'no node yet'}{', ' + row.devices if row.devices else ''}"
            print(f"Slurm says: job {row.job} is {row.state}{f' ({row.reason})' if row.reason not in ('', 'None') else ''}{devices}")

    def _vars(self, asked: CellLine, names: tuple[str, ...]) -> None:
        for name, kind, more in wait(self._at(asked.place).submit(runner.variables)):  # type: ignore[misc]
            print(f"{name:20} {kind} {more}".rstrip())

    def _pull(self, asked: CellLine, names: tuple[str, ...]) -> None:
        reply = self._exchange(CellLine(asked.place, (), names), (), "")
        self._bring(reply, self._ledger(asked.place))

    def _push(self, asked: CellLine, names: tuple[str, ...]) -> None:
        self._require(names)
        self._exchange(CellLine(asked.place, names), names, "")

    def _restart(self, asked: CellLine, names: tuple[str, ...]) -> None:
        ledger = self._ledger(asked.place)
        running = [job for job in self._jobs if job.place == asked.place and job.state == "running"]
        if not running and not ledger.worker:
            raise UsageError(f"this notebook has no worker with {asked.place}; %pounce status names those it has")
        for job in running:
            job.end_python()
        if not running:
            with contextlib.suppress(errors.WorkerCrashed):  # as it was told to
                wait(self._at(asked.place).submit(runner.end_python))
        lost = ledger.forget()
        say("the worker has a new Python" + (f"; {', '.join(sorted(lost))} went with the old one" if lost else ""))

    def _release(self, asked: CellLine, names: tuple[str, ...]) -> None:
        self._ledgers.clear()
        self._jobs.clear()
        if self._client is not None:
            self._client.close()
            self._client = None

    # ---- helpers ----

    def _number(self) -> int:
        """Of the cell that runs; IPython's own count is one ahead in some versions."""
        return self.shell.displayhook.prompt_count

    def _message(self) -> str:
        """The id of the message that the cell came in; "" where there are no messages."""
        kernel = getattr(self.shell, "kernel", None)
        parent = kernel.get_parent("shell") if kernel is not None else {}
        return str(parent.get("header", {}).get("msg_id", ""))

    def cell_ended(self, result: Any) -> None:
        for ledger in self._ledgers.values():
            ledger.cell_ended(self.shell.user_ns, result.execution_count or 0)

    def _the_client(self) -> Client:
        if self._client is None:
            self._client = Client(cancel_grace=_NEVER_S)
        return self._client

    def _at(self, place: Place) -> Any:
        return self._the_client().options(**place.words())

    def _ledger(self, place: Place) -> Ledger:
        return self._ledgers.setdefault(place, Ledger())

    def _on_workers(self) -> set[str]:
        """The names of variables that workers hold, as far as is known here."""
        return {name for ledger in self._ledgers.values() for name in ledger.entries}


def _usage(parse: Any, line: str) -> Any:
    try:
        return parse(line)
    except errors.BadRequest as error:
        raise UsageError(str(error)) from None
