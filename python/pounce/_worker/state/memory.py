"""Which object owns the memory of arrays and tensors: ids do not show that an array, its views and tensors share it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from .problems import NotParkable

INLINE_BYTES = 64 * 1024  # smaller memory lies in the pickle itself

_STEP = 1000
T = TypeVar("T")

OWNER, EXPORTER, STORAGE = 3, 2, 1  # ranks: of two owners of the same bytes the higher is built first


@dataclass(frozen=True, eq=False)
class Region:
    """Memory from one allocation."""

    device: str  # "cpu" or torch's name of a GPU: addresses of different devices are unrelated
    start: int
    size: int    # in bytes
    thing: Any   # the object that is pickled for it: an array that owns it, a bytearray, a torch storage
    rank: int

    @functools.cached_property
    def place(self) -> tuple[str, int]:
        return self.device, self.start

    @property
    def end(self) -> int:
        return self.start + max(self.size, 1)  # an empty array has an address too


class Memory:
    """The regions that all names use, and which of two overlapping ones stands for both."""

    def __init__(self, regions: Iterable[Region] = (), check: Callable[[], None] = lambda: None):
        self._owners: dict[tuple[str, int, int], Region] = {}
        for cluster in in_steps(_overlapping(regions, check), check):
            owner = max(cluster, key=lambda region: (region.size, region.rank))
            for region in cluster:
                self._owners[(region.device, region.start, region.size)] = owner

    def owner(self, region: Region) -> Region:
        """The region to pickle in place of `region`: itself if no other has its bytes."""
        owner = self._owners.get((region.device, region.start, region.size), region)
        if owner.start > region.start or owner.end < region.end:
            raise NotParkable(region.thing, "its memory overlaps that of another object in part")
        return owner


def in_steps(items: Iterable[T], check: Callable[[], None]) -> Iterator[T]:
    """The items, with a check for a waiting task before each thousand."""
    for number, item in enumerate(items):
        if not number % _STEP:
            check()
        yield item


def _overlapping(regions: Iterable[Region], check: Callable[[], None]) -> list[list[Region]]:
    groups: list[list[Region]] = []
    device, end = "", 0
    for region in in_steps(sorted(regions, key=lambda region: region.place), check):
        if region.device != device or region.start >= end:
            groups.append([])
            device, end = region.device, 0
        groups[-1].append(region)
        end = max(end, region.end)
    return groups


class Blob:
    """Bytes beside the pickle, which has only their index in the list of blobs."""

    def __init__(self, index: int):
        self.index = index


class Blobs(Protocol):
    """What the pickling of arrays and tensors needs from the pickler."""

    check: Callable[[], None]  # called between two steps of long work; raises when a task waits
    counts: bool  # blob() does not read its data, only the `nbytes`

    def owner(self, region: Region) -> Region: ...

    def blob(self, data: Any) -> Any:
        """`data`: contiguous bytes. Returns a copy if they are few, otherwise a Blob."""

    def once(self, key: Any, make: Any) -> Any:
        """The value that `make` returned for this key in this pickle."""


class Filler(Protocol):
    """Stands for a Blob when a pickle is loaded."""

    def fill(self, target: memoryview) -> None: ...

    def whole(self) -> bytearray: ...


def fill(target: Any, data: bytes | Filler) -> None:
    """`target`: writable bytes of exactly the data's size."""
    view = memoryview(target)
    if not view.nbytes:
        return
    if isinstance(data, bytes):
        view[:] = data
    else:
        data.fill(view)
