"""Functions, methods and classes of the notebook, and what Python makes of dicts and functions: rebuilt in the namespace they came from."""

from __future__ import annotations

import functools
import gc
import sys
import types
from typing import Any

from ..._common.by_value import FUNCTION_ATTRIBUTES, fill_cell, finish_function  # noqa: F401  saved states name them here
from .memory import Blobs

_HEAP_TYPE = 1 << 9  # of type.__flags__: made while Python runs; all others are C's, some under no name in builtins


def importable(thing: Any) -> bool:
    """True: it is written as its name, which says all in each process that can import its module."""
    return (isinstance(thing, type) and not thing.__flags__ & _HEAP_TYPE) or is_found(thing)


def is_found(thing: Any) -> bool:
    """In its module, under its name."""
    module = getattr(thing, "__module__", None)
    found: Any = None if module in (None, "__main__") else sys.modules.get(module)
    for part in getattr(thing, "__qualname__", "").split("."):
        found = getattr(found, part, None)
    return found is thing


def has_name(kind: Any) -> bool:
    """False: a type such as that of iter([]), which no name leads to."""
    return is_found(kind) or any(kind is named for named in vars(types).values())


def reduce_function(function: types.FunctionType, namespace: dict[str, Any]) -> Any:
    attributes = {name: value for name in FUNCTION_ATTRIBUTES if (value := getattr(function, name)) not in (None, {})}
    return make_function, (function.__code__, namespace, function.__name__, function.__closure__), attributes, None, None, finish_function


def reduce_method(method: types.MethodType, pickler: Any) -> Any:
    """By its name where it can be: so the function inside does not join its class with who holds the method."""
    if not pickler.is_whole(type(method.__self__)):
        return NotImplemented
    name = method.__func__.__name__
    found = getattr(method.__self__, name, None)
    return (getattr, (method.__self__, name)) if found == method else NotImplemented


def reduce_cached(function: Any, _: Blobs) -> Any:
    """functools.lru_cache's: it comes back empty."""
    return NotImplemented if importable(function) else (make_cached, (function.__wrapped__, function.cache_parameters()))


def reduce_window(window: Any, _: Blobs) -> Any:
    """d.keys(), d.values() or d.items(): it goes on showing what the dict has."""
    return make_window, (_inside(window), type(window).__name__.partition("_")[2])


def reduce_proxy(proxy: Any, _: Blobs) -> Any:
    return types.MappingProxyType, (_inside(proxy),)


def _inside(window: Any) -> Any:
    """The dict that it shows: no attribute names it."""
    return gc.get_referents(window)[0]


# ---- what a pickle calls: their names are part of the format ----

def make_function(code: Any, namespace: Any, name: str, cells: Any) -> types.FunctionType:
    return types.FunctionType(code, namespace, name, None, cells)


def make_window(shown: Any, what: str) -> Any:
    return getattr(shown, what)()


def make_cached(function: Any, parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)
