"""The pickler for a notebook's objects: its own classes, functions and types go by value, importable ones by name."""

from __future__ import annotations

import collections
import dataclasses
import functools
import io
import sys
import types
import typing
from typing import Any, ClassVar

import cloudpickle

from . import class_pickling, generators

# What a function has beside its code and its closure.
FUNCTION_ATTRIBUTES = ("__defaults__", "__kwdefaults__", "__dict__", "__annotations__", "__doc__", "__qualname__",
                       "__module__")


class Pickler(cloudpickle.Pickler):
    """cloudpickle's, except for classes (class_pickling.py), global generators of random numbers (generators.py), and
    variables that several functions share."""

    dispatch_table: ClassVar[Any] = collections.ChainMap(
        {}, generators.reducers, *cloudpickle.Pickler.dispatch_table.maps)

    def __init__(self, *arguments: Any, **options: Any):
        generators.know_imported()
        super().__init__(*arguments, **options)

    def reducer_override(self, obj: Any) -> Any:
        kind = type(obj)
        if not issubclass(kind, type):
            return super().reducer_override(obj) if kind is types.FunctionType else NotImplemented
        if class_pickling.goes_by_value(obj):
            return class_pickling.reduced(obj, self.brings(obj))
        return super().reducer_override(obj)

    def brings(self, cls: type) -> Any:
        """Whether a class that goes by value replaces the attributes of the one that the reader knows."""
        return False

    def _function_getnewargs(self, func: Any) -> Any:
        """With the function's own cells: cloudpickle makes new ones for each, so two functions no longer share them."""
        code, base, name, defaults, _ = super()._function_getnewargs(func)
        return code, base, name, defaults, func.__closure__


def dumps(obj: Any) -> bytes:
    """In one piece. The reader keeps its own version of a class that it knows."""
    file = io.BytesIO()
    Pickler(file, protocol=5).dump(obj)
    return file.getvalue()


def _reduced_cell(cell: types.CellType) -> Any:
    """Two functions that share a variable still share it after unpickling."""
    try:
        contents = (cell.cell_contents,)
    except ValueError:  # still empty
        return types.CellType, ()
    return types.CellType, (), contents, None, None, fill_cell


def _reduced_cached_property(cached: functools.cached_property[Any]) -> Any:
    """Without the lock that it has until Python 3.12."""
    return functools.cached_property, (cached.func,), {"attrname": cached.attrname}


def _reduced_new_type(kind: Any) -> Any:
    name = kind.__qualname__
    if kind.__module__ != "__main__" and getattr(sys.modules.get(kind.__module__), name, None) is kind:
        return name
    return make_new_type, (class_pickling.id_of(kind), kind.__name__, kind.__supertype__, kind.__module__)


# ---- functions that a pickle calls: their names are part of the format ----

def fill_cell(cell: types.CellType, contents: tuple[Any]) -> None:
    cell.cell_contents = contents[0]


def finish_function(function: types.FunctionType, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        if name == "__dict__":
            function.__dict__.update(value)
        else:
            setattr(function, name, value)


def make_new_type(ident: str, name: str, supertype: Any, module: str) -> Any:
    kind: Any = typing.NewType
    made = kind(name, supertype)
    made.__module__ = module
    return class_pickling.the_one(ident, made)


Pickler.dispatch_table.maps[0].update({
    types.CellType: _reduced_cell,
    functools.cached_property: _reduced_cached_property,
    typing.NewType: _reduced_new_type,
    type(dataclasses.MISSING): lambda _: "MISSING",  # it is compared by `is`
})
