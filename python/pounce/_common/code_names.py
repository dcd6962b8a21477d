"""Names that the code of a function looks up in its globals."""

from __future__ import annotations

import types
import weakref
from collections.abc import Iterator

_names: weakref.WeakKeyDictionary[types.CodeType, tuple[str, ...]] = weakref.WeakKeyDictionary()


def global_names(code: types.CodeType) -> tuple[str, ...]:
    """Names that the code may look up in its globals, nested functions included; attribute names too, harmlessly."""
    known = _names.get(code)
    if known is None:
        names = dict.fromkeys(code.co_names)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                names.update(dict.fromkeys(global_names(constant)))
        known = _names[code] = tuple(names)
    return known


def global_reads(code: types.CodeType) -> Iterator[str]:
    """Names that a function's code looks up in its globals, those of functions inside it too."""
    import dis  # not at the top: a worker's start takes time on a leased GPU

    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from global_reads(constant)
