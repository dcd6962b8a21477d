"""The cost of leaving a worker and coming back: a namespace to the disk and into another one, compared with pickles."""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import tempfile
import time
import types
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import cloudpickle

from pounce._worker.state.folder import Folder
from pounce._worker.state.restorer import Restorer
from pounce._worker.state.saver import Saver
from .cases import Report, Settings
from .rounds import Goal, Table, interleaved

_ARRAYS = 10
_CHANGED = {"nothing": 0, "10 %": 1, "100 %": _ARRAYS}  # of the arrays
_TRIES = 40
_RATES = 100  # MiB; below this the disk's rate does not matter
OURS, FLOOR = "pounce", "the same bytes in as many files, write and fsync"
READ_FLOOR = "the same files, read"
_CELL = "x = 1"


class _State:
    """A namespace of arrays, and where a contender keeps it."""

    def __init__(self, mib: int, folder: Path):
        import numpy

        size = mib * 2**20 // _ARRAYS
        self.names: dict[str, Any] = {
            f"a{number}": numpy.random.default_rng(number).integers(0, 255, size, dtype=numpy.uint8)
            for number in range(_ARRAYS)}
        self.names["history"] = [{"epoch": number, "loss": 1 / (number + 1)} for number in range(100)]
        self.folder = folder
        folder.mkdir()

    def change(self, count: int) -> None:
        for number in range(count):
            self.names[f"a{number}"] += 1

    def leave(self) -> None:
        raise NotImplementedError

    def come_back(self) -> Any:
        raise NotImplementedError

    def files(self) -> list[Path]:
        return [path for path in self.folder.iterdir() if path.is_file()]


class _Ours(_State):
    """Everything is saved at first, as on a worker after an idle second. The next save finds what has changed since."""

    name = OURS

    def __init__(self, mib: int, folder: Path):
        super().__init__(mib, folder)
        folder.chmod(0o700)
        self.saver = Saver(Folder(folder), self.names)
        self.saver.save()
        self.touched: set[str] = set()

    def change(self, count: int) -> None:
        super().change(count)
        self.touched = {f"a{number}" for number in range(count)}

    def leave(self) -> None:
        assert self.saver.save(touched=self.touched).whole

    def come_back(self) -> Any:
        names: dict[str, Any] = {}
        restorer = Restorer(Folder(self.folder), names)
        restorer.load(restorer.names())
        restorer.close()
        return names


class _CloudPickle(_State):
    name = "cloudpickle of all to a file, fsync"

    def leave(self) -> None:
        with open(self.folder / "pickle", "wb") as file:
            cloudpickle.dump(self.names, file, protocol=5)
            file.flush()
            os.fsync(file.fileno())

    def come_back(self) -> Any:
        with open(self.folder / "pickle", "rb") as file:
            return pickle.load(file)


class _Dill(_State):
    name = "dill.dump_module, fsync"

    def __init__(self, mib: int, folder: Path):
        import dill

        super().__init__(mib, folder)
        self._dill = dill

    def leave(self) -> None:
        module = types.ModuleType("parked")
        module.__dict__.update(self.names)
        with open(self.folder / "pickle", "wb") as file:
            self._dill.dump_module(file, module)
            file.flush()
            os.fsync(file.fileno())

    def come_back(self) -> Any:
        return vars(self._dill.load_module(str(self.folder / "pickle")))


class _Plain(_State):
    """The disk itself: a loop writes the same files as `ours`."""

    name = FLOOR

    def __init__(self, ours: _Ours, folder: Path):
        folder.mkdir()
        self.folder, self._ours = folder, ours
        self._count = 0

    def change(self, count: int) -> None:
        self._count = count

    def leave(self) -> None:
        for path in sorted(self._ours.files(), key=lambda path: -path.stat().st_size)[: self._share()]:
            _write(self.folder / path.name, self._source[: path.stat().st_size])

    def _share(self) -> int:
        return -(-len(self._ours.files()) * self._count // _ARRAYS)

    @property
    def _source(self) -> memoryview:
        first = self._ours.names["a0"]
        return first.data if first.nbytes >= _LARGEST else memoryview(_RANDOM)

    def come_back(self) -> Any:
        return [_read(path) for path in self._ours.files()]


_LARGEST = 16 * 2**20  # of a file
_RANDOM = os.urandom(_LARGEST)


def _write(path: Path, data: memoryview) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    while data.nbytes:
        data = data[os.write(file, data) :]
    os.fsync(file)
    os.close(file)


def _read(path: Path) -> Any:
    import numpy

    memory: Any = numpy.empty(path.stat().st_size, numpy.uint8)
    file = os.open(path, os.O_RDONLY)
    view = memoryview(memory)
    while view.nbytes:
        view = view[os.readv(file, [view]) :]
    os.close(file)
    return memory


def _drop_from_cache(files: list[Path]) -> None:
    for path in files:
        file = os.open(path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


@contextlib.contextmanager
def _own_folder(settings: Settings) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="pounce-bench-", dir=settings.folder))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def park(settings: Settings) -> Report:
    tables: list[Table] = []
    missing: list[str] = []
    for mib in sorted({size for size in (1, 100) if size < settings.mib} | {settings.mib}):
        with _own_folder(settings) as folder:
            ours = _Ours(mib, folder / "ours")
            contenders: list[Any] = [ours, _CloudPickle(mib, folder / "cloudpickle")]
            try:
                contenders.append(_Dill(mib, folder / "dill"))
            except ImportError:
                missing = ["dill"]
            contenders.append(_Plain(ours, folder / "plain"))
            tables += _leaving(mib, contenders, settings.rounds)
            tables.append(_returning(mib, contenders, settings.rounds))
            if mib == settings.mib:
                tables.append(_waiting(ours))
                tables.append(_after_a_cell(ours, settings.rounds))
    return Report(tables, missing)


