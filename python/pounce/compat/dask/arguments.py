"""Futures inside arguments: found in lists, tuples, sets and dicts at any depth, and replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .future import Future

_KINDS = (list, tuple, set, frozenset)


def futures_in(value: Any) -> Iterator[Future]:
    if isinstance(value, Future):
        yield value
    elif type(value) is dict:
        for one in value.values():
            yield from futures_in(one)
    elif type(value) in _KINDS:
        for one in value:
            yield from futures_in(one)


def replaced(value: Any, by: Callable[[Future], Any]) -> Any:
    """`value`, or a copy of it where futures are inside."""
    if isinstance(value, Future):
        return by(value)
    if next(futures_in(value), None) is None:
        return value
    if isinstance(value, dict):
        return {key: replaced(one, by) for key, one in value.items()}
    return type(value)([replaced(one, by) for one in value])  # no generator, which a StopIteration cannot pass
