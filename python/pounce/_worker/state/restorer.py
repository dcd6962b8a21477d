"""Restores names of a saved state into a namespace: the requested ones, with the names they need, each once."""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from . import large_stack, manifest
from .blobs import Reader, Stored
from .folder import Folder
from .manifest import Manifest, Unit
from .needs import closure
from .pickling import PYTHON, Unpickler
from .problems import Damaged, StateError, TooSlow

LOAD_S = 600.0
_TOO_LARGE = "it does not fit into this worker's memory"


@dataclass
class Loaded:
    """The result of one load(). `names`: all but imports. `nbytes`: of the units read. `failed`: name to reason."""

    names: list[str] = field(default_factory=list)
    nbytes: int = 0
    failed: dict[str, str] = field(default_factory=dict)

    def fails(self, unit: Unit, why: str) -> None:
        self.failed.update(dict.fromkeys(unit.names, why))

    def fails_with_others(self, unit: Unit) -> bool:
        """Whether the unit needs a name that has failed."""
        lost = sorted(unit.depends & self.failed.keys())
        if lost:
            self.fails(unit, f"it needs {lost[0]}, which was not restored")
        return bool(lost)


class _Source:
    """Reads a Blob of the pickle."""

    def __init__(self, reader: Reader, stored: Stored):
        self._reader, self._stored = reader, stored

    def fill(self, target: memoryview) -> None:
        self._reader.fill(self._stored, target)

    def whole(self) -> bytearray:
        return self._reader.read(self._stored)


