"""Names of the original libraries that pounce does not offer, each with an alternative."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from ..errors import BadRequest


class NotOffered(AttributeError):
    """A name that the original has and pounce has not. An AttributeError, so that hasattr() is False for it."""


def name_of_module(module: str, name: str, instead: Mapping[str, str]) -> NoReturn:
    """For a module's ``__getattr__``. A name in `instead` is an ImportError, whose text ``from ... import`` shows."""
    if name in instead:
        raise ImportError(f"{module}.{name} is not offered. {instead[name]}", name=module)
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


def name_of_object(kind: str, name: str, instead: Mapping[str, str]) -> NoReturn:
    """For a class's ``__getattr__``."""
    if name in instead:
        raise NotOffered(f"{kind}.{name} is not offered. {instead[name]}")
    raise AttributeError(f"{kind!r} object has no attribute {name!r}")


def keywords(call: str, given: Mapping[str, object], instead: Mapping[str, str]) -> None:
    """Refuses each keyword whose value is not None or False: the program relies on it, and pounce does not do it."""
    for word, value in given.items():
        if value is not None and value is not False:
            raise BadRequest(f"{call} does not take {word}={value!r}", instead[word])


def unknown_keywords(call: str, given: Mapping[str, object], known: Mapping[str, str]) -> None:
    """Refuses all keywords. One in `known`, which the original takes, is refused with an alternative."""
    for word, value in given.items():
        if word not in known:
            raise BadRequest(f"{call} has no keyword {word}=", "See docs/migrate.md for those that it has.")
        raise BadRequest(f"{call} does not take {word}={value!r}", known[word])
