"""Names that code looks up in its namespace."""

from __future__ import annotations

import types

_LOOKS_UP = frozenset((
    "LOAD_NAME", "LOAD_GLOBAL", "DELETE_NAME", "DELETE_GLOBAL", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_GLOBALS"))
_known: dict[types.CodeType, frozenset[str]] = {}
_MOST_KNOWN = 10_000


def reads(code: types.CodeType) -> frozenset[str]:
    """The names that this code and functions inside it look up."""
    import dis  # not earlier: while a worker starts, the user's GPU is idle

    found = _known.get(code)
    if found is None:
        names = {step.argval for step in dis.get_instructions(code) if step.opname in _LOOKS_UP}
        inside = [reads(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
        found = frozenset(names.union(*inside))
        if len(_known) < _MOST_KNOWN:
            _known[code] = found
    return found
