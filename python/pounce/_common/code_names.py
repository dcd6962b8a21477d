"""Names that the code of a function looks up in its globals."""

from __future__ import annotations

import types
import weakref

_LOOKS_UP = frozenset((
    "LOAD_NAME", "LOAD_GLOBAL", "DELETE_NAME", "DELETE_GLOBAL", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_GLOBALS"))
_names: weakref.WeakKeyDictionary[types.CodeType, tuple[str, ...]] = weakref.WeakKeyDictionary()
_reads: weakref.WeakKeyDictionary[types.CodeType, frozenset[str]] = weakref.WeakKeyDictionary()


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


def global_reads(code: types.CodeType) -> frozenset[str]:
    """Names that this code and functions inside it look up in their globals."""
    import dis  # not at the top: a worker's start takes time on a leased GPU

    known = _reads.get(code)
    if known is None:
        names = {step.argval for step in dis.get_instructions(code) if step.opname in _LOOKS_UP}
        inside = [global_reads(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
        known = _reads[code] = frozenset(names.union(*inside))
    return known
