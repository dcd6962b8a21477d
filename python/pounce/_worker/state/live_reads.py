"""Which names of a namespace a cell may reach: those that it reads, and those that functions and classes among them
look up in turn."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..._common.code_names import global_reads
from .needs import reachable


def reached(names: Iterable[str], namespace: Mapping[str, Any]) -> set[str]:
    """`names`, and those they lead to; of an object only its class counts. Names that the namespace lacks are kept."""
    return reachable(names, lambda name: _of(namespace.get(name), namespace))


def _of(value: Any, namespace: Mapping[str, Any]) -> Iterator[str]:
    kind = value if isinstance(value, type) else type(value)
    for function in _functions(kind) if kind.__module__ == "__main__" else [value]:
        code = getattr(function, "__code__", None)
        if isinstance(code, types.CodeType) and getattr(function, "__globals__", None) is namespace:
            yield from global_reads(code)


def _functions(kind: type) -> Iterator[Any]:
    for base in kind.__mro__:
        if base.__module__ == "__main__":
            for part in vars(base).values():
                yield getattr(part, "__func__", None) or getattr(part, "fget", None) or part
