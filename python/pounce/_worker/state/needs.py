"""Which names a cell's source reads; all if in doubt: a name too many costs time, a name too few breaks the cell."""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Iterable, Iterator, Mapping

from .code_reads import reads
from .manifest import Unit

# With one of these a cell can read any name.
_ANY = frozenset(("globals", "locals", "vars", "dir", "eval", "exec"))
_SHELL = "get_ipython"  # IPython turns a magic into a call of it: the names are words in its text
_WORD = re.compile(r"[^\W\d]\w*")


def source_reads(source: str) -> set[str] | None:
    """
    Parameters
    ----------
    source : str
        Python, as IPython's input transformer leaves it.

    Returns
    -------
    set of str or None
        None: it may read any name.
    """
    try:
        code = compile(source, "<cell>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError):  # it will not run either
        return set()
    found = set(reads(code))
    if not _ANY.isdisjoint(found):
        return None
    if _SHELL in found:
        found |= {word for text in _texts(code) for word in _WORD.findall(text)}
    return found


def closure(names: Iterable[str], units: Mapping[str, Unit], others: Iterable[str] = ()) -> set[str]:
    """Those of `names` that are saved, the names in their units, and in turn the names that these refer to or that
    functions among them read."""
    known = units.keys() | set(others)
    found: set[str] = set()
    ahead = list(names)
    while ahead:
        name = ahead.pop()
        if name in known and name not in found:
            found.add(name)
            unit = units.get(name)
            if unit is not None:
                ahead += [*unit.names, *unit.depends, *unit.reads]
    return found


def _texts(code: types.CodeType) -> Iterator[str]:
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, types.CodeType):
            yield from _texts(constant)
