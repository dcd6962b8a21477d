"""Which variables the callbacks of a widget may read: those that are saved have to be restored before they run."""

from __future__ import annotations

import functools
import gc
import types
from collections.abc import Iterator, Mapping
from typing import Any

from ..._common.code_names import global_reads
from ..state.live_reads import reached

_MOST = 100_000  # objects that are looked at
_HOLDERS = (dict, list, tuple, set, types.MethodType, types.CellType, functools.partial)


def reads_of(widget: Any, names: Mapping[str, Any]) -> set[str]:
    """Those of functions that it leads to, itself or through other widgets."""
    found: set[str] = set()
    for function in _functions(widget):
        if function.__globals__ is names:
            found |= set(global_reads(function.__code__))
    return reached(found, names)


def _functions(widget: Any) -> Iterator[types.FunctionType]:
    ahead, seen = [widget], {id(widget)}
    while ahead and len(seen) < _MOST:
        one = ahead.pop()
        if isinstance(one, types.FunctionType):
            yield one
            inside: list[Any] = [*(one.__closure__ or ()), *(one.__defaults__ or ())]
        elif isinstance(one, _HOLDERS) or _is_of_widgets(one):
            inside = [each for each in gc.get_referents(one) if not isinstance(each, (type, types.ModuleType))]
        else:
            continue
        fresh = [each for each in inside if id(each) not in seen]
        seen |= {id(each) for each in fresh}
        ahead += fresh


def _is_of_widgets(one: Any) -> bool:
    return hasattr(type(one), "observe") or type(one).__module__.partition(".")[0] in ("ipywidgets", "traitlets")
