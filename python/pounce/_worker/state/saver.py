"""Saves a namespace incrementally: of the names that may have changed, the units whose content did."""

from __future__ import annotations

import collections
import dataclasses
import io
import sys
import types
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Any

from ... import _core
from ..._common.serialize import ATOMS, path_of_unpicklable
from . import covariables, large_stack, manifest
from .covariables import Counter, Partition
from .crossing import state_in
from .folder import Folder
from .function_pickling import is_found
from .interruption import Interruption
from .manifest import Manifest, Unit
from .needs import closure, source_reads
from .pickling import PYTHON, Pickler
from .piece_writer import Begun, PieceWriter
from .problems import Interrupted, NoSpace, TooLarge, TooMany, TooSlow

UNIT_S = 10.0  # how long one unit may take
# What each module has.
_NOT_SAVED = frozenset((*vars(types.ModuleType("module")), "__builtin__", "__builtins__", "__cached__", "__file__"))
_SHORT = 4096  # a longer text is a unit of its own
_AHEAD_BYTES = 256 * 1024 * 1024  # how much is pickled before the first of it is on the disk


@dataclass
class Report:
    """The result of one save(). `whole`: the folder has everything; otherwise call again. `unparkable`: name to reason,
    for all names."""

    whole: bool = False
    saved: list[str] = field(default_factory=list)
    nbytes: int = 0  # written
    unparkable: dict[str, str] = field(default_factory=dict)


class _Graph(io.BytesIO):
    def __init__(self, check: Callable[[], None]):
        super().__init__()
        self._check = check

    def write(self, data: Any) -> int:
        self._check()
        return super().write(data)


@dataclass
class _Pickled:
    """A unit on its way to the disk."""

    names: frozenset[str]
    pickler: Pickler
    begun: Begun


