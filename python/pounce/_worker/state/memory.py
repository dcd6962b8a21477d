"""Who owns the memory of arrays and tensors: ids do not tell that an array, its views and a tensor on it are one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from .problems import NotParkable

INLINE_BYTES = 64 * 1024  # smaller memory lies in the pickle itself

_STEP = 1000
T = TypeVar("T")

OWNER, EXPORTER, STORAGE = 3, 2, 1  # ranks: of two that own the same bytes the higher is built first


@dataclass(frozen=True, eq=False)
class Region:
    """Memory from one allocation.

    device : str
        ``"cpu"`` or torch's name of a GPU: addresses of different devices have nothing to do with each other.
    start, size : int, bytes
    thing : Any
        What is pickled for it: an array that owns it, a bytearray, a torch storage.
    """

    device: str
    start: int
    size: int
    thing: Any
    rank: int

    @functools.cached_property
    def place(self) -> tuple[str, int]:
        return self.device, self.start

    @property
    def end(self) -> int:
        return self.start + max(self.size, 1)  # an empty array has an address too


class Memory:
    """The regions that all names together use, and which of two that overlap stands for both."""

    def __init__(self, regions: Iterable[Region] = (), check: Callable[[], None] = lambda: None):
        self._owners: dict[tuple[str, int, int], Region] = {}
        for cluster in in_steps(clusters(regions, check), check):
            owner = max(cluster, key=lambda region: (region.size, region.rank))
            for region in cluster:
                self._owners[(region.device, region.start, region.size)] = owner

    def owner(self, region: Region) -> Region:
        """The one to pickle in place of `region`: itself where no other has its bytes."""
        found = self._owners.get((region.device, region.start, region.size), region)
        if found.start > region.start or found.end < region.end:
            raise NotParkable(region.thing, "its memory overlaps that of another object in part")
        return found


def in_steps(items: Iterable[T], check: Callable[[], None]) -> Iterator[T]:
    """With a question between each thousand whether somebody waits."""
    for number, item in enumerate(items):
        if not number % _STEP:
            check()
        yield item


def clusters(regions: Iterable[Region], check: Callable[[], None] = lambda: None) -> list[list[Region]]:
    """Those that overlap, together."""
    found: list[list[Region]] = []
    device, end = "", 0
    for region in in_steps(sorted(regions, key=lambda region: region.place), check):
        if region.device != device or region.start >= end:
            found.append([])
            device, end = region.device, 0
        found[-1].append(region)
        end = max(end, region.end)
    return found


class Blob:
    """Bytes beside the pickle: only its place in the list of these is in the pickle."""

    def __init__(self, index: int):
        self.index = index


class Blobs(Protocol):
    """What the pickling of arrays and tensors asks of the pickler.

    check : callable
        Between two steps of long work; raises when somebody waits.
    counts : bool
        What blob() gets is not looked into, only its ``nbytes``.
    """

    check: Callable[[], None]
    counts: bool

    def owner(self, region: Region) -> Region: ...

    def blob(self, data: Any) -> Any:
        """`data`: contiguous, bytes; itself copied where it is small, else a Blob."""

    def once(self, key: Any, make: Any) -> Any:
        """What `make` gave for this key in this pickle."""


class Filler(Protocol):
    """What a Blob is when it is loaded."""

    def fill(self, target: memoryview) -> None: ...

    def whole(self) -> bytearray: ...


def fill(target: Any, data: bytes | Filler) -> None:
    """`target`: writable bytes, of just the data's size."""
    view = memoryview(target)
    if not view.nbytes:
        return
    if isinstance(data, bytes):
        view[:] = data
    else:
        data.fill(view)
