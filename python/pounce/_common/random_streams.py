"""Streams of random numbers: one for each call, item, rank and cell, from the seeds that the notebook has set.

A stream is a key for each global generator that was seeded or drawn from in the notebook. The streams of many items are
derived from one by item number, so they do not depend on the worker, on the chunks, or on repeated runs.
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
    """The streams of the item or rank with this number."""
    of_item = number.to_bytes(8, "little")
    return {name: _core.digest(key + of_item) for name, key in base.items()}


def begin(streams: Streams) -> None:
    """Seeds the generators with these streams; that of a library that is not imported yet, when it is imported."""
    for name, generator in GENERATORS.items():
        key = streams.get(name)
        when_here(name, None if key is None else functools.partial(generator.seed, key))


def when_here(name: str, act: Callable[[], None] | None) -> None:
    """Calls `act` when the library of that generator is imported, at once if it is. Replaces an earlier `act`."""
    earlier = _waiting.pop(name, None)
    if earlier is not None:
        earlier.stop()
    if act is None:
        return
    if GENERATORS[name].is_here:
        act()
    else:
        _waiting[name] = AfterImport(name, act)


def for_each(base: Streams | None, first: int) -> Callable[[], None]:
    """A function to call before each of several items, of which the first has this number."""
    if base is None:
        return lambda: None
    numbers = itertools.count(first)
    return lambda: begin(derived(base, next(numbers)))
