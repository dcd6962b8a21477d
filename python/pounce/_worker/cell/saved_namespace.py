"""The namespace of this worker's cells and its saved state: what a cell reads is restored before it runs, what it changed is
saved when it has run. One notebook's at a time; a worker may come to have another's."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from ..._common.byte_size import size
from .. import interpreter
from ..state import process_state
from ..state.folder import Folder
from ..state.key import key_of
from ..state.live_reads import reached
from ..state.needs import source_reads
from ..state.problems import StateError, TakenOver
from ..state.restorer import Loaded, Restorer
from ..state.saver import Saver

_CHECK_AFTER_S = 1.0  # of idleness: then also what no cell names is compared with what was saved
_LOOK_S = 0.05
_GRACE_S, _GRACE_SHARE = 0.03, 0.005  # so long a task that comes waits for a save, at least; or so much of the time that the unsaved cells took
_MOST_NAMES = 12  # in a line
_GREY, _PLAIN = "\x1b[90m", "\x1b[0m"


@dataclass
class Entered:
    """How a request of a notebook found this worker.

    ran : bool
        The namespace is the notebook's, and has the work that the request counts on.
    fresh : bool
        It came to this worker with the request.
    turn, cell : int
        Of the last cell whose work it had then.
    lost : dict of str to (str, int)
        What could not be saved by the worker before: why, and the cell that made it.
    problem : str
        Why it is not saved here; empty: it is.
    """

    ran: bool = True
    fresh: bool = False
    turn: int = 0
    cell: int = 0
    lost: dict[str, tuple[str, int]] = field(default_factory=dict)
    problem: str = ""


class _Grace:
    """Whether a save has to stop for a task that waits: a short save comes first, and one after long cells may take its time."""

    def __init__(self, ran_s: float):
        self._seconds = max(_GRACE_S, _GRACE_SHARE * ran_s)
        self._until = math.inf

    def __call__(self) -> bool:
        if not interpreter.core.wanted() or interpreter.core.ending():
            return False
        now = time.monotonic()
        self._until = min(self._until, now + self._seconds)
        return now >= self._until


class SavedNamespace:
    """Thread: the one that runs the cells, which also saves between them."""

    def __init__(self, names: dict[str, Any], hidden: Collection[str]):
        self._names, self._hidden = names, hidden
        self._before = set(names)  # nobody's: they stay when a notebook leaves
        self._baseline = process_state.Baseline()
        self._id = ""
        self._forget()

    def _forget(self) -> None:
        self._folder: Folder | None = None
        self._saver: Saver | None = None
        self._restorer: Restorer | None = None
        self._process = process_state.Waiting()
        self._cell = self._turn = 0
        self._touched: set[str] | None = set()
        self._behind = False  # a cell has run whose work is not saved
        self._unchecked = False
        self._running = False
        self._begun = self._ran_s = 0.0
        self._told: dict[str, str] = {}
        self._remade: set[str] = set()
        self._problem = ""

    # ---- whose namespace ----

    def enter(self, wanted: dict[str, Any], holder: bool) -> Entered:
        """
        Parameters
        ----------
        wanted : dict
            ``id``, ``folder`` and ``most_bytes`` of a notebook's state; ``after``: the turn that it has to have had;
            ``patience_s``: how long a worker that is leaving may need to save that.
        holder : bool
            The notebook knows this worker as the one that has its namespace.
        """
        if self._id == wanted["id"] and (holder or self._folder is None or not self._folder.taken_over()):
            return Entered(problem=self._problem)
        self._empty()
        found = self._found(wanted)
        if found.ran:
            self._id = wanted["id"]
        return found

    def _found(self, wanted: dict[str, Any]) -> Entered:
        try:
            return self._opened(wanted)
        except (StateError, OSError) as error:
            self._close()
            self._forget()
            self._problem = _words(error, wanted["folder"])
            return Entered(wanted["after"] == 0, True, problem=self._problem)

    def _opened(self, wanted: dict[str, Any]) -> Entered:
        key = key_of(os.path.dirname(wanted["folder"]))
        folder = self._folder = Folder(wanted["folder"])
        restorer = _caught_up(folder, self._names, key, wanted["after"], wanted["patience_s"])
        self._restorer = restorer
        lost = restorer.lost()
        found = Entered(restorer.turn >= wanted["after"], True, restorer.turn, restorer.cell, lost)
        if not found.ran:
            self._close()
            self._forget()
            return found
        folder.take()
        self._saver = Saver(folder, self._names, hidden=self._hidden, most_bytes=wanted["most_bytes"], unloaded=restorer.pending, key=key)
        try:
            self._process = process_state.Waiting(restorer.process())
        except StateError as error:  # the variables may be whole
            self._tell(f"the directory, the environment and the seeds were not restored: {error}")
        self._cell, self._turn = restorer.cell, restorer.turn
        return found

    def leave(self, notebook: str) -> str:
        """Saves everything and gives the namespace up. Returns why it cannot be saved; then it stays."""
        if self._id == notebook:
            self.save_last()
            if self._problem:
                return self._problem
            self._empty()
        return ""

    def _empty(self) -> None:
        """What is saved stays where it is; here its names go."""
        if self._id:
            self.save_last()
            for name in set(self._names) - self._before - set(self._hidden):
                del self._names[name]
        self._close()
        self._forget()
        self._id = ""

    def _close(self) -> None:
        if self._restorer is not None:
            self._restorer.close()
        if self._folder is not None:
            self._folder.close()

    # ---- around a cell ----

    def arrived(self, names: Collection[str]) -> None:
        """The notebook sent these: newer than what was saved."""
        if self._restorer is not None:
            self._restorer.forget(names)

    def before(self, source: str, arrived: Collection[str] = ()) -> None:
        """Restores what this code, in Python, reads. It runs next.

        Raises
        ------
        Damaged, Foreign
            Nothing was restored.
        """
        self._running, self._begun = True, time.monotonic()
        restorer = self._restorer
        if restorer is None:
            return
        read = source_reads(source)
        for part, why in self._process.put_back(read or ()).items():
            self._tell(f"{part} of the process could not be restored: {why}")
        names = restorer.names() if read is None else reached(read | set(arrived), self._names)
        self._report(self._loaded(restorer, names), time.monotonic() - self._begun)

    def after(self, source: str, cell: int, turn: int) -> None:
        """It has run, to its end or not."""
        self._running = False
        self._ran_s += time.monotonic() - self._begun
        self._cell, self._turn = cell, turn
        if self._saver is None or self._restorer is None:
            return
        self._restorer.forget(self._names.keys())
        read, known = source_reads(source), self._saver.touched_by(source)
        if self._touched is not None:
            self._touched = None if read is None or known is None else self._touched | known | reached(read, self._names)
        self._behind = self._unchecked = True

    def remade(self, names: Collection[str]) -> None:
        """A setup cell makes these on each worker: that they cannot be saved is no loss. What could be saved is newer."""
        self._remade |= set(names)
        for name in self.waiting(even_if_here=True) & set(names):
            self._names.pop(name, None)

    def still_lost(self, lost: dict[str, tuple[str, int]]) -> dict[str, tuple[str, int]]:
        return {name: why for name, why in lost.items() if name not in self._remade and not name.startswith("_")}

    def load(self, names: Collection[str]) -> None:
        """Those that were saved and are not here yet."""
        if self._restorer is not None:
            begun = time.monotonic()
            self._report(self._loaded(self._restorer, names), time.monotonic() - begun)

    @staticmethod
    def _loaded(restorer: Restorer, names: Collection[str]) -> Loaded:
        """Names whose files are damaged are given up: each is told of once."""
        try:
            return restorer.load(names)
        except StateError as first:
            lost = [name for name in sorted(names) if not _loads(restorer, name)]
            restorer.forget(lost)
            raise type(first)(f"{', '.join(lost)}: {first}") from None

    def waiting(self, even_if_here: bool = False) -> set[str]:
        """Saved names that no cell has asked for yet."""
        return set() if self._restorer is None else self._restorer.pending() - (set() if even_if_here else set(self._names))

    def _report(self, loaded: Loaded, seconds: float) -> None:
        names = sorted(name for name in loaded.names if not name.startswith("_"))
        if names:
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            self._tell(f"restored {', '.join(names[:_MOST_NAMES])}{more} ({size(loaded.nbytes)}, {seconds:.1f} s)")
        for name, why in loaded.failed.items():
            self._tell(f"{name} was not restored: {why}")

    # ---- between cells ----

    def idle(self) -> float | None:
        """Nothing runs and nothing waits: saves what the last cells changed; a second later looks at all the rest. Stops for a
        task that comes. Seconds until it wants to be called again; None: when something has run."""
        if self._saver is None:
            return None
        if self._behind:
            return _CHECK_AFTER_S if self._save(_Grace(self._ran_s)) else None
        if self._unchecked:
            self._touched = None
            self._unchecked = not self._save(interpreter.core.wanted, quiet=True)
        return None

    def save_last(self) -> None:
        """The worker, or the notebook, leaves. A cell that was cut off leaves the state as it was before it."""
        if self._saver is not None and not self._running and (self._behind or self._unchecked):
            self._touched = None
            self._save(lambda: False)

    def _save(self, interrupted: Any, quiet: bool = False) -> bool:
        """Whether all of it is saved now, or cannot be."""
        assert self._saver is not None
        tell = interpreter.core.tell_state
        if not quiet:
            tell("saving")
        touched, self._touched = self._touched, set()
        try:
            process = process_state.taken(self._baseline, self._process)
            report = self._saver.save(self._cell, touched, interrupted, process, self._turn)
        except (StateError, OSError) as error:
            self._behind = False
            self._tell_problem(error)
            tell("unsaved")
            return True
        if not report.whole:
            return False
        self._behind, self._problem, self._ran_s = False, "", 0.0
        self._tell_unparkable(report.unparkable)
        tell("unsaved" if report.unparkable.keys() - self._remade else "saved")
        return True

    def _tell_problem(self, error: Exception) -> None:
        words = str(error)
        if isinstance(error, TakenOver):
            self._saver = None
        elif words != self._problem:
            self._tell(f"the variables of this worker are not saved: {words}")
        self._problem = words

    def _tell_unparkable(self, found: dict[str, str]) -> None:
        for name, why in found.items():
            if self._told.get(name) != why and name not in self._remade and not name.startswith("_"):
                self._tell(f"{name} cannot be saved, and goes when this worker does: {why}")
        self._told = dict(found)

    @staticmethod
    def _tell(words: str) -> None:
        """Under the cell that ran last."""
        print(f"{_GREY}pounce: {words}{_PLAIN}", flush=True)


def _loads(restorer: Restorer, name: str) -> bool:
    try:
        restorer.load([name])
    except StateError:
        return False
    return True


def _caught_up(folder: Folder, names: dict[str, Any], key: bytes, turn: int, patience_s: float) -> Restorer:
    """The state, as soon as it has this turn; or as it is, if that takes too long."""
    until = time.monotonic() + patience_s
    while True:
        restorer = Restorer(folder, names, key)
        if restorer.turn >= turn or time.monotonic() >= until or interpreter.core.ending():
            return restorer
        restorer.close()
        time.sleep(_LOOK_S)


def _words(error: Exception, folder: str) -> str:
    if isinstance(error, FileNotFoundError):
        return f"this worker does not see {folder}. Let the site's state_folder lie where the nodes see it."
    return f"{folder}: {error.strerror}." if isinstance(error, OSError) else str(error)
