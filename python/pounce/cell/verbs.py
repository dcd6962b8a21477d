"""The verbs of ``%pounce VERB``, which manage the workers of the cells."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError
from IPython.display import display

from .. import _core, errors
from .._engine.shell import has_page
from .._engine.status_line import words_of
from .._tables.text_table import padded
from .._worker.cell import runner
from ..calls import asks_of, session_of
from ..panels.notebook import panel_of
from . import attaching, batch, explanation, holding, saved_states, served
from .notebook_state import NotebookState
from .options_line import CellLine, checked_hold
from .remote import Remote
from .stop import say, wait
from .timings.records import timings
from .timings.table import table_of


def _status(remote: Remote, line: CellLine, names: tuple[str, ...]) -> None:
    states = [state for state in remote.workers.states.values() if state.holder and state.target is not None]
    hold = remote.hold
    if hold is not None:
        print(f"this notebook holds {hold.words()}: {hold.used()}" if hold.is_there
              else f"the hold is over: {hold.why().text}")
    for state in states:
        print(_state_words(remote, state))
    for job in remote.jobs:
        print(job)
    pools = remote.workers.pools()
    for pool in pools:
        print(_core.printable(f"pool: {pool}"))
    if not states and not remote.jobs and not pools and hold is None:
        print("no worker: the next %%pounce cell asks for one")


def _state_words(remote: Remote, state: NotebookState) -> str:
    assert state.target is not None
    names = ", ".join(sorted(state.ledger.entries)) or "no variables"
    if remote.workers.is_there(state):
        loading = remote.workers.loading(state)
        return f"worker with {state.target}: {names}{f' (it is loading {loading})' if loading else ''}"
    view = remote.workers.at(state.target, state)
    gone = session_of(view).gone(asks_of(view).resources)
    kept = "they went with it" if state.problem else "they are saved, and the next worker restores what a cell reads"
    return f"the worker with {state.target} is gone{f' ({gone})' if gone else ''}: {names} ({kept})"


def _explain(remote: Remote, line: CellLine, names: tuple[str, ...]) -> None:
    for name in names:
        try:
            print(explanation.by_hand_of(name))
        except errors.BadRequest as error:
            raise UsageError(str(error)) from None
    if not names:
        _explain_waiting(remote)


def _explain_waiting(remote: Remote) -> None:
    waiting = [job for job in remote.jobs if job.state == "waiting"]
    for job in waiting:
        print(_core.printable(f"a cell in the background waits: {words_of(job.lease())}"))
        for choice in job.choices():
            print(_core.printable(f"  {choice}"))
    if not waiting:
        print("nothing of this notebook waits")
    for row in remote.workers.client().queue():
        devices = f" on {row.node or 'no node yet'}{', ' + row.devices if row.devices else ''}"
        reason = f" ({row.reason})" if row.reason not in ("", "None") else ""
        print(_core.printable(f"Slurm says: job {row.job} is {row.state}{reason}{devices}"))


def _vars(remote: Remote, line: CellLine, names: tuple[str, ...]) -> None:
    state = remote.workers.state(line.target)
    for name, kind, more in wait(remote.workers.at(state.target or line.target).submit(runner.variables)):
        print(f"{padded(name, 20)} {kind} {more}".rstrip())


def _pull(remote: Remote, line: CellLine, names: tuple[str, ...]) -> None:
    where, reply = remote.exchange(CellLine(line.target, (), names), (), "")
    remote.bring(reply, remote.workers.state(where.target))


def _push(remote: Remote, line: CellLine, names: tuple[str, ...]) -> None:
    remote.require(names)
    remote.exchange(CellLine(line.target, names), names, "")


def _restart(remote: Remote, line: CellLine, names: tuple[str, ...]) -> None:
    state = remote.workers.state(line.target)
    target = state.target or line.target
    running = [job for job in remote.jobs if job.target == target and job.state == "running"]
    if not running and not remote.workers.is_there(state):
        raise UsageError("this notebook has no worker now; %pounce parked names what is saved")
    for job in running:
        job.end_python()
    if not running:
        with contextlib.suppress(errors.WorkerCrashed):  # expected
            wait(remote.workers.at(target).submit(runner.end_python))
    if remote.hold is not None and remote.hold.state is state:
        remote.hold_again()
    lost = state.ledger.back_to(-1)
    remote.workers.transfer.forget(state)
    state.remove()
    state.begin()
    say("the worker has a new Python" + (f"; {', '.join(sorted(lost))} went with the old one" if lost else ""))


def _hold(remote: Remote, line: CellLine, names: tuple[str, ...]) -> None:
    try:
        checked_hold(line, names)
        holding.off(remote) if line.off else holding.begin(remote, line)
    except errors.BadRequest as error:
        raise UsageError(str(error)) from None


def _release(remote: Remote, line: CellLine, names: tuple[str, ...]) -> None:
    holding.release(remote)


def _parked(remote: Remote, line: CellLine, names: tuple[str, ...]) -> None:
    state = remote.workers.state(line.target)
    if line.remakes:
        return saved_states.remake(state, line.remakes)
    print(saved_states.table(remote.workers.states.values(), remote.workers.saved_states_folder()))


def _restore(remote: Remote, line: CellLine, names: tuple[str, ...]) -> None:
    attaching.restore(remote, remote.workers.state(line.target), line.source, names)


def _settings(remote: Remote, line: CellLine, names: tuple[str, ...]) -> None:
    print(remote.settings.table())


def _batch(remote: Remote, line: CellLine, names: tuple[str, ...]) -> Any:
    return batch.run(remote, line.words)


def _panel(remote: Remote, line: CellLine, names: tuple[str, ...]) -> Any:
    return panel_of(remote)


def _serve(remote: Remote, line: CellLine, names: tuple[str, ...]) -> None:
    try:
        print(served.line(line.words))
    except errors.PounceError as error:
        raise UsageError(str(error)) from None


def _timings(remote: Remote, line: CellLine, names: tuple[str, ...]) -> None:
    try:
        shown = table_of(line.words, timings())
    except errors.BadRequest as error:
        raise UsageError(str(error)) from None
    if isinstance(shown, str) or not has_page():
        return print(shown)
    display(shown)


VERBS: dict[str, Callable[[Remote, CellLine, tuple[str, ...]], Any]] = {
    "status": _status, "explain": _explain, "vars": _vars, "pull": _pull, "push": _push, "parked": _parked,
    "restore": _restore, "restart": _restart, "hold": _hold, "release": _release, "batch": _batch,
    "settings": _settings, "serve": _serve, "panel": _panel, "timings": _timings, "attach": attaching.run}
