"""Variables of a notebook to bytes and back, as one piece: what they share before the journey they share after it.

A function of the notebook travels without its globals and finds those of the other side: changing one there shows, as it
would at home.
"""

from __future__ import annotations

import io
import pickle
import sys
import types
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import cloudpickle

from .. import _core
from .code_names import global_reads
from .ref import pickling

CHECKED_BYTES = 64 * 1024 * 1024  # of larger values only samples are compared
_SAMPLES, _SAMPLE_BYTES = 256, 4096


@dataclass
class Measured:
    """One value: a digest that changes with it, its size, and what its functions look up in the notebook."""

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


class _Pickler(cloudpickle.Pickler):
    def __init__(self, file: Any, buffers: list[Any] | None):
        super().__init__(file, protocol=5, buffer_callback=None if buffers is None else buffers.append)
        self.names: set[str] = set()
        self.files: set[str] = set()

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is types.FunctionType and obj.__globals__ is _namespace():
            self.names.update(global_reads(obj.__code__))
            self.files.add(obj.__code__.co_filename)
            return _reduced(obj)
        return super().reducer_override(obj)


def pickler(file: Any) -> pickle.Pickler:
    """For what is written in one piece."""
    return _Pickler(file, None)


def dumps(values: dict[str, Any], by_file: bool = False) -> tuple[bytes, list[Any]]:
    """`by_file` as for ``serialize.dumps``: of what goes to a worker."""
    file = io.BytesIO()
    buffers: list[Any] = []
    outer = getattr(pickling, "by_file", False)
    pickling.by_file = by_file
    try:
        _Pickler(file, buffers).dump(values)
    finally:
        pickling.by_file = outer
    return file.getvalue(), buffers


def loads(data: Any, buffers: Iterable[Any]) -> dict[str, Any]:
    return pickle.loads(data, buffers=buffers)


def measure(value: Any) -> Measured:
    """Raises whatever pickling raises."""
    file = _Counted()
    buffers: list[Any] = []
    pickler = _Pickler(file, buffers)
    try:
        pickler.dump(value)
    except _TooLarge:  # much data that its class keeps inside the pickle: only what it is can be compared
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


# ---- functions of the notebook ----

_EMPTY = "pounce: a cell that is still empty"
_ATTRIBUTES = ("__defaults__", "__kwdefaults__", "__dict__", "__annotations__", "__doc__", "__qualname__", "__module__")


def _namespace() -> dict[str, Any]:
    return sys.modules["__main__"].__dict__


def _reduced(function: types.FunctionType) -> tuple[Any, ...]:
    cells = function.__closure__ or ()
    state = ([_contents(cell) for cell in cells], {name: getattr(function, name) for name in _ATTRIBUTES})
    return _make, (function.__code__, function.__name__, len(cells)), state, None, None, _finish


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _EMPTY


def _make(code: types.CodeType, name: str, cells: int) -> types.FunctionType:
    return types.FunctionType(code, _namespace(), name, None, tuple(types.CellType() for _ in range(cells)) or None)


def _finish(function: types.FunctionType, state: tuple[list[Any], dict[str, Any]]) -> None:
    contents, attributes = state
    for cell, value in zip(function.__closure__ or (), contents, strict=True):
        if not (isinstance(value, str) and value == _EMPTY):
            cell.cell_contents = value
    for name, value in attributes.items():
        if name == "__dict__":
            function.__dict__.update(value)
        else:
            setattr(function, name, value)
