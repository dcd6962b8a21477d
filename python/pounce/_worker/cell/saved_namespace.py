"""The namespace of this worker's cells and its saved state: names that a cell reads are restored before it runs, and
its changes are saved afterwards. The namespace belongs to one notebook at a time; a worker may later get another's."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from ..._common.cell_protocol import NamespaceReport, NamespaceRequest, SettingsChange
from ..._common.names_shown import is_persons
from ..._common.settings.shell import names_read
from ..._common.settings.table import left_out
from .. import interpreter
from ..state import process_state
from ..state.folder import Folder
from ..state.key import key_of
from ..state.live_reads import reached
from ..state.needs import source_reads
from ..state.problems import StateError, TakenOver
from ..state.restorer import Loaded, Restorer
from ..state.saver import Saver
from . import held
from .cell_streams import streams
from .grace import Grace, Pace
from .last_values import VALUE, LastValues
from .parting import part_with
from .state_notes import StateNotes, tell
from .unshared_state import UnsharedState

_NO_VALUES: Mapping[str, int] = {}
_WORD = re.compile(r"\w+")
_CHECK_AFTER_S = 1.0  # idle time before variables that no cell names are compared with what was saved
_LOOK_S = 0.05        # between two looks at what the worker before has saved
_QUIET_S = 1.0        # the user hears of it if it takes longer


class SavedNamespace:
    """Thread: the one that runs the cells, which also saves between them."""

    def __init__(self, names: dict[str, Any], hidden: Collection[str], holder: str, last: LastValues):
        self._names, self._hidden, self._holder, self._last = names, hidden, holder, last
        self._before = set(names)  # they belong to no notebook, and stay when one leaves
        self._baseline = process_state.baseline()
        self.unshared = UnsharedState()
        self._id = ""
        self._forget()

    def _forget(self) -> None:
        self._folder: Folder | None = None
        self._saver: Saver | None = None
        self._restorer: Restorer | None = None
        process_state.begin()
        self._cell = self._turn = 0
        self._read: set[str] | None = set()  # by the running cell; None: any
        self._touched: set[str] | None = set()
        self._behind = False  # the work of a cell that ran is not saved
        self._unchecked = self._look_at_all = False
        self._running = False
        self._begun = self._ran_s = 0.0
        self._pace = Pace()
        self._next_may_follow = False
        self._notes = StateNotes()
        self._remade: set[str] = set()
        self.save_s = 0.0  # the longest save so far

    # ---- whose namespace ----

    def enter(self, request: NamespaceRequest, holder: bool) -> NamespaceReport:
        """`holder`: for the notebook this worker is the one that has its namespace."""
        if self._id == request.id and (holder or self._folder is None or not self._folder.taken_over()):
            return NamespaceReport(problem=self._notes.problem)
        self._empty()
        report = self._taken_up(request)
        if report.ran:
            self._id = request.id
        return report

    def lacks(self, request: NamespaceRequest) -> bool:
        """Whether the request leaves out changes of settings that the namespace has not had here."""
        known = process_state.present if self._id == request.id else process_state.Waiting()
        return known.lacks(request.settings)

    def follow(self, change: SettingsChange) -> int:
        """Applies the settings that the notebook has changed since the namespace last had them. Returns the number of
        the last one."""
        self._notes.settings_failed(process_state.present.follow(change))
        self._put_back()
        return process_state.present.followed[1]

    def has(self, notebook: str, turn: int) -> bool:
        return self._id == notebook and self._turn >= turn

    def _taken_up(self, request: NamespaceRequest) -> NamespaceReport:
        try:
            return self._opened(request)
        except (StateError, OSError) as error:
            self._close()
            self._forget()
            self._notes.problem = _problem_with(error, request.folder)
            return NamespaceReport(request.after == 0, True, problem=self._notes.problem)

    def _opened(self, request: NamespaceRequest) -> NamespaceReport:
        key = key_of(os.path.dirname(request.folder))
        folder = self._folder = Folder(request.folder)
        restorer = self._restorer = _caught_up(folder, self._names, key, request.after, request.patience_s)
        if restorer.turn < request.after:
            self._close()
            self._forget()
            return NamespaceReport(False, True, restorer.turn, restorer.cell, restorer.lost())
        folder.take()
        restorer = self._restorer = restorer.newest()
        self._saver = Saver(folder, self._names, hides=self._hides, most_bytes=request.most_bytes,
                            unloaded=restorer.pending, key=key, saved=restorer.saved)
        report = NamespaceReport(True, True, restorer.turn, restorer.cell, restorer.lost())
        try:
            process_state.begin(restorer.process())
        except StateError as error:  # the variables may be whole
            tell(f"the directory, the environment and the seeds were not restored: {error}")
        self._cell, self._turn = restorer.cell, restorer.turn
        return report

    def leave(self, notebook: str, whole: bool) -> str:
        """Saves everything and gives the namespace up. If it cannot be saved, or not as a `whole`, it stays, and the
        reason is returned."""
        if self._id == notebook:
            self.save_last()
            problem = self._notes.problem or (self.lost_with_worker() if whole else "")
            if problem:
                return problem
            self._empty()
        return ""

    def _empty(self) -> None:
        """Saves the state, and removes the notebook's names here."""
        if self._id:
            self.save_last()
            if self._folder is not None:
                self._folder.leave()
            for name in set(self._names) - self._before - set(self._hidden):
                del self._names[name]
            self._last.forget()
        self._close()
        self._forget()
        self._id = ""

    def _close(self) -> None:
        if self._saver is not None:
            self._saver.close()
        if self._restorer is not None:
            self._restorer.close()
        if self._folder is not None:
            self._folder.close()

    # ---- around a cell ----

    def arrived(self, names: Collection[str]) -> None:
        """The notebook sent these: they are newer than the saved ones."""
        if self._restorer is not None:
            self._restorer.forget(names)

    def _hides(self, name: str) -> bool:
        return self._last.hides(name, self._hidden)

    def before(self, source: str, arrived: Collection[str] = (), last: Mapping[str, int] = _NO_VALUES) -> None:
        """Restores the names that this Python code reads. It runs next. `last`: see LastValues.

        Raises
        ------
        Damaged, Foreign
            Nothing was restored.
        """
        self._running, self._begun = True, time.monotonic()
        restorer = self._restorer
        if restorer is None:
            return
        read = self._read = source_reads(source)
        self._put_back(_WORD.findall(source))
        names = restorer.names() if read is None else reached(
            read | set(arrived) | names_read(source), self._names)
        names = {*names, *self._last.needed(read, last, self.waiting(even_if_here=True))}
        self._notes.restored(self._loaded(restorer, names), time.monotonic() - self._begun)
        self._put_back()  # for libraries that came with these names

    def _put_back(self, words: Collection[str] = ()) -> None:
        waited = set(process_state.present.parts)
        failed = process_state.present.put_back(words)
        there = waited - set(process_state.present.parts) - set(failed)
        streams.restored([name for part, name in process_state.SEEDS.items() if part in there])
        self._notes.settings_failed(failed)
        process_state.put_back_on_import(self._notes.settings_failed)

    def after(self, cell: int, turn: int) -> None:
        """The code given to before() has run, to its end or not."""
        self._running = False
        self._ran_s += time.monotonic() - self._begun
        self._cell, self._turn = cell, turn
        if self._saver is None or self._restorer is None:
            return
        self._restorer.forget(self._names.keys())
        self._load_outdated()
        self._saver.ran(cell)
        if self._read is None or self._touched is None:
            self._touched = None
        else:
            self._touched |= self._saver.touched_by_names(self._read) | reached(self._read, self._names)
        self._behind = self._unchecked = self._look_at_all = True
        self._next_may_follow = not self._pace.is_due(self._ran_s)

    def callbacks_ran(self) -> None:
        """Between two cells code ran that may have changed any variable."""
        if self._saver is not None:
            self._unchecked = self._look_at_all = True

    def _load_outdated(self) -> None:
        """Loads saved variables that refer by name to something that the cell redefined or deleted: they keep the old
        object, as in a local kernel."""
        assert self._restorer is not None
        try:
            names = self._restorer.outdated()
            if names:
                self.load(names)
        except StateError as error:
            tell(str(error))

    def remade(self, names: Collection[str]) -> None:
        """A setup cell makes these on each worker: it is no loss if they cannot be saved. They replace saved ones."""
        self._remade |= set(names)
        for name in self.waiting(even_if_here=True) & set(names):
            self._names.pop(name, None)

    def lost_with_worker(self) -> str:
        """What would be lost if the worker ended now, in words, as far as is known."""
        if self._saver is None:
            return self._notes.problem or "nothing is saved"
        lost = [name for name in self._notes.unparkable.keys() - self._remade if not VALUE.fullmatch(name)]
        return f"{', '.join(sorted(lost))} cannot be saved" if lost else self._notes.problem

    def tell_loop(self, runs: bool) -> None:
        """Reports that a loop that can be left between two steps begins, or is over."""
        if not self.lost_with_worker():
            held.tell_state("stepping" if runs else "saved")

    def still_lost(self, lost: dict[str, tuple[str, int]]) -> dict[str, tuple[str, int]]:
        return {name: why for name, why in lost.items() if name not in self._remade and is_persons(name)}

    def load(self, names: Collection[str]) -> None:
        """Loads those of the names that were saved and are not here yet."""
        if self._restorer is not None:
            begun = time.monotonic()
            self._notes.restored(self._loaded(self._restorer, names), time.monotonic() - begun)

    @staticmethod
    def _loaded(restorer: Restorer, names: Collection[str]) -> Loaded:
        """Loads names. Those whose files are damaged are given up, so each is reported once."""
        try:
            return restorer.load(names)
        except StateError as first:
            lost = [name for name in sorted(names) if not _loads(restorer, name)]
            restorer.forget(lost)
            raise type(first)(f"{', '.join(lost)}: {first}") from None

    def waiting(self, even_if_here: bool = False) -> set[str]:
        """Saved names that no cell has read yet."""
        if self._restorer is None:
            return set()
        return self._restorer.pending() - (set() if even_if_here else set(self._names))

    # ---- between cells ----

    def idle(self) -> float | None:
        """Called when nothing runs or waits: saves what the last cells changed, unless a cell may follow at once
        (Pace), and a second later checks all the rest. Stops for a task that comes. Returns seconds until it is to be
        called again; None: after the next task."""
        held.keep(False)
        if not self.is_behind():
            return self.unshared.idle()
        if self._next_may_follow:
            self._next_may_follow = False
            return self._pace.quiet_s
        if self._behind:
            touched, self._touched = self._touched, set()
            patience_s = self._pace.patience_s(self._ran_s)
            if self._save(touched, Grace(patience_s)):
                return _CHECK_AFTER_S
            self._pace.stopped(patience_s)
            return None
        touched = None if self._look_at_all else set()
        self._look_at_all = False  # an interrupted check continues where it was
        self._unchecked = not self._save(touched, interpreter.core.wanted, quiet=True)
        return None if interpreter.core.wanted() else self.unshared.idle()

    def is_behind(self) -> bool:
        """Whether something is not saved that idle() will save."""
        return self._saver is not None and (self._behind or self._unchecked)

    def not_brought(self, why: str) -> None:
        """The saved state is on this node alone, and is lost with it."""
        self._notes.not_saved(why)
        held.tell_state("unsaved")

    def save_last(self) -> None:
        """Saves before the worker or the notebook leaves. If a cell was cut off, the state before it stays saved."""
        if not self._running and self.is_behind():
            self._save(None, lambda: False)

    def leave_worker(self) -> None:
        """This process ends."""
        held.hold(False)
        self.save_last()
        if self._folder is not None:
            self._folder.leave()
        if self.unshared.owes(self._id):
            manifest = self.unshared.offer(self._id).manifest
            part_with(self._id, self._holder, manifest, lambda *wanted: self.unshared.parts(self._id, *wanted))
        self.unshared.end()

    def _save(self, touched: set[str] | None, interrupted: Callable[[], bool], quiet: bool = False) -> bool:
        """Whether all of it is saved now, or cannot be."""
        assert self._saver is not None and self._folder is not None
        tell_state = held.tell_state
        if not quiet:
            tell_state("saving")
        streams.back()
        begun = time.monotonic()
        try:
            unpicklable: dict[str, str] = {}
            process = process_state.taken(self._baseline, process_state.present, unpicklable)
            report = self._saver.save(self._cell, touched, interrupted, process, self._turn)
        except (StateError, OSError) as error:
            self._behind = False
            if isinstance(error, TakenOver):
                self._saver = None
            else:
                self._notes.not_saved(str(error))
            tell_state("unsaved")
            return True
        if not report.whole:
            return False
        took_s = time.monotonic() - begun
        self.save_s = max(self.save_s, took_s)
        if not quiet:
            self._pace.saved(took_s)
        self._behind, self._ran_s = False, 0.0
        self._notes.saved(report.unparkable, self._remade)
        self._notes.settings_left_out(left_out() | unpicklable)
        self.unshared.tell_saved(self._folder, "unsaved" if self.lost_with_worker() else "saved")
        return True


def _loads(restorer: Restorer, name: str) -> bool:
    try:
        restorer.load([name])
    except StateError:
        return False
    return True


def _caught_up(folder: Folder, names: dict[str, Any], key: bytes, turn: int, patience_s: float) -> Restorer:
    """The state as soon as it has reached this turn, or as it is if that takes too long."""
    until, told = time.monotonic() + patience_s, False
    while True:
        left = folder.left()  # read first, so that all that a leaving worker saved is seen
        restorer = Restorer(folder, names, key)
        if restorer.turn >= turn or left or time.monotonic() >= until or interpreter.core.ending():
            return restorer
        if not told and time.monotonic() >= until - patience_s + _QUIET_S:
            told = True
            tell("the last worker is still saving its variables")
        restorer.close()
        time.sleep(_LOOK_S)


def _problem_with(error: Exception, folder: str) -> str:
    if not folder:
        return "the notebook could not make a folder for them."
    if isinstance(error, FileNotFoundError):
        return f"this worker does not see {folder}. Let the site's state_folder lie where the nodes see it."
    return f"{folder}: {error.strerror}." if isinstance(error, OSError) else str(error)
