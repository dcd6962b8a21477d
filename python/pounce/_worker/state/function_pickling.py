"""Pickles functions, methods and classes of the notebook, and Python's views of dicts and caches of functions, to be
rebuilt in the namespace they came from."""

from __future__ import annotations

import functools
import gc
import sys
import types
from typing import Any

# Saved states name fill_cell and finish_function in this module.
from ..._common.by_value import FUNCTION_ATTRIBUTES, fill_cell, finish_function  # noqa: F401
from .cell_files import CellFile, know
from .memory import Blobs

_HEAP_TYPE = 1 << 9  # in type.__flags__: made at run time; all others are C's, some without a name in builtins


def importable(thing: Any) -> bool:
    """Whether its name is enough to pickle it, in each process that can import its module."""
    return (isinstance(thing, type) and not thing.__flags__ & _HEAP_TYPE) or is_found(thing)


def is_found(thing: Any) -> bool:
    """Whether it is in its module, under its name."""
    module = getattr(thing, "__module__", None)
    named: Any = None if module in (None, "__main__") else sys.modules.get(module)
    for part in getattr(thing, "__qualname__", "").split("."):
        named = getattr(named, part, None)
    return named is thing


def has_name(kind: Any) -> bool:
    """False for a type without a name, such as that of iter([])."""
    return is_found(kind) or any(kind is named for named in vars(types).values())


def reduce_function(function: types.FunctionType, namespace: dict[str, Any], file: CellFile | None = None) -> Any:
    """`file`: the cell that it comes from."""
    attributes = {name: value for name in FUNCTION_ATTRIBUTES if (value := getattr(function, name)) not in (None, {})}
    arguments = (function.__code__, namespace, function.__name__, function.__closure__, file and tuple(file))
    return make_function, arguments, attributes, None, None, finish_function


def reduce_method(method: types.MethodType, pickler: Any) -> Any:
    """By its name if possible: then the function inside does not join its class with the name that has the method."""
    if not pickler.is_whole(type(method.__self__)):
        return NotImplemented
    name = method.__func__.__name__
    named = getattr(method.__self__, name, None)
    return (getattr, (method.__self__, name)) if named == method else NotImplemented


def reduce_cached(function: Any, _: Blobs) -> Any:
    """A function with functools.lru_cache: its cache comes back empty."""
    if importable(function):
        return NotImplemented
    return make_cached, (function.__wrapped__, function.cache_parameters())


def reduce_window(window: Any, _: Blobs) -> Any:
    """d.keys(), d.values() or d.items(): it continues to show the dict."""
    return make_window, (_inside(window), type(window).__name__.partition("_")[2])


def reduce_proxy(proxy: Any, _: Blobs) -> Any:
    return types.MappingProxyType, (_inside(proxy),)


def _inside(window: Any) -> Any:
    """The dict that it shows, which no attribute names."""
    return gc.get_referents(window)[0]


# ---- what a pickle calls: their names are part of the format ----

def make_function(code: Any, namespace: Any, name: str, cells: Any, file: Any = None) -> types.FunctionType:
    if file is not None:
        know(CellFile(*file))
    return types.FunctionType(code, namespace, name, None, cells)


def make_window(shown: Any, what: str) -> Any:
    return getattr(shown, what)()


def make_cached(function: Any, parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)
