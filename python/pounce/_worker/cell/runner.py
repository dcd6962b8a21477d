"""A ``%%pounce`` cell on a worker: a task that takes a request and returns a reply. Imported by reference."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..._common import bundle
from ..._common.cell_protocol import (
    SETTINGS,
    CallbacksReply,
    CellCode,
    CellReply,
    CellRequest,
    CellRun,
    NamespaceRequest,
)
from ..._common.names_shown import LAST
from ..._common.quiet_compile import python_of
from .. import interpreter, mlflow_runs
from ..state.live_reads import reached
from ..state.needs import source_reads
from ..steps import Left
from . import held, kept, packages, reloads
from .cell_reply import brought_back, error_of, shells
from .cell_streams import streams
from .comm_events import CommEvent
from .compile_clock import compiled_s
from .loops import Loops, rest
from .time_limit import TimeLimit

_shell: Any = None
_saved: Any = None  # the SavedNamespace of the shell
_last: Any = None  # its LastValues
_callbacks: Any = None  # its Callbacks
_holder = uuid.uuid4().hex  # this process's id
_absent = object()
_digests: dict[str, bytes] = {}  # of variables as the notebook sent them or a cell left them


def run_cell(request: CellRequest, pickle: Any, buffers: list[Any]) -> CellReply:
    """Runs the cell, unless `request` relies on variables or on a held worker, and this one is not that."""
    if request.held and not held.is_held():
        return CellReply(not_held=True)
    with held.cell():
        return _run_cell(request, pickle, buffers)


def _run_cell(request: CellRequest, pickle: Any, buffers: list[Any]) -> CellReply:
    code = request.code
    shell = _the_shell(code)
    reloads.follow()
    namespace, lacks = _unshared(shell, request, pickle, buffers)
    reply = CellReply(holder=_holder, turn=namespace.turn, unshared=namespace is not request.namespace, lacks=lacks)
    if _saved.lacks(namespace):
        lacks.append(SETTINGS)
    if lacks:
        return reply
    report = reply.namespace = _saved.enter(namespace, request.holder == _holder)
    if not report.ran:
        return reply
    names = shell.user_ns
    shells().know_files(code.files)
    if report.fresh:
        _digests.clear()
        streams.forget()
        mlflow_runs.let_go()
    reply.settings = _saved.follow(namespace.settings)
    if report.fresh:
        for number, source in namespace.setup:
            _set_up(shell, code, number, source)
        reply.namespace = replace(report, lost=_saved.still_lost(report.lost))
    values = bundle.loads(pickle, buffers)
    own_last = {name: values.pop(name) for name in LAST if name in values}
    _arrived(names, values)
    limit = TimeLimit(_saved.save_s, request.saves_at_limit)
    loops = Loops(request.loop, _saved if request.may_leave else None, limit, _stays(request))
    _saved.before(rest(_python(shell, code.source), loops.first()), request.reads, request.last)
    _callbacks.revive()
    _last.begin(request.last, own_last, request.inputs)
    with kept.cell(request, reply):
        if code.source:
            _run_source(shell, request, reply, loops, limit)
        brings = code.brings if reply.run.loop is None else ()  # a loop that is left returns them at its end
        _saved.load(brings)
        reply.missing = [name for name in brings if name not in names]
        _saved.after(code.number, namespace.turn)
        _callbacks.revive()
        reply.widgets = _callbacks.names()
    if reply.run.error is None:
        reply.bundle = brought_back(names, brings)
    return reply


def _stays(request: CellRequest) -> str:
    """Why no loop of this cell is left between two steps, for the user; empty: one may be, or it is something else."""
    if not request.may_ask:
        return "with --bg"
    return "in a cell that goes on without its kernel" if request.keeps is not None else ""


def _run_source(shell: Any, request: CellRequest, reply: CellReply, loops: Loops, limit: TimeLimit) -> None:
    streams.begin(request.random)
    mlflow_runs.begin_cell(request.code.origin)
    interpreter.log_into(mlflow_runs.run_now())
    try:
        reply.run = _run(shell, request, loops, limit)
    finally:
        interpreter.send_reports()
        reply.mlflow = mlflow_runs.end_cell()
        interpreter.log_into("")
    reply.random = streams.end() if request.may_ask else {}
    if request.setup:
        _saved.remade(reply.run.assigned)


def _unshared(shell: Any, request: CellRequest, pickle: Any, buffers: list[Any]) -> tuple[NamespaceRequest, list[str]]:
    """The request's namespace, with this worker's own folder if it does not see the notebook's, and the blobs that the
    kernel has to send first."""
    namespace, unshared = request.namespace, _saved.unshared
    folder = unshared.folder(namespace)
    if not folder:
        return namespace, []
    namespace = replace(namespace, folder=folder, patience_s=0.0)
    here = _saved.has(namespace.id, 0 if request.holder == _holder else namespace.after)
    pending = _saved.waiting(even_if_here=True) if here else None
    return namespace, unshared.lacks(namespace, pending, lambda: _reads(shell, request, pickle, buffers, here))


def _reads(shell: Any, request: CellRequest, pickle: Any, buffers: list[Any], here: bool) -> set[str] | None:
    """Names that the cell, and setup cells before it, may read."""
    values = bundle.loads(pickle, buffers)
    sources = [request.code.source, *(() if here else (source for _, source in request.namespace.setup))]
    read = [source_reads(_python(shell, source)) for source in sources]
    names: set[str] = {*request.reads, *request.code.brings}
    for one in read:
        if one is None:
            return None
        names |= one
    return reached(names, {**shell.user_ns, **values})


def _run(shell: Any, request: CellRequest, loops: Loops, limit: TimeLimit) -> CellRun:
    names, code = shell.user_ns, request.code
    before, compiled = dict(names), compiled_s()
    restored = (set(request.reads) & names.keys()) - _digests.keys()
    _digests.update({name: _digest(names[name]) for name in restored})
    began, imported = interpreter.runner.so_far() if interpreter.runner is not None else (0.0, 0.0)
    with loops.of(shell), limit.over_code():
        result = shells().run(shell, code.source, code.number, request.may_ask, code.message,
                              magic_line=not request.held, holds=True)
    below = shell.display_pub.take()
    _callbacks.run_waiting()
    error = limit.error_of(shell, result.error_before_exec or result.error_in_exec)
    if isinstance(error, KeyboardInterrupt) and interpreter.core.ending():
        raise error  # the job ends, and the user did not press stop: pounced says why
    shown = shell.displayhook.take()
    own = [name for name in names if not name.startswith("_") and name not in shell.user_ns_hidden]
    assigned = [name for name in own if names[name] is not before.get(name, _absent)]
    assigned += _changed_in_place(names, set(request.reads) - set(assigned))
    deleted = [name for name in before if name not in names]
    if packages.installs(code.source):
        print(f"pounce: {packages.note()}", flush=True)
    if isinstance(error, Left):
        run = CellRun(shown, below, assigned, deleted, loop=loops.state(error.steps))
    else:
        run = CellRun(shown, below, assigned, deleted, error=error_of(shell, error) if error is not None else None,
                      at_limit=limit.reached)
    return replace(run, code_began=began, imported=imported, compiled=compiled_s() - compiled)


def _set_up(shell: Any, cell: CellCode, number: int, source: str) -> None:
    """Runs a setup cell, which runs on each new worker before all others. Its variables are not restored."""
    code, before = _python(shell, source), dict(shell.user_ns)
    _saved.before(code)
    result = shells().run(shell, source, number, asks=False, message=cell.message)
    _saved.remade([name for name, value in shell.user_ns.items() if value is not before.get(name, _absent)])
    error = result.error_before_exec or result.error_in_exec
    if error is not None:
        print(f"pounce: the setup cell {number} failed on this worker: {type(error).__name__}: {error}", flush=True)


def _python(shell: Any, source: str) -> str:
    """The source as IPython runs it; empty: it cannot run."""
    try:
        return python_of(shell, source)
    except SyntaxError:
        return ""


def _arrived(names: dict[str, Any], values: dict[str, Any]) -> None:
    names.update(values)
    _saved.arrived(values)
    _digests.update({name: _digest(value) for name, value in values.items()})


def _changed_in_place(names: dict[str, Any], read: set[str]) -> list[str]:
    """The notebook's variables that the cell read and changed in place. Assigned ones are the worker's own."""
    changed = []
    for name in sorted(read & _digests.keys() & names.keys()):
        digest = _digest(names[name])
        if digest != _digests[name]:
            changed.append(name)
        _digests[name] = digest
    return changed


def _digest(value: Any) -> bytes:
    try:
        return bundle.measure(value).digest
    except Exception:  # it cannot be sent any more, so it has changed
        return uuid.uuid4().bytes


def variables(_: Any = None) -> list[tuple[str, str, str]]:
    """(name, type, a short text) of the user's variables in the namespace."""
    hidden = _shell.user_ns_hidden if _shell is not None else {}
    rows = []
    for name, value in sys.modules["__main__"].__dict__.items():
        if not name.startswith("_") and name not in hidden:
            rows.append((name, type(value).__name__, _shape_of(value)))
    waiting = _saved.waiting() if _saved is not None else ()
    rows += [(name, "saved", "the next cell that reads it restores it") for name in waiting]
    return sorted(rows)


