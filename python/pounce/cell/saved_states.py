"""The saved states of this user, for ``%pounce parked`` and ``%pounce restore``. Nothing here unpickles anything."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from IPython.core.error import UsageError

from .._common.byte_size import size
from .._common.names_shown import listed, persons
from .._tables.text_table import as_text
from .._worker.state import manifest
from .._worker.state.adoption import adopt
from .._worker.state.folder import Folder
from .._worker.state.key import key_of
from .._worker.state.manifest import Manifest
from .._worker.state.problems import StateError
from .notebook_state import ABOUT, NotebookState, notebook

_SHOWN_ID = 8
_MOST_ABOUT_BYTES = 4 * 1024 * 1024
_MOST_NAMES = 8


@dataclass
class Saved:
    """One state on the disk. `problem`: why it cannot be read."""

    id: str
    about: dict[str, Any]
    when: float = 0.0
    manifest: Manifest = field(default_factory=Manifest)
    problem: str = ""

    @property
    def nbytes(self) -> int:
        return sum(unit.nbytes() for unit in self.manifest.units)

    @property
    def names(self) -> list[str]:
        return persons(name for unit in self.manifest.units for name in unit.names)


def table(states: Iterable[NotebookState], root: str) -> str:
    """What is saved: this notebook's variables one by one, then other states, the newest first."""
    own = {state.id for state in states}
    found = saved_states(root)
    parts = [_of_notebook(saved) for saved in found if saved.id in own and saved.when]
    others = [saved for saved in found if saved.id not in own and saved.when]
    if others:
        head = ("id", "notebook", "size", "after cell", "when", "variables")
        parts.append(as_text([head, *map(_row, others)])
                     + "\n%pounce restore brings them: of this notebook's last kernel, or --from ID")
    return "\n\n".join(parts) or ("nothing is saved yet: that is done when a cell has run on a worker "
                                  "and the next has not come")


def saved_states(root: str) -> list[Saved]:
    """The newest first. Folders that are not the user's own are left out."""
    try:
        key = key_of(root)
        names = os.listdir(root)
    except (OSError, StateError):
        return []
    found = [saved for name in names if os.path.isdir(os.path.join(root, name)) and (saved := _saved(root, name, key))]
    return sorted(found, key=lambda saved: -saved.when)


def restore(state: NotebookState, root: str, source: str, names: tuple[str, ...]) -> list[str]:
    """Puts names of a saved state (all if none is named) into this one, which no worker has. Returns their names."""
    saved = _chosen(state, root, source)
    missing = [name for name in names if name not in (*saved.manifest.modules, *saved.names)]
    if missing:
        raise UsageError(f"{', '.join(missing)}: not in the saved state {saved.id[:_SHOWN_ID]}. "
                         "%pounce parked shows what is")
    target, other = Folder(state.folder), Folder(os.path.join(root, saved.id))
    try:
        found = adopt(target, other, names, key_of(root), state.turn + 1)
    except StateError as error:
        raise UsageError(str(error)) from None
    finally:
        target.close()
        other.close()
    state.adopted(saved.about.get("setup", []))
    return persons(found)


def remake(state: NotebookState, names: tuple[str, ...]) -> None:
    """Has the cells that made these variables run again on each new worker."""
    folder = Folder(state.folder) if state.folder else None
    data = folder.manifest() if folder is not None else None
    made = manifest.decode(data, key_of(os.path.dirname(state.folder))).made if data is not None else {}
    for name in names:
        cell = made.get(name)
        if cell is None:
            raise UsageError(f"{name} is not among what could not be saved. %pounce parked shows that")
        if cell not in state.cells:
            raise UsageError(f"the cell {cell}, which made {name}, was another kernel's: "
                             "run it again, as %%pounce --setup")
        state.note_setup(cell)
        print(f"cell {cell}, which made {name}, runs again on each new worker")


def _saved(root: str, name: str, key: bytes) -> Saved | None:
    try:
        folder = Folder(os.path.join(root, name))
    except (OSError, StateError):
        return None
    with contextlib.closing(folder):
        saved = Saved(name, {})
        try:
            saved.about = dict(json.loads(folder.read(ABOUT, _MOST_ABOUT_BYTES)))
            saved.when = folder.saved_at()
            data = folder.manifest()
            saved.manifest = Manifest() if data is None else manifest.decode(data, key)
        except (OSError, ValueError, StateError) as error:
            saved.problem = str(error)
        return saved


def _chosen(state: NotebookState, root: str, source: str) -> Saved:
    others = [saved for saved in saved_states(root) if saved.id != state.id and saved.when]
    fitting = [saved for saved in others
               if (saved.id.startswith(source) if source else saved.about.get("notebook") == notebook())]
    if source and len(fitting) > 1:
        raise UsageError(f"{source} is the beginning of several ids: write more of it")
    if not fitting:
        raise UsageError(f"there is no saved state {source}" if source else
                         "no earlier kernel of this notebook has left a saved state. "
                         "%pounce parked shows those of others, for --from ID")
    if fitting[0].problem:
        raise UsageError(fitting[0].problem)
    return fitting[0]


def _of_notebook(saved: Saved) -> str:
    found = saved.manifest
    units = sorted(found.units, key=lambda unit: -unit.nbytes())
    shown = [(", ".join(persons(unit.names)), size(unit.nbytes()), str(unit.cell))
             for unit in units if persons(unit.names)]
    rows = [("variable", "size", "cell"), *shown]
    lost = [f"not saved: {name} (cell {found.made.get(name, 0)}): {why}"
            for name, why in sorted(found.unparkable.items())]
    head = f"this notebook, {size(saved.nbytes)}, as it was after cell {saved.manifest.cell}, saved {_ago(saved.when)}"
    return "\n".join([head, as_text(rows), *lost, *([saved.problem] if saved.problem else [])])


def _row(saved: Saved) -> tuple[str, ...]:
    return (saved.id[:_SHOWN_ID], os.path.basename(str(saved.about.get("notebook", ""))), size(saved.nbytes),
            str(saved.manifest.cell), _ago(saved.when), saved.problem or listed(saved.names, _MOST_NAMES))


def _ago(when: float) -> str:
    minutes = (time.time() - when) / 60
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes:.0f} min ago"
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(when))
