"""Which names a cell's source reads; all if in doubt: a name too many costs time, a name too few breaks the cell."""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping

from ..._common.code_names import global_reads
from ..._common.quiet_compile import quiet_compile
from .manifest import Unit

# With one of these a cell can read any name.
_ANY = frozenset(("globals", "locals", "vars", "dir", "eval", "exec"))
_SHELL = "get_ipython"  # IPython turns a magic into a call of it: the names are words in its text
_WORD = re.compile(r"[^\W\d]\w*")


def source_reads(source: str) -> set[str] | None:
    """The names that Python code, as IPython's input transformer leaves it, reads; None: it may read any name."""
    try:
        code = quiet_compile(source, "<cell>", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError):  # it will not run either
        return set()
    found = set(global_reads(code))
    if not _ANY.isdisjoint(found):
        return None
    if _SHELL in found:
        found |= {word for text in _texts(code) for word in _WORD.findall(text)}
    return found


def closure(names: Iterable[str], units: Mapping[str, Unit], others: Iterable[str] = ()) -> set[str]:
    """Those of `names` that are saved, the names in their units, and in turn the names that these refer to or that
    functions among them read."""
    known = units.keys() | set(others)

    def needs(name: str) -> set[str]:
        unit = units.get(name)
        return set() if unit is None else known & (unit.names | unit.depends | unit.reads)

    return reachable(known.intersection(names), needs)


def reachable(names: Iterable[str], onward: Callable[[str], Iterable[str]]) -> set[str]:
    """`names`, and in turn those that `onward` gives for each."""
    reached: set[str] = set()
    ahead = list(names)
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            ahead += onward(name)
    return reached


def _texts(code: types.CodeType) -> Iterator[str]:
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, types.CodeType):
            yield from _texts(constant)
