"""One notebook's cells on its workers: what travels in both directions, and what runs in the background."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import linecache
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from types import FunctionType
from typing import Any, TypeAlias

from .. import errors
from .._common import bundle
from .._common.byte_size import size
from .._common.cell_protocol import (
    SETTINGS,
    CellCode,
    CellError,
    CellReply,
    CellRequest,
    LoopState,
    NamespaceReport,
    NamespaceRequest,
)
from .._common.local_modules import is_installed_path
from .._common.names_shown import LAST
from .._common.quiet_compile import python_of
from .._engine import changed_settings, mlflow_runs, seeds
from .._engine.display import Shown, show_below
from .._engine.options import Options
from .._engine.progress.running_line import RunningLine
from .._worker.cell import runner
from .._worker.state.live_reads import reached
from ..calls import session_of
from ..future import engine_of
from ..kept.records import Record
from . import cell_history, keeping
from .background import Again, CellJob, CellOutput, PutBehind, Waiting
from .gang_cells import GangCells
from .hold import Hold
from .ledger import Parcel
from .loaded_modules import LoadedModules
from .names import assigned, is_import, is_ipythons
from .notebook_state import NotebookState
from .options_line import CellLine
from .stop import KernelLeaves, LeftBehind, say, wait
from .target import Target
from .timings.records import Stopwatch
from .traceback import remote_error
from .workers import Reached, Workers

_PYTHON_DIED = (errors.WorkerCrashed, errors.OutOfMemory)
_DEATHS = (*_PYTHON_DIED, errors.NodeFailed, errors.LostError)
_Call: TypeAlias = "tuple[CellRequest, bytes, list[Any]]"  # the arguments of run_cell


class Remote:
    def __init__(self, shell: Any):
        self.shell = shell
        self.modules = LoadedModules(shell)
        self.workers = Workers(self.modules)
        self.jobs: list[CellJob] = []
        self.settings = changed_settings.ours
        self.settings.tell = say
        self.hold: Hold | None = None
        self.gang_cells = GangCells(shell, self.modules)
        self.waiting: Waiting | None = None  # for the cell that the notebook waits for
        self.ask_use: Callable[[NotebookState], Any] = lambda state: None  # what its worker's lease uses; looks set it
        self.cell_over: Callable[[NotebookState], None] = lambda state: None  # called when a cell has run; any thread
        self.released: Callable[[], None] = lambda: None  # called when all workers were given back
        # Whose worker runs the cell that the notebook waits for, and with which target.
        self._front: tuple[NotebookState, Target] | None = None
        # For a task that must not stand behind a cell: held while it is sent, from before is_running().
        self.sending = threading.Lock()

    # ---- cells ----

    def run(self, line: CellLine, wanted: Any, source: str) -> Shown | None:
        record = self._record(line, source)
        with keeping.noted(record), Stopwatch(self.number()).to_the_end(PutBehind) as watch:
            line, reply = self.exchange(line, wanted, source, watch, record)
            if reply.not_kept:
                say(keeping.not_all(reply.not_kept))
            show_below(reply.run.below)
            return self._booked(line, self.number(), reply)

    def run_on_ranks(self, line: CellLine, wanted: Any, source: str) -> Shown | None:
        own = self.own()
        functions = (own[name] for name in wanted if isinstance(own[name], FunctionType))
        files = self._files_of({function.__code__.co_filename for function in functions})
        with Stopwatch(self.number()).to_the_end() as watch:
            return self.gang_cells.run(line, wanted, self._code(line, source, self.number(), files), watch)

    def _code(self, line: CellLine, source: str, number: int, files: dict[str, tuple[int, str]]) -> CellCode:
        origin = mlflow_runs.of_cell(line.target.options.resources.class_,
                                     lambda: session_of(self.workers.client()).launcher)
        return CellCode(source, number, line.brings, self.shell.colors, self._message(), files, origin)

    def _booked(self, line: CellLine, number: int, reply: CellReply) -> Shown | None:
        """Records what the cell did in the ledger. Returns its value or raises its error."""
        state, run = self.workers.state(line.target), reply.run
        self._changed(state, number, reply)
        state.out_of_time |= run.at_limit and not state.held
        if run.error is not None:
            raise remote_error(run.error, self._hint(run.error, line.target))
        if line.setup:
            state.note_setup(number)
        self.bring(reply, state)
        return Shown(*run.shown, number) if run.shown is not None else None

    def _changed(self, state: NotebookState, number: int, reply: CellReply) -> None:
        state.ledger.assigned(reply.run.assigned, self.shell.user_ns, number, reply.turn)
        state.ledger.removed(reply.run.deleted, self.shell.user_ns, number, reply.turn)

    def is_ours(self, name: str) -> bool:
        """A variable of the user's, not of IPython's."""
        return name in self.shell.user_ns and not is_ipythons(name, self.shell.user_ns_hidden)

    def _record(self, line: CellLine, source: str) -> Record | None:
        session = session_of(self.workers.client())
        return keeping.begun(session, line, source, self.number(), self.workers.state(line.target))

    def exchange(self, line: CellLine, wanted: Any, source: str, watch: Stopwatch | None = None,
                 record: Record | None = None) -> tuple[CellLine, CellReply]:
        """Sends the source and what the worker lacks. Sends again, with more, if a new worker lacks more. Returns
        also the line as it would have been for the worker that ran it. `watch`: of a cell with code."""
        number, loop, sent, stays = self.number(), None, None, False
        while True:
            if sent is None:
                line = self.workers.for_line(line)
                state = self.workers.state(line.target)
                sent = self._packed(line, wanted, source, number, record, loop, stays)
            parcel, words = sent
            reply: CellReply | None = None
            with self._in_front(state, line.target):
                future = self._view(line).submit(runner.run_cell, *words)
                if line.held and self.hold is not None:
                    self.hold.waits_for(future)
                if self.waiting is not None:
                    self.waiting.waits_for(future)
                engine_of(future)[1].running_line = RunningLine(functools.partial(self.ask_use, state))
                try:
                    with contextlib.nullcontext() if state.held else \
                            self.workers.successors.watching(state, self.workers.client(state), line.target):
                        reply = wait(future, KernelLeaves(self.shell) if record is not None else None)
                except LeftBehind:
                    output = CellOutput(self.shell)
                    session, task = engine_of(future)
                    session.show_at(task, output)
                    self._goes_on(line, number, parcel, words, future, output, None, record)
                    seeds.cell_left_behind()
                    raise KeyboardInterrupt("the cell was left to itself; %pounce restart ends its Python") from None
                except errors.Cancelled:
                    if self.waiting is not None and self.waiting.leaves:
                        raise PutBehind from None
                    raise
                except _DEATHS as error:
                    state.crashed |= not _was_refused(error)
                    raise
                finally:
                    if watch is not None:
                        watch.ran(future, reply)
            assert reply is not None
            if reply.not_held:
                raise errors.Cancelled("the cell has not run: its worker is not the one that this notebook held",
                                       "%pounce hold takes another one, and this cell runs there.")
            came = self.where_it_ran(line, future)
            if reply.lacks:
                line, state.target = came, came.target
                self._give(state, words[0].namespace, reply.lacks)
                continue
            sent = None
            if not self._has_run(state, came, parcel, reply):
                if loop is not None:
                    raise errors.LeaseEnded(f"{_left_after(loop)}, and what it had done went with that worker",
                                            "Run the cell again.")
                line = came
                continue
            seeds.cell_has_run(reply.random)
            mlflow_runs.cell_left(reply.mlflow)
            if reply.run.loop is None:
                return came, reply
            self._changed(state, number, reply)
            loop = reply.run.loop
            say(f"{_left_after(loop)}; the cell goes on with the next worker")
            stays = not self.workers.left(state, came.target)  # the cell turned out to be bound to its worker

    @contextlib.contextmanager
    def _in_front(self, state: NotebookState, target: Target) -> Iterator[None]:
        with self.sending:
            self._front = (state, target)
        try:
            yield
        finally:
            self._front = None
            self.cell_over(state)

    def waits_for_cell(self) -> bool:
        """Whether the notebook waits for a cell on any worker."""
        return self._front is not None

    def is_running(self, state: NotebookState) -> bool:
        """Whether a cell runs on its worker, or waits for it."""
        front = self._front is not None and self._front[0] is state
        return front or any(job.target == state.target for job in self.jobs if job.state != "done")

    def reached(self, state: NotebookState) -> Reached | None:
        """Its worker, if that is there now, also while its first cell runs."""
        front = self._front
        return self.workers.reached(state, front[1] if front is not None and front[0] is state else None)

    def _give(self, state: NotebookState, namespace: NamespaceRequest, lacks: list[str]) -> None:
        """Gives the worker what it lacks for a request; the settings travel with the next attempt."""
        if SETTINGS in lacks:
            namespace.settings = self.settings.since(0)
        blobs = [blob for blob in lacks if blob != SETTINGS]
        if blobs:
            self.workers.transfer.give(state, namespace, blobs)

    def _has_run(self, state: NotebookState, came: CellLine, parcel: Parcel, reply: CellReply) -> bool:
        """Returns False if nothing ran: the worker is a new one and lacks something that the cell counted on."""
        state.target, report = came.target, reply.namespace
        if report.fresh:
            self._tell_lost(state, report)
        if not report.ran:
            state.after = report.turn
            return False
        if report.problem and report.problem != state.problem:
            say(f"the variables of this worker are not saved: {report.problem}")
        state.has_run(reply.turn, reply.holder, report.problem)
        state.settings = reply.settings
        state.widgets |= reply.widgets
        state.ledger.arrived(parcel)
        if reply.unshared:
            has_kernel = getattr(self.shell, "kernel", None) is not None
            self.workers.transfer.ran(state, CellOutput(self.shell) if has_kernel else None)
        elif state.unshared:
            self.workers.transfer.sees_folder(state)
        return True

    def _tell_lost(self, state: NotebookState, report: NamespaceReport) -> None:
        """Tells the user which variables of the last worker the new one does not have."""
        lost = state.ledger.back_to(report.turn if report.turn < state.after else state.turn)
        if lost and report.turn:
            say(f"this is a new worker, and what was saved is as it was after cell {report.cell}: "
                f"later changes of {', '.join(sorted(lost))} went with the last one")
        elif lost:
            why = f": {report.problem}" if report.problem else ""
            say(f"this is a new worker: {', '.join(sorted(lost))} of earlier cells went with the last one{why}")
        for name, (why, cell) in sorted(report.lost.items()):
            state.ledger.deleted([name])
            say(f"{name} (cell {cell}) went with the last worker: {why}")

    def _packed(self, line: CellLine, wanted: Any, source: str, number: int, record: Record | None,
                loop: LoopState | None = None, stays: bool = False) -> tuple[Parcel, _Call]:
        """What travels, and the arguments of `run_cell`. `loop`: the cell continues in the middle of it. `stays`: no
        loop may be left again."""
        state = self.workers.state(line.target)
        self.workers.make_folder(state)
        settings = self.settings.since(state.settings)
        namespace = state.next_request(session_of(self.workers.client()).parked_most_bytes, settings)
        last, user_ns = cell_history.last_on_workers(wanted, self.shell), self.shell.user_ns
        own_last = {name: user_ns[name] for name in LAST if name in user_ns and name not in last}
        state.ledger.deleted(LAST)
        parcel = state.ledger.parcel(set(wanted) - last.keys(), self.own() | own_last, number, namespace.turn,
                                     forced=line.sends is not None)
        if loop is not None:
            parcel = parcel.of_the_rest()
        request = CellRequest(
            self._code(line, source, number, self._files_of(parcel.files)), namespace, state.holder,
            reads=sorted(parcel.names), setup=line.setup, held=line.held, may_ask=not line.background,
            may_leave=not (line.background or state.held or stays or record), saves_at_limit=line.saves_at_limit,
            random=seeds.of_cell(waits=not line.background), loop=loop,
            last=last, inputs=cell_history.inputs(source, self.shell, state.cells),
            keeps=keeping.request(session_of(self.workers.client()), record))
        state.cells[number] = source
        self._tell(parcel)
        return parcel, (request, *bundle.dumps(parcel.values, by_file=True))

    def run_behind(self, line: CellLine, wanted: Any, source: str) -> CellJob | None:
        number, output = self.number(), CellOutput(self.shell)
        record, watch = self._record(line, source), Stopwatch(number)
        with keeping.noted(record):
            line = self.workers.for_line(line)
            parcel, words = self._packed(line, wanted, source, number, record)
            with self.sending:
                future = self._sent_behind(line, words, output)
                job = self._goes_on(line, number, parcel, words, future, output, watch, record)
        if not line.name:
            return job
        self.shell.push({line.name: job})
        return None

    def _sent_behind(self, line: CellLine, words: _Call, output: CellOutput) -> Any:
        view = self._view(line)
        session = session_of(view)
        with session.events_held_back():
            future = view.submit(runner.run_cell, *words)
            session.show_at(engine_of(future)[1], output)
        return future

    def _goes_on(self, line: CellLine, number: int, parcel: Parcel, words: _Call, future: Any,
                 output: CellOutput, watch: Stopwatch | None, record: Record | None) -> CellJob:
        state = self.workers.state(line.target)
        state.ledger.arrived(parcel)  # before the cells that come behind it
        state.after, state.target = state.turn, line.target

        def ended(future: Any) -> Shown | None:
            with watch.to_the_end(Again) if watch is not None else contextlib.nullcontext():
                return keeping.noting(record, lambda: self._ended_behind(state, line, number, parcel, words, future,
                                                                         output, watch))

        target = lambda: self.where_it_ran(line, future).target  # noqa: E731
        job = CellJob(self.workers.at(line.target), target, future, output, ended, record is not None,
                      lambda: self.cell_over(state))
        self.jobs = [*(old for old in self.jobs if old.state != "done"), job]
        return job

    def _ended_behind(self, state: NotebookState, line: CellLine, number: int, parcel: Parcel, words: _Call,
                      future: Any, output: CellOutput, watch: Stopwatch | None) -> Shown | None:
        reply: CellReply | None = None
        try:
            reply = future.result()
        except BaseException as error:
            state.ledger.withdraw(parcel)  # it may or may not have arrived
            state.crashed |= isinstance(error, _DEATHS) and not _was_refused(error)
            if state.held and python_died(error):
                self.hold_again()
            raise
        finally:
            if watch is not None:
                watch.ran(future, reply)
        assert reply is not None
        if reply.lacks:
            raise Again(lambda: self._give(state, words[0].namespace, reply.lacks),
                        lambda: self._sent_behind(line, words, output))
        came = self.where_it_ran(line, future)
        for message in reply.run.below:
            output.message(message, [])
        if reply.not_kept:
            output.printed(True, f"pounce: {keeping.not_all(reply.not_kept)}\n".encode())
        if self._has_run(state, came, parcel, reply):
            if reply.run.loop is not None:
                self._changed(state, number, reply)
                raise errors.LeaseEnded(_left_after(reply.run.loop),
                                        "Nobody waits for the cell, so it does not go on: run its rest.")
            return self._booked(came, number, reply)
        state.ledger.withdraw(parcel)
        text = "the cell did not run: its worker is a new one, and lacks variables that it counted on"
        raise errors.LeaseEnded(text, "Run the cell again.")

    def own(self) -> dict[str, Any]:
        hidden = self.shell.user_ns_hidden
        return {name: value for name, value in self.shell.user_ns.items() if not is_ipythons(name, hidden)}

    def _files_of(self, names: Iterable[str]) -> dict[str, tuple[int, str]]:
        """Those of the files that are cells: number and text."""
        cells = self.shell.compile._filename_map
        return {name: (cells[name], "".join(linecache.getlines(name))) for name in names if name in cells}

    def _tell(self, parcel: Parcel) -> None:
        for note in parcel.notes:
            say(note)
        if parcel.sizes:
            say("sent " + ", ".join(f"{name} ({size(nbytes)})" for name, nbytes in sorted(parcel.sizes.items())))
        if parcel.unchecked:
            say(f"not fully checked for changes, being large: {', '.join(sorted(parcel.unchecked))} "
                "(--in sends them again)")

    def bring(self, reply: CellReply, state: NotebookState) -> None:
        if reply.missing:
            raise NameError(f"the worker has no variable {', '.join(reply.missing)}")
        values = bundle.loads(*reply.bundle)
        self.shell.push(values)
        state.ledger.brought(values, self.shell.user_ns)

    def require(self, names: Any) -> None:
        missing = [name for name in names if name not in self.shell.user_ns]
        if missing:
            raise NameError(f"the notebook has no variable {', '.join(missing)}")

    def require_here(self, names: Iterable[str]) -> None:
        """For work that runs elsewhere: checks that everything `names` read, themselves or through functions, is in the
        notebook and no older than on a worker.

        Raises
        ------
        BadRequest
        """
        read = reached(names, self.shell.user_ns)
        for state in self.workers.states.values():
            away = sorted(name for name in read if state.ledger.is_later(name) and not self._is_imported(name))
            if away:
                on = f" --on {state.target.on}" if state.target is not None and state.target.on else ""
                are = "is" if len(away) == 1 else "are"
                raise errors.BadRequest(f"{', '.join(away)} {are} on the worker: "
                                        f"%pounce pull {','.join(away)}{on} first")

    def _is_imported(self, name: str) -> bool:
        return self.is_ours(name) and is_import(self.shell.user_ns[name])

    def _hint(self, error: CellError, target: Target) -> str:
        """Why a name or a module is not on the worker although the user knows it."""
        name = error.name
        if name is None:
            return ""
        if error.type == "ModuleNotFoundError":
            return f"The notebook has it: %pip install {name} in a %%pounce cell installs it." if _is_here(name) else ""
        entry = self.workers.state(target).ledger.entries.get(name)
        if entry is not None and entry.is_gone:
            return ""
        if self.is_ours(name):
            return f"{name} is a variable of the notebook that was not sent: --in {name} sends it."
        mine = self.workers.state(target)
        elsewhere = [state.target for state in self.workers.states.values()
                     if state is not mine and name in state.ledger.entries]
        if not elsewhere:
            return ""
        return f"{name} is on the worker with {elsewhere[0]}: bring it here with %pounce pull {name} and those."

    def number(self) -> int:
        """The number of the running cell; IPython's own count is one ahead in some versions."""
        return self.shell.displayhook.prompt_count

    def _message(self) -> str:
        """The id of the message that the cell came in; "" where there are no messages."""
        kernel = getattr(self.shell, "kernel", None)
        parent = kernel.get_parent("shell") if kernel is not None else {}
        return str(parent.get("header", {}).get("msg_id", ""))

    def cell_ended(self, result: Any) -> None:
        self.modules.edited()  # while the files are still as this cell has loaded them
        names = self._assigned(result) if self.workers.states and self.hold is None else set()
        for state in self.workers.states.values():
            state.ledger.cell_ended(self.shell.user_ns, result.execution_count or 0, names)

    def _assigned(self, result: Any) -> set[str]:
        try:
            return assigned(python_of(self.shell, result.info.raw_cell))
        except Exception:  # it is no Python code
            return set()

    def _view(self, line: CellLine) -> Any:
        view = self.workers.at(line.target)
        return view.options(wait_policy=[str(step) for step in line.instead]) if line.instead else view

    def where_it_ran(self, line: CellLine, future: Any) -> CellLine:
        """The line of the worker that ran the cell: instead of waiting it may have requested another."""
        asks = replace(engine_of(future)[1].asks or Options(), wait_policy=())
        if asks == line.target.options:
            return line
        return replace(line, target=replace(line.target, options=asks), instead=())

    def submitted(self, line: CellLine, function: Callable[..., Any], *arguments: Any) -> tuple[CellLine, Any]:
        """Submits a call that is not a cell's to the worker of a line. Returns that worker's line, and the future."""
        line = self.workers.for_line(line)
        return line, self._view(line).submit(function, *arguments)

    def hold_again(self) -> None:
        """The held worker has a new Python, which does not know that it is held. Any thread, does not block."""
        hold = self.hold
        if hold is not None and hold.lease.state != "ended":
            hold.waits_for(self.workers.at(hold.target, hold.state).submit(runner.hold, True))

    def end_hold(self) -> None:
        """Cells run in the notebook again. The worker is not told."""
        if self.hold is not None:
            self.hold.end()
        self.hold = None

    def release(self) -> None:
        """Gives all workers back, which save their variables first."""
        self.end_hold()
        for job in self.jobs:
            job.give_up()
        busy = {job.target for job in self.jobs if job.state != "done"}
        self.jobs.clear()
        self.gang_cells.close()
        self.workers.release(lambda state: state.target in busy)
        self.released()


def _left_after(loop: LoopState) -> str:
    of = f" of {loop.total}" if loop.total else ""
    why = "somebody waits for what its worker holds" if loop.why == "demand" else "the time of its worker ends"
    return f"the loop was left after {loop.position}{of} steps, since {why}"


def python_died(error: BaseException) -> bool:
    """Whether only the worker's Python died: the lease may continue with a new one."""
    return isinstance(error, _PYTHON_DIED) and not _was_refused(error)


def _was_refused(error: BaseException) -> bool:
    """Whether the cell's data did not fit on the worker and was refused: the worker is as it was."""
    return isinstance(error, errors.OutOfMemory) and error.object != ""


def _is_here(module: str) -> bool:
    """Whether this Python has the module, from an installation."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return False
    return spec is not None and (spec.origin is None or is_installed_path(spec.origin))
