"""Which names have to be saved together: those joined by objects, or by memory, that a later cell may change.

Each name is pickled once into nothing, and the ids of the objects that the pickler meets are noted. Functions and
classes of the notebook are units of their own: other names refer to them by name, so the pickler does not enter them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from .memory import Memory, in_steps
from .needs import reachable
from .pickling import Around, Pickler, is_definition
from .problems import Interrupted

Outside = list[tuple[frozenset[str], frozenset[str]]]
Dump = Callable[[Pickler, str], None]  # pickles one name's value, or raises why it cannot be


@dataclass
class Partition:
    """Names by units, and what was learned on the way."""

    around: Around  # for pickling the units; holds the picklers' memory, and is valid until the namespace changes
    units: list[frozenset[str]] = field(default_factory=list)
    failed: dict[str, BaseException] = field(default_factory=dict)  # names that are in no unit: they cannot be pickled
    nbytes: int = 0  # at most so many will be written
    depends: dict[str, set[str]] = field(default_factory=dict)
    picklers: list[Pickler] = field(default_factory=list)  # kept alive, so that no id is used twice


class Counter:
    """A file that only knows its length. `check` is called often, and may raise."""

    def __init__(self, check: Callable[[], None] = lambda: None):
        self.nbytes, self._check = 0, check

    def write(self, data: Any) -> int:
        self._check()
        size = memoryview(data).nbytes
        self.nbytes += size
        return size


def definitions(namespace: dict[str, Any], names: Iterable[str]) -> dict[int, str]:
    """Names of the notebook's functions and classes by id; for an object with two names the first."""
    known: dict[int, str] = {}
    for name in names:
        if is_definition(namespace[name], namespace):
            known.setdefault(id(namespace[name]), name)
    return known


def partition(namespace: dict[str, Any], names: list[str], known: dict[int, str], outside: Outside, dump: Dump,
              check: Callable[[], None] = lambda: None, numbers: list[Any] | None = None) -> Partition:
    """Examines `names`, and joins them only with each other. A unit in a cycle with one of `outside` has names of that
    one too: then both have to be examined.

    known : dict of int to str
        ``definitions`` of the whole namespace.
    outside : list of (names, names)
        The units that are not examined, each with the names it depends on.
    check : callable
        Called often; Interrupted passes through.
    numbers : list
        Gets containers of numbers: freeing millions of them takes a while, and the caller may do it when there is time.
    """
    found = Partition(around=Around(namespace, known))
    groups = Groups()
    owners: dict[int, str] = {}
    numbers = [] if numbers is None else numbers
    numbers.append(owners)
    for name in names:
        sink = Counter(check)
        pickler = Pickler(sink, found.around, {name}, check, counts=True)
        found.picklers.append(pickler)
        numbers.append(pickler.shared)
        try:
            dump(pickler, name)
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, Interrupted)):
                raise
            found.failed[name] = error.with_traceback(None)  # the traceback would keep this frame
            continue
        for number in in_steps(pickler.shared, check):
            owner = owners.setdefault(number, name)
            if owner is not name:
                groups.join(owner, name)
        found.depends[name] = pickler.depends - {name}
        found.nbytes += sink.nbytes + pickler.long_bytes
    whole = {name: pickler for name, pickler in zip(names, found.picklers, strict=True) if name not in found.failed}
    regions = [(region, name) for name, pickler in whole.items() for region in in_steps(pickler.regions, check)]
    found.nbytes += _join_memory(regions, groups, check)
    found.around = Around(namespace, known, Memory((region for region, _ in regions), check))
    for unit, _ in outside:
        for name in unit:
            groups.join(min(unit), name)
    others = {name: set(depends) for unit, depends in outside for name in unit}
    _join_circles({**others, **found.depends}, groups)
    found.units = [unit for unit in groups.among({*whole, *others}) if not unit.isdisjoint(whole)]
    return found


def _join_memory(regions: list[tuple[Any, str]], groups: Groups, check: Callable[[], None]) -> int:
    """Joins names whose memory overlaps. Returns the bytes of all regions, each counted once."""
    nbytes = device = end = 0
    first = ""
    for region, name in in_steps(sorted(regions, key=lambda pair: pair[0].place), check):
        if region.device != device or region.start >= end:
            device, end, first = region.device, region.start, name
        groups.join(first, name)
        nbytes += max(0, region.end - end)
        end = max(end, region.end)
    return nbytes


def _join_circles(depends: dict[str, set[str]], groups: Groups) -> None:
    """Joins units that need each other: neither could be loaded first."""
    edges: dict[str, set[str]] = {}
    for name, others in depends.items():
        edges.setdefault(groups.of(name), set()).update(groups.of(other) for other in others)
    reached = {name: reachable(ahead, lambda each: edges.get(each, ())) for name, ahead in edges.items()}
    for name, others in reached.items():
        for other in others:
            if name in reached.get(other, ()):
                groups.join(name, other)


class Groups:
    """Union-find over names."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def of(self, name: str) -> str:
        while (parent := self._parent.setdefault(name, name)) != name:
            self._parent[name] = self._parent[parent]
            name = self._parent[name]
        return name

    def join(self, one: str, other: str) -> None:
        self._parent[self.of(other)] = self.of(one)

    def among(self, names: set[str]) -> list[frozenset[str]]:
        groups: dict[str, set[str]] = {}
        for name in names:
            groups.setdefault(self.of(name), set()).add(name)
        return sorted((frozenset(group) for group in groups.values()), key=sorted)
