"""Streams of random numbers: one for each call, item, rank and cell, of the seeds that a notebook has set.

A stream is a key for each global generator that was seeded or drawn from in the notebook. Those of many items are derived
from one by their numbers, so they are the same whichever worker runs them, in whatever chunks, and however often.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import TypeAlias

from .. import _core
from .after_import import AfterImport
from .generators import GENERATORS

Streams: TypeAlias = "dict[str, bytes]"  # generator to key

_waiting: dict[str, AfterImport] = {}  # for libraries that are not imported here


def derived(base: Streams, number: int) -> Streams:
    """That of the item or rank of this number."""
    of_item = number.to_bytes(8, "little")
    return {name: _core.digest(key + of_item) for name, key in base.items()}


def begin(streams: Streams) -> None:
    """The generators draw from these streams from now on; that of a library which is imported later, from then on."""
    for name, generator in GENERATORS.items():
        key = streams.get(name)
        when_here(name, None if key is None else functools.partial(generator.seed, key))


def when_here(name: str, act: Callable[[], None] | None) -> None:
    """Calls `act` now if the library of that generator is imported, else when it is; what was to be called before is not."""
    waits = _waiting.pop(name, None)
    if waits is not None:
        waits.stop()
    if act is None:
        return
    if GENERATORS[name].is_here:
        act()
    else:
        _waiting[name] = AfterImport(name, act)


def for_each(base: Streams | None, first: int) -> Callable[[], None]:
    """Called before each of several items, of which the first has this number."""
    if base is None:
        return lambda: None
    numbers = itertools.count(first)
    return lambda: begin(derived(base, next(numbers)))
