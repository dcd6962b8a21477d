"""Variables of a notebook to bytes and back, pickled together, so that objects they share stay shared.

A function of the notebook travels without its globals and uses those of the other side: it sees a change of a global
there, as it would in the notebook. A class of the notebook is a variable of its own as well: an object brings its class
where that is not known, and does not change a class that is.
"""

from __future__ import annotations

import io
import pickle
import sys
import types
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from . import by_value, class_pickling
from .code_names import global_reads
from .ref import meanwhile, pickling

CHECKED_BYTES = 64 * 1024 * 1024  # larger values are compared by samples
_SAMPLES, _SAMPLE_BYTES = 256, 4096


@dataclass
class Measured:
    """One value: a digest that changes with it, its size, and the names that it takes from the notebook: those that its
    functions look up, and those of classes, which are compared as variables of their own."""

    digest: bytes
    nbytes: int
    checked: bool = True  # False: compared by samples only
    names: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)


class _TooLarge(Exception):
    pass


class _Counted(io.BytesIO):
    def write(self, data: Any) -> int:
        if self.tell() > CHECKED_BYTES:
            raise _TooLarge
        return super().write(data)


class _Pickler(by_value.Pickler):
    """`brings`: names of the notebook whose classes replace those of the other side; `unnamed`: unnamed ones do too."""

    def __init__(self, file: Any, buffers: list[Any] | None, brings: Container[str], unnamed: bool):
        super().__init__(file, protocol=5, buffer_callback=None if buffers is None else buffers.append)
        self._brings, self._unnamed = brings, unnamed

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is types.FunctionType and obj.__globals__ is _namespace():
            return _reduced(obj)
        return super().reducer_override(obj)

    def brings(self, cls: type) -> bool:
        name = _name_of(cls)
        return name in self._brings if name else self._unnamed


class _Measurer(_Pickler):
    def __init__(self, file: Any, buffers: list[Any], value: Any):
        super().__init__(file, buffers, (), True)
        self._value = value
        self.names: set[str] = set()
        self.files: set[str] = set()

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is types.FunctionType and obj.__globals__ is _namespace():
            self.names.update(global_reads(obj.__code__))
            self.files.add(obj.__code__.co_filename)
        elif isinstance(obj, type) and (name := _name_of(obj)) and _namespace()[name] is not self._value:
            self.names.add(name)
            return str, (name,)
        return super().reducer_override(obj)


def pickler(file: Any) -> pickle.Pickler:
    """Writes everything into one file. The reader keeps its own version of a class that it knows."""
    return _Pickler(file, None, (), False)


def dumps(values: dict[str, Any], by_file: bool = False,
          brings: Container[str] | None = None) -> tuple[bytes, list[Any]]:
    """`by_file`: as for ``serialize.dumps``, for values that go to a worker. `brings`: names whose classes, with what
    belongs to them, replace those of the reader; None: the names of `values`.
    """
    file = io.BytesIO()
    buffers: list[Any] = []
    with meanwhile(pickling, by_file=by_file):
        _Pickler(file, buffers, values if brings is None else brings, by_file).dump(values)
    return file.getvalue(), buffers


def loads(data: Any, buffers: Iterable[Any]) -> dict[str, Any]:
    return pickle.loads(data, buffers=buffers)


def measure(value: Any) -> Measured:
    """Raises what pickling raises."""
    file = _Counted()
    buffers: list[Any] = []
    pickler = _Measurer(file, buffers, value)
    try:
        pickler.dump(value)
    except _TooLarge:  # its class puts much data into the pickle: only identity, type and shape can be compared
        marks = (id(value), type(value).__qualname__, str(getattr(value, "shape", "")))
        return Measured(_core.digest(repr(marks).encode()), file.tell(), False, pickler.names, pickler.files)
    views = [buffer.raw() for buffer in buffers]
    nbytes = file.tell() + sum(view.nbytes for view in views)
    checked = nbytes <= CHECKED_BYTES
    digests = [_core.digest(file.getvalue())]
    digests += [_core.digest(view if checked else _sample(view)) for view in views]
    return Measured(_core.digest(b"".join(digests)), nbytes, checked, pickler.names, pickler.files)


def _sample(view: memoryview) -> bytes:
    step = max(_SAMPLE_BYTES, view.nbytes // _SAMPLES)
    pieces = [bytes(view[start : start + _SAMPLE_BYTES]) for start in range(0, view.nbytes, step)]
    return b"".join([*pieces, bytes(view[-_SAMPLE_BYTES:])])


# ---- classes and functions of the notebook ----

def _name_of(cls: Any) -> str:
    """The variable that holds the class, or the class around it. Empty: there is none of its name."""
    name, *path = cls.__qualname__.split(".")
    match: Any = _namespace().get(name)
    for part in path:
        match = vars(match).get(part) if isinstance(match, type) else None
    return name if match is cls and class_pickling.goes_by_value(cls) else ""


def _namespace() -> dict[str, Any]:
    return sys.modules["__main__"].__dict__


def _reduced(function: types.FunctionType) -> tuple[Any, ...]:
    attributes = {name: getattr(function, name) for name in by_value.FUNCTION_ATTRIBUTES}
    arguments = function.__code__, function.__name__, function.__closure__
    return _make, arguments, attributes, None, None, by_value.finish_function


def _make(code: types.CodeType, name: str, cells: Any) -> types.FunctionType:
    return types.FunctionType(code, _namespace(), name, None, cells)