class Saver:
    """Thread: one. Use it only between cells: an object that changes while it is pickled may be saved torn. close() it
    before the folder.

    folder : Folder
        May hold a state, whose data is not written again.
    hides : callable
        Whether a name is not the user's.
    most_bytes : int or None
        A larger state raises TooLarge before any of it is written.
    unit_s : float, seconds
        An object that takes longer to pickle is reported as unparkable.
    unloaded : callable
        Returns names of the folder's state that the namespace does not have yet. They stay in the state.
    saved : Manifest or None
        The folder's manifest, if it was read already.
    """

    def __init__(self, folder: Folder, namespace: dict[str, Any], *, hides: Callable[[str], bool] = lambda name: False,
                 most_bytes: int | None = None, unit_s: float = UNIT_S,
                 unloaded: Callable[[], Collection[str]] = tuple, key: bytes = b"", saved: Manifest | None = None):
        self._folder, self._namespace, self._hides = folder, namespace, hides
        self._most_bytes, self._unit_s, self._unloaded, self._key = most_bytes, unit_s, unloaded, key
        self._durable = saved or state_in(folder, key)
        self._writer = PieceWriter(folder, self._durable.digests())
        self._committing: tuple[Manifest, Future[None]] | None = None
        self._numbers: list[Any] = []  # freed when no task waits
        self._made = dict(self._durable.made)  # name to the cell that assigned it
        self._seen: dict[str, int] = {}  # the identities of objects after the last cell
        self._start_again()

    def save(self, cell: int = 0, touched: Iterable[str] | None = None, interrupted: Callable[[], bool] = lambda: False,
             process: bytes = b"", turn: int = 0) -> Report:
        """The state saved before is whole after TooLarge, NoSpace, TakenOver.

        cell : int
            Number of the last cell that ran; kept with the names that it changed.
        touched : iterable of str or None
            Names that code since the last save may have read or assigned; None: any. Assigned names are found in any
            case; a name that is missing here and was changed in place is saved by the next save without `touched`.
        interrupted : callable
            Returns True if a task waits: save() then returns within some ten milliseconds, also in the middle of a
            large object. It is called often, and in several threads. Nothing is lost: the next save continues, and does
            not write again what was written.
        process : bytes
            The result of process_state.taken().
        """
        report = Report()
        names = self._names()
        self.ran(cell)
        assigned = {name for name in names if self._ids.get(name) != id(self._namespace[name])}
        self._dirty |= assigned.union(names if touched is None else touched)
        gone = set(self._ids) - set(names)
        interruption = Interruption(interrupted)
        self._numbers.clear()
        self._writer.open(interruption)
        try:
            self._end_commit()
            self._save(cell, set(names), gone, interruption, report)
            stored = self._durable.process
            if process:
                stored = self._writer.stored(self._writer.put([memoryview(process)]))[0]
            self._commit(cell, turn, set(names), stored)
            self._numbers.clear()
            report.whole = True
        except Interrupted:
            pass
        except (NoSpace, TooMany):
            self._writer.abandon(self._durable.digests())
            self._start_again()
            self._folder.keep_only(self._durable.digests())
            raise
        finally:
            report.nbytes = self._writer.close()
            report.unparkable = dict(self._unparkable)
        return report

    def ran(self, cell: int) -> None:
        """Notes which names this cell has assigned. Called after each cell: several may be saved together."""
        for name in self._names():
            before, now = self._seen.get(name), id(self._namespace[name])
            if before != now and (before is not None or name not in self._made):
                self._made[name] = cell
            self._seen[name] = now

    def close(self) -> None:
        """Waits for unfinished writes of an interrupted save."""
        self._writer.finish()
        if self._committing is not None:
            wait([self._committing[1]])

    def touched_by(self, source: str) -> set[str] | None:
        """For save(): names that the source may read and change, also through functions and classes as they were saved.
        None: any."""
        read = source_reads(source)
        return None if read is None else self.touched_by_names(read)

    def touched_by_names(self, read: set[str]) -> set[str]:
        """Like touched_by() for a source that reads just these names."""
        return read | closure(read, self._units)

    def _start_again(self) -> None:
        """Forgets all that was saved since the manifest was written, and the identities of objects."""
        self._units = {name: unit for unit in self._durable.units for name in unit.names}
        self._modules: dict[str, tuple[str, str]] = {}
        self._unparkable: dict[str, str] = {}
        self._lacking: dict[str, frozenset[str]] = {}  # for names that need others which cannot be saved: these others
        self._ids: dict[str, int] = {}
        self._dirty: set[str] = set()

    def _names(self) -> list[str]:
        return [name for name in self._namespace
                if isinstance(name, str) and name not in _NOT_SAVED and not self._hides(name)]

    # ---- one save ----

    def _save(self, cell: int, names: set[str], gone: set[str], interruption: Interruption, report: Report) -> None:
        scope = self._scope(names, gone)
        for name in gone:
            self._forget(name)
        self._dirty = set(scope)
        for name in scope:  # a name counts as changed as long as it is dirty, whatever happens now
            self._ids[name] = id(self._namespace[name])
            self._modules.pop(name, None)
        known = covariables.definitions(self._namespace, sorted(names))
        plain = self._note_plain(scope)
        found = self._partition(scope - plain - self._modules.keys(), known, interruption)
        failed = {name: self._why(name, error, found, interruption) for name, error in found.failed.items()}
        self._check_size(found, scope)
        units = [*found.units, *([frozenset(plain)] if plain else [])]
        ahead: collections.deque[_Pickled] = collections.deque()
        try:
            for unit in sorted(units, key=sorted):
                pickled = self._pickled(unit, found, failed, interruption)
                if pickled is not None:
                    ahead.append(pickled)
                while ahead and (self._writer.is_stored(ahead[0].begun)
                                 or sum(one.begun.nbytes for one in ahead) > _AHEAD_BYTES):
                    self._note(ahead.popleft(), cell, report)
        finally:  # units that were stored count, whatever happened
            while ahead and self._writer.is_stored(ahead[0].begun):
                self._note(ahead.popleft(), cell, report)
        while ahead:
            self._note(ahead.popleft(), cell, report)
        self._note_failed(failed)
        self._dirty -= scope

    def _scope(self, names: set[str], gone: set[str]) -> set[str]:
        """Names that have to be examined because of names that may have changed."""
        changed = (self._dirty & names) | gone
        redefined = {name for name in changed if name in gone or self._ids.get(name) != id(self._namespace[name])}
        changed |= {name for name, lacks in self._lacking.items() if not lacks.isdisjoint(changed)}
        more = True
        while more:
            more = False
            for unit in set(self._units.values()):
                current = unit.names & self._ids.keys()
                affected = not current.isdisjoint(changed) or not unit.depends.isdisjoint(redefined)
                if affected and not current <= changed:
                    changed |= current
                    more = True
        plain = {name for name in names if self._is_plain(name)}
        return (changed & names) | (plain if not changed.isdisjoint(plain) else set())

    def _is_plain(self, name: str) -> bool:
        value = self._namespace[name]
        return type(value) in ATOMS and (not isinstance(value, (str, bytes)) or len(value) <= _SHORT)

    def _note_plain(self, scope: set[str]) -> set[str]:
        """Numbers and short texts are one unit; imports need none."""
        for name in scope:
            found = _import_of(self._namespace[name])
            if found is not None:
                self._forget(name, still_there=True)  # its earlier value
                self._modules[name] = found
        return {name for name in scope if self._is_plain(name)}

    def _partition(self, scope: set[str], known: dict[int, str], interruption: Interruption) -> Partition:
        def dump(pickler: Pickler, name: str) -> None:
            interruption.check()
            large_stack.call(lambda: pickler.dump({name: self._namespace[name]}), self._unit_s, interruption)

        while True:
            outside = [(unit.names & self._ids.keys() - scope, unit.depends) for unit in set(self._units.values())]
            found = covariables.partition(self._namespace, sorted(scope), known, [pair for pair in outside if pair[0]],
                                          dump, interruption.check, self._numbers)
            more = {name for unit in found.units for name in unit} - scope
            if not more:
                return found
            scope = scope | more
            self._dirty |= more

    def _check_size(self, found: Partition, scope: set[str]) -> None:
        if self._most_bytes is None:
            return
        looked_at = scope.union(*found.units)
        kept = sum(unit.nbytes() for unit in set(self._units.values()) if not unit.names <= looked_at)
        if kept + found.nbytes > self._most_bytes:
            raise TooLarge(f"The variables take {kept + found.nbytes:,} bytes, and at most {self._most_bytes:,} "
                           "may be saved. Delete what is no longer needed: del NAME.")

    def _pickled(self, names: frozenset[str], found: Partition, failed: dict[str, str],
                 interruption: Interruption) -> _Pickled | None:
        """Pickles a unit and begins to write it; None: its names are in `failed` now."""
        interruption.check()
        graph = _Graph(interruption.check)
        pickler = Pickler(graph, found.around, names, interruption.check)
        values = {name: self._namespace[name] for name in sorted(names)}
        try:
            large_stack.call(lambda: pickler.dump(values), self._unit_s, interruption)
        except (Exception, SystemExit, TooSlow) as error:
            for name in names:
                failed[name] = self._why(name, error, found, interruption)
                self._forget(name, still_there=True)
            return None
        return _Pickled(names, pickler, self._writer.put([graph.getbuffer(), *pickler.blobs, *pickler.buffers]))

    def _note(self, pickled: _Pickled, cell: int, report: Report) -> None:
        """Waits until the unit is on the disk, and notes it."""
        names, pickler, stored = pickled.names, pickled.pickler, self._writer.stored(pickled.begun)
        blobs, buffers = stored[1 : 1 + len(pickler.blobs)], stored[1 + len(pickler.blobs) :]
        unit = Unit(names, stored[0], tuple(blobs), tuple(buffers), frozenset(pickler.depends),
                    frozenset(pickler.reads), manifest.packages(pickler.kinds, pickler.modules), cell)
        before = self._units.get(min(names))
        if before is not None and before.same_content(unit):
            unit = before
        else:
            report.saved += sorted(names)
        for name in names:
            self._forget(name)
            self._units[name] = unit
            self._ids[name] = id(self._namespace[name])
        self._dirty -= names

    def _forget(self, name: str, still_there: bool = False) -> None:
        """Removes the name; its old unit continues without it."""
        self._unparkable.pop(name, None)
        self._lacking.pop(name, None)
        self._modules.pop(name, None)
        if not still_there:
            self._ids.pop(name, None)
        old = self._units.pop(name, None)
        if old is not None and len(old.names) > 1:
            rest = dataclasses.replace(old, names=old.names - {name})
            self._units.update((other, rest) for other in rest.names if self._units.get(other) == old)

    # ---- what cannot be saved ----

    def _why(self, name: str, error: BaseException, found: Partition, interruption: Interruption) -> str:
        if isinstance(error, TooSlow):
            return f"{name} takes longer than {self._unit_s:g} s to pickle"
        if isinstance(error, RecursionError):
            return f"{name} is nested too deep"

        def attempt(value: Any) -> None:
            Pickler(Counter(interruption.check), found.around, {name}, interruption.check, counts=True).dump(value)

        try:
            where = large_stack.call(lambda: path_of_unpicklable(self._namespace[name], name, attempt=attempt),
                                     self._unit_s, interruption)
        except (Exception, SystemExit, TooSlow):
            where = None
        path, thing, why = where or (name, self._namespace[name], error)
        thing = getattr(why, "thing", thing)
        return f"{path} is a {type(thing).__name__}: {why}"

    def _note_failed(self, failed: dict[str, str]) -> None:
        """Notes the names that failed, and those that need them."""
        more = dict(failed)
        while more:
            for name, why in more.items():
                needs = self._units[name].depends if name in self._units and name not in failed else frozenset()
                self._forget(name, still_there=True)
                self._unparkable[name] = why
                self._lacking[name] = needs
            lost = set(more)
            more = {name: f"{name} needs {min(unit.depends & lost)}, which cannot be saved"
                    for name, unit in self._units.items() if unit.depends & lost and name in self._ids}

    # ---- the end of a save ----

    def _commit(self, cell: int, turn: int, names: set[str], process: Any) -> None:
        kept = {name for name in self._unloaded() if name not in names}
        unloaded_modules = {name: where for name, where in self._durable.modules.items() if name in kept}
        alive = names | kept
        for name in set(self._units) - alive:
            self._forget(name)
        units = sorted(set(self._units.values()), key=lambda unit: sorted(unit.names))
        packages = {package for unit in units for package in unit.packages} | {PYTHON}
        versions = {**{package: self._durable.versions.get(package, "") for package in packages},
                    **{package: here for package in packages if (here := manifest.version_here(package))}}
        self._made = {name: self._made[name] for name in names}
        made = {name: self._made[name] for name in self._unparkable}
        new = Manifest(units, {**unloaded_modules, **self._modules}, dict(self._unparkable), versions, process, cell,
                       turn, made)
        if dataclasses.replace(new, cell=self._durable.cell) == self._durable:
            return
        self._writer.settle()
        data, digests = memoryview(manifest.encode(new, self._key)), new.digests()
        if data.nbytes > _core.MOST_MANIFEST_BYTES:
            arrays = sum(len(unit.buffers) + len(unit.blobs) for unit in units)
            raise TooMany(f"The list of {len(units):,} objects and {arrays:,} arrays takes {data.nbytes:,} bytes, "
                          f"and at most {_core.MOST_MANIFEST_BYTES:,} may be saved. Delete what is no longer needed, "
                          "or keep it in one array or table.")

        def commit() -> None:
            self._folder.write_manifest(data)
            self._folder.keep_only(digests)

        self._committing = new, self._writer.in_background(commit)
        self._end_commit()

    def _end_commit(self) -> None:
        """Ends the commit of this save, or of an earlier save that was interrupted in it."""
        if self._committing is None:
            return
        new, done = self._committing
        try:
            self._writer.wait_for([done])
            self._durable, self._writer.known = new, new.digests()
        except Interrupted:
            raise
        except BaseException:
            self._committing = None
            raise
        self._committing = None


def _import_of(value: Any) -> tuple[str, str] | None:
    """(module, name in it) of an imported object."""
    if isinstance(value, types.ModuleType) and sys.modules.get(value.__name__) is value:
        return value.__name__, ""
    if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)) and is_found(value):
        return value.__module__, value.__qualname__
    return None
