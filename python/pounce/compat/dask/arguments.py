"""Futures inside arguments: found in lists, tuples, namedtuples, sets and dicts at any depth, and replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .future import Future

_KINDS = (list, tuple, set, frozenset)


def is_namedtuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(type(value), "_fields")


def futures_in(value: Any) -> Iterator[Future]:
    if isinstance(value, Future):
        yield value
    elif type(value) is dict:
        for one in value.values():
            yield from futures_in(one)
    elif type(value) in _KINDS or is_namedtuple(value):
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
    return rebuilt(value, [replaced(one, by) for one in value])  # no generator: a StopIteration cannot pass one


def rebuilt(like: Any, items: list[Any]) -> Any:
    """These items in a collection like that one."""
    return type(like)._make(items) if is_namedtuple(like) else type(like)(items)
