"""``%pounce attach [NAME]``: shows a cell that goes on without its kernel, and takes its variables."""

from __future__ import annotations

import os
import time

from IPython.core.error import UsageError

from .. import errors
from .._common.cell_protocol import CellEnd
from .._common.names_shown import persons
from .._engine.display import Shown
from ..kept import attached as of_any_process
from ..kept import records
from ..kept.attached import Attached
from ..kept.command import table
from ..kept.records import Record
from . import saved_states
from .notebook_state import NotebookState, notebook
from .options_line import CellLine
from .remote import Remote
from .stop import say
from .traceback import in_words

_SAVED_S, _LOOK_S = 60.0, 1.0


def register(remote: Remote) -> None:
    """From now on ``pounce.attach`` takes variables for this notebook too."""
    of_any_process.taken = lambda attached: take_variables(remote, CellLine(), attached)


def run(remote: Remote, line: CellLine, names: tuple[str, ...]) -> Shown | None:
    root = of_any_process.found_root()
    if line.lists:
        print(table(records.records(root)))
        return None
    if len(names) > 1:
        raise UsageError("%pounce attach takes one name")
    try:
        attached = Attached(records.find(root, names[0] if names else "", _is_this_notebooks))
    except errors.BadRequest as error:
        raise UsageError(str(error)) from None
    try:
        return attached.follow()
    except errors.LostError as error:
        raise in_words(error) from None
    except KeyboardInterrupt:
        if attached.record.end() is None:
            say(f"the cell goes on; %pounce attach {attached.name} follows it again")
        raise


def take_variables(remote: Remote, line: CellLine, attached: Attached) -> None:
    """Has what the cell left there for this notebook's next cells; a kernel that has run nothing on workers yet takes
    all variables of the notebook's last one."""
    end = attached.record.end()
    state = remote.workers.state(line.target)
    if end is None or end.state in ("", state.id):
        return
    root = remote.workers.saved_states_folder()
    saved = _saved(root, end)
    if saved is None:
        why = end.problem or "they were not saved"
        return say(f"the variables of the cell are not there: {why}") if end.assigned else None
    everything = not state.turn and _is_this_notebooks(attached.record)
    there = {*saved.names, *saved.manifest.modules}
    names = () if everything else tuple(name for name in end.assigned if name in there)
    for name in persons(end.assigned):
        if name not in there:
            say(f"{name} is not there: {saved.manifest.unparkable.get(name, 'it was not saved')}")
    if names or (everything and there):
        restore(remote, state, saved.id, names)


def restore(remote: Remote, state: NotebookState, source: str, names: tuple[str, ...]) -> None:
    """Names of a saved state, all if none is named, will be there for the next cell that reads them."""
    if remote.workers.is_there(state) and state.target is not None:  # what is restored goes there with the next cell
        problem = remote.workers.saved(state, state.target)
        if problem:
            raise UsageError(f"the worker's variables cannot be saved, so nothing is restored beside them: {problem}")
    remote.workers.make_folder(state)
    found = saved_states.restore(state, remote.workers.saved_states_folder(), source, names)
    state.ledger.assigned(found, remote.shell.user_ns, remote.number(), state.after)
    say(f"{', '.join(found)} will be there for the next cell that reads them")


def _saved(root: str, end: CellEnd) -> saved_states.Saved | None:
    """The state as the cell left it: its worker may still be saving that."""
    until = time.monotonic() + _SAVED_S
    while True:
        saved = next((one for one in saved_states.saved_states(root) if one.id == end.state), None)
        if saved is not None and saved.manifest.turn >= end.turn:
            return saved
        if saved is None or end.problem or time.monotonic() >= until:
            return None
        time.sleep(_LOOK_S)


def _is_this_notebooks(record: Record) -> bool:
    return os.fspath(record.about.get("notebook", "")) == notebook()