class Restorer:
    """Thread: one. Raises Damaged, Foreign, here and from load(): nothing was put into the namespace then."""

    def __init__(self, folder: Folder, namespace: dict[str, Any], key: bytes = b""):
        self._folder, self._namespace, self._key = folder, namespace, key
        self._read = folder.manifest()
        self._manifest = Manifest() if self._read is None else manifest.decode(self._read, key)
        self._reader = Reader(folder)
        self._units = {name: unit for unit in self._manifest.units for name in unit.names}
        self._pending = self._units.keys() | self._manifest.modules.keys()
        self._values: dict[str, Any] = {}  # of the units loaded here that others refer to
        self._loaded: set[Unit] = set()

    def names(self) -> list[str]:
        """All names that can be loaded, or were."""
        return sorted(self._units.keys() | self._manifest.modules.keys())

    def pending(self) -> set[str]:
        return set(self._pending)

    def newest(self) -> Restorer:
        """After Folder.take(): a restorer of the last state that the earlier worker saved; this one if it read that."""
        if self._folder.manifest() == self._read:
            return self
        self.close()
        return Restorer(self._folder, self._namespace, self._key)

    @property
    def saved(self) -> Manifest:
        """For a Saver that continues from here."""
        return self._manifest

    @property
    def cell(self) -> int:
        """Number of the last cell whose work this has."""
        return self._manifest.cell

    @property
    def turn(self) -> int:
        return self._manifest.turn

    def lost(self) -> dict[str, tuple[str, int]]:
        """Names that were not saved, each with why, and with the number of the cell that made it."""
        return {name: (why, self._manifest.made.get(name, 0)) for name, why in self._manifest.unparkable.items()}

    def process(self) -> bytes:
        """For process_state.Waiting; empty: none was saved."""
        stored = self._manifest.process
        return b"" if stored is None else bytes(self._reader.read(stored))

    def load(self, names: Iterable[str]) -> Loaded:
        """Loads names and what they need. A name that the namespace has already is newer, and stays."""
        report = Loaded()
        wanted = closure(names, self._units, self._manifest.modules) & self._pending
        self._load_modules(wanted, report)
        values: dict[str, Any] = {}
        units = [unit for unit in self._in_order(wanted) if self._fits(unit, report)]
        self._reader.expect(one for unit in units for one in (unit.graph, *unit.buffers, *unit.blobs))
        for unit in units:
            self._load(unit, values, report)
        for name, value in values.items():
            self._namespace.setdefault(name, value)
            report.names.append(name)
        self._pending -= values.keys()
        return report

    def outdated(self) -> set[str]:
        """Pending names that refer to a function or class by a name that now means another object, or none: load()
        still gives them the saved one. Raises Damaged.
        """
        pending = {self._units[name] for name in self._pending & self._units.keys()}
        needed = {name for unit in pending for name in unit.depends if name not in self._pending}
        for unit in self._in_order({name for name in needed if name in self._namespace}):
            self._load(unit, {}, Loaded())
        gone = {name for name in needed if self._namespace.get(name, self) is not self._values.get(name)}
        return {name for unit in pending if not unit.depends.isdisjoint(gone) for name in unit.names & self._pending}

    def forget(self, names: Iterable[str]) -> None:
        """The names were deleted, or assigned anew."""
        self._pending -= set(names)

    def close(self) -> None:
        self._reader.close()

    # ---- the order ----

    def _in_order(self, names: set[str]) -> list[Unit]:
        """The units, each after those that it depends on; there are no cycles."""
        order: dict[Unit, None] = {}
        ahead = [(self._units[name], False) for name in sorted(names & self._units.keys(), reverse=True)]
        entered: set[Unit] = set()
        while ahead:
            unit, is_done = ahead.pop()
            if is_done:
                order.setdefault(unit)
            elif unit not in entered and unit not in self._loaded:
                entered.add(unit)
                ahead.append((unit, True))
                depends = sorted(unit.depends & self._units.keys(), reverse=True)
                ahead += [(self._units[name], False) for name in depends]
        return list(order)

    # ---- one unit ----

    def _fits(self, unit: Unit, report: Loaded) -> bool:
        why = next((why for package in sorted(unit.packages) if (why := self._misfit(package))), "")
        if not why:
            return not report.fails_with_others(unit)
        report.fails(unit, why)
        return False

    def _misfit(self, package: str) -> str:
        if package != PYTHON:
            try:
                importlib.import_module(package)
            except Exception as error:
                return f"it needs {package}, which cannot be imported here: {error}"
        saved, here = self._manifest.versions.get(package, ""), manifest.version_here(package)
        if manifest.fits(saved, here):
            return ""
        return f"it was saved with {package} {saved}, and here is {here or 'none'}"

    def _load_modules(self, wanted: set[str], report: Loaded) -> None:
        for name in sorted(wanted & self._manifest.modules.keys()):
            module, inside = self._manifest.modules[name]
            try:
                value: Any = importlib.import_module(module)
                for part in filter(None, inside.split(".")):
                    value = getattr(value, part)
            except Exception as error:
                report.failed[name] = f"{module} cannot be imported here: {error}"
                continue
            self._namespace.setdefault(name, value)
            self._pending.discard(name)

    def _load(self, unit: Unit, values: dict[str, Any], report: Loaded) -> None:
        if report.fails_with_others(unit):
            return
        try:
            loader = self._unpickler(unit)
        except MemoryError:
            return report.fails(unit, _TOO_LARGE)
        try:
            held = large_stack.call(loader.load, LOAD_S)
        except (Damaged, KeyboardInterrupt):
            raise
        except StateError as error:
            return report.fails(unit, str(error))
        except MemoryError:
            return report.fails(unit, _TOO_LARGE)
        except (Exception, SystemExit, TooSlow) as error:
            return report.fails(unit, f"it cannot be loaded: {type(error).__name__}: {error}")
        self._loaded.add(unit)
        report.nbytes += unit.nbytes()
        self._values.update(held)
        values.update((name, held[name]) for name in unit.names & self._pending)

    def _unpickler(self, unit: Unit) -> Unpickler:
        graph = self._reader.read(unit.graph)
        blobs = [_Source(self._reader, one) for one in unit.blobs]
        buffers = [self._reader.read(one) for one in unit.buffers]
        newest = not unit.names.isdisjoint(self._pending)
        file = io.BytesIO(graph)
        return Unpickler(file, self._namespace, self._named, blobs, buffers, newest)  # type: ignore[arg-type]

    def _named(self, name: str) -> Any:
        return self._values[name]