def _seconds(act: Callable[[], Any]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def _leaving(mib: int, contenders: list[Any], rounds: int) -> Iterator[Table]:
    for changed, count in _CHANGED.items():
        def turn(contender: Any, count: int = count) -> float:
            contender.change(count)
            return _seconds(contender.leave)

        able = [one for one in contenders if count or one.name != FLOOR]
        figures = interleaved({one.name: partial(turn, one) for one in able}, rounds)
        goals = {"nothing": [Goal("at most 0.3 s", OURS, 0.3, True)],
                 "100 %": [Goal("at least 0.8 x the disk's own rate", OURS, 0.8, False, FLOOR, inverse=True)]}
        judged = mib >= _RATES or changed == "nothing"
        yield Table(f"leaving, {mib} MiB, {changed} changed", "s", figures, goals.get(changed, []) if judged else [])


def _returning(mib: int, contenders: list[Any], rounds: int) -> Table:
    def turn(contender: Any) -> float:
        for one in contenders:
            _drop_from_cache(one.files())
        return _seconds(contender.come_back)

    names = {one.name: READ_FLOOR if one.name == FLOOR else one.name for one in contenders}
    figures = interleaved({names[one.name]: partial(turn, one) for one in contenders}, rounds)
    goal = Goal("at least 0.8 x the disk's own rate", OURS, 0.8, False, READ_FLOOR, inverse=True)
    return Table(f"coming back, {mib} MiB, not in the page cache", "s", figures, [goal] if mib >= _RATES else [])


def _waiting(ours: _Ours) -> Table:
    """How long a task waits that arrives during a save, at each of many moments."""
    figures: dict[str, list[float]] = {}
    objects: dict[str, Any] = {"objects": [{"number": number} for number in range(100_000)]}
    kinds: dict[str, tuple[dict[str, Any], Callable[[], None]]] = {
        "arrays, all changed": (ours.names, lambda: ours.change(_ARRAYS)),
        "100,000 dicts": (objects, lambda: None),
    }
    for kind, (names, change) in kinds.items():
        with tempfile.TemporaryDirectory(dir=ours.folder.parent) as folder:
            saver = Saver(Folder(folder), names)
            change()
            whole = _seconds(saver.save)
            waits = []
            for number in range(_TRIES):
                saver.close()
                change()
                until = time.perf_counter() + whole * number / _TRIES
                if not saver.save(interrupted=partial(_is_past, until)).whole:
                    waits.append((time.perf_counter() - until) * 1e3)
            saver.close()
        figures[kind] = waits or [0.0]
        figures[f"{kind}: the longest"] = [max(waits, default=0.0)]
    goals = [Goal(f"{kind}: at most 50 ms", f"{kind}: the longest", 50, True) for kind in kinds]
    return Table("a task waits, until save() has returned", "ms", figures, goals)


def _is_past(moment: float) -> bool:
    return time.perf_counter() >= moment


def _after_a_cell(ours: _Ours, rounds: int) -> Table:
    """The work after each cell, measured with a cell that does almost nothing."""
    code = compile(_CELL, "<cell>", "exec")
    numbers = iter(range(2**20))

    def cell() -> float:
        return _seconds(lambda: exec(code, ours.names)) * 1e3

    def marked() -> float:
        return _seconds(lambda: ours.saver.touched_by(_CELL)) * 1e3

    def saved() -> float:
        ours.names["x"] = next(numbers) + 2
        return _seconds(lambda: ours.saver.save(touched=ours.saver.touched_by(_CELL))) * 1e3

    figures = interleaved({"the cell itself: x = 1": cell, "before its answer: what it may have changed": marked,
                           "afterwards, while idle: saved": saved}, max(rounds, 5))
    ours.names.pop("__builtins__", None)
    return Table("after each cell", "ms", figures)