def _shape_of(value: Any) -> str:
    """Empty also where the object does not say it: what it computes for that may fail."""
    try:
        shape = getattr(value, "shape", None)
        return f"shape {tuple(shape)}" if isinstance(shape, tuple) else ""
    except Exception:
        return ""


def leave(state: str, whole: bool = False) -> str:
    """Saves all of a notebook's namespace, and forgets it. If that fails it forgets nothing and returns why. `whole`:
    one variable that cannot be saved is a failure."""
    return _saved.leave(state, whole) if _saved is not None else ""


def begin() -> None:
    """Does nothing: the call gets a worker for the cells that follow."""


def run_callbacks(events: Sequence[CommEvent]) -> CallbacksReply:
    """Runs the callbacks of widgets, between two cells."""
    if _callbacks is None:
        return CallbacksReply([event.number for event in events])
    reply: CallbacksReply = _callbacks.run(events)
    return reply


def hold(wanted: bool) -> None:
    """The notebook holds this worker from now on, or no longer."""
    held.hold(wanted)


def saved_namespace() -> Any:
    """The SavedNamespace of this worker's cells; None: none has run here."""
    return _saved


def end_python() -> None:
    """Ends this process; the supervisor starts another at once."""
    if _saved is not None:
        _saved.unshared.end()
    os._exit(0)


def _the_shell(code: CellCode) -> Any:
    global _shell, _saved, _last, _callbacks
    if _shell is None:
        shell = shells()
        from .callbacks import Callbacks
        from .last_values import LastValues
        from .looks import Looks
        from .saved_namespace import SavedNamespace

        _shell = shell.the_only(page=bool(code.message), colors=code.colors)
        _last = LastValues(_shell)
        _saved = SavedNamespace(_shell.user_ns, _shell.user_ns_hidden, _holder, _last)
        interpreter.between_tasks, interpreter.at_the_end = _saved.idle, _saved.leave_worker
        interpreter.cells = streams
        _callbacks = Callbacks(_shell, _saved)
        _callbacks.begin()
        Looks(_shell, _callbacks.take).begin()
    return _shell
