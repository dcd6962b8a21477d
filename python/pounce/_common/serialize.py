"""Objects to bytes and back, the same on both sides.

Pickle protocol 5 with buffers out of band: an array costs its header, and its memory is handed over as it is. Objects
that exist only in a notebook (``__main__``) go by value, through cloudpickle; importable ones go by reference.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any

from .code_names import global_names
from .ref import pickling, resolving

ATOMS = frozenset((int, float, bool, str, bytes, complex, type(None)))
NONE = pickle.dumps(None, 5)
NO_ARGUMENTS = pickle.dumps(((), {}), 5)  # for calls without arguments: neither side pickles it again
MOST_BUFFERS = 10_000  # limit for one value: a header lists their sizes (src/protocol/message_limits.h)


def dumps(obj: Any, by_file: bool = False, most_buffers: int = MOST_BUFFERS,
          to_host: bool = False, submitted: bool = False) -> tuple[bytes, list[pickle.PickleBuffer], list[str]]:
    """Pickles `obj`. Raises what pickling raises; ``path_of_unpicklable`` finds out where.

    Parameters
    ----------
    by_file : bool
        Memory that lies in files becomes buffers over them (file_regions.py), which the caller sends by name. Includes
        `submitted`.
    most_buffers : int
        Buffers after so many are copied into the pickle.
    to_host : bool
        Tensors on a device become CPU tensors, because the reader has no such device.
    submitted : bool
        Classes of the notebook that the reader knows get their current attributes. Else the reader's stay as they are:
        a result does not change the notebook's own classes.

    Returns
    -------
    pickle : bytes
    buffers : list of PickleBuffer
        Views of the object's own memory, in order: nothing is copied. Contiguous; they keep their owner alive.
    objects : list of str
        Ids of the Refs inside; loads() calls `resolve` with their positions in this list.
    """
    if obj is None:
        return NONE, [], []
    if type(obj) in ATOMS:
        return pickle.dumps(obj, 5), [], []
    buffers: list[pickle.PickleBuffer] = []

    def copied(buffer: pickle.PickleBuffer) -> bool:
        if len(buffers) == most_buffers:
            return True
        buffers.append(buffer)
        return False

    if _is_plain(obj):
        return pickle.dumps(obj, 5, buffer_callback=copied), buffers, []
    from .arrays import Pickler

    file = io.BytesIO()
    ids: dict[str, int] = {}
    # Not meanwhile(), which takes a microsecond.
    outer = pickling.ids, pickling.by_file, pickling.to_host, pickling.submitted
    pickling.ids, pickling.by_file, pickling.to_host, pickling.submitted = ids, by_file, to_host, submitted or by_file
    try:
        Pickler(file, protocol=5, buffer_callback=copied).dump(obj)
    finally:
        pickling.ids, pickling.by_file, pickling.to_host, pickling.submitted = outer
    return file.getvalue(), buffers, list(ids)


def loads(data: Any, buffers: Sequence[Any] = (), resolve: Callable[[int], Any] | None = None) -> Any:
    """The object again. Arrays use `buffers` as their memory: writable where the buffer is.

    resolve : callable of int
        Returns the value of the Ref at that place of ``objects``; called once for each Ref inside.
    """
    if data == NONE:
        return None
    outer, resolving.resolve = resolving.resolve, resolve
    try:
        return pickle.loads(data, buffers=buffers)
    finally:
        resolving.resolve = outer


class LateArguments:
    """The arguments of a call that waited for results: `data` and `buffers` are their pickle from when the call was
    made, `values` has a value or a Ref for each place in its list of objects. Arrives as ``(args, kwargs)``.
    """

    def __init__(self, data: bytes, buffers: list[bytearray], values: list[Any]):
        self._parts = data, [pickle.PickleBuffer(buffer) for buffer in buffers], values

    def __reduce__(self) -> Any:
        return _whole, self._parts


def _whole(data: bytes, buffers: list[Any], values: list[Any]) -> Any:
    return loads(data, buffers, values.__getitem__)


class _Naming(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, buffers: Sequence[Any]):
        super().__init__(file, buffers=buffers)
        self.modules: set[str] = set()

    def find_class(self, module: str, name: str) -> Any:
        self.modules.add(module)
        return super().find_class(module, name)


def loads_naming(data: Any, buffers: Sequence[Any] = ()) -> tuple[Any, set[str]]:
    """As loads() of a result; and the modules that its pickle refers to."""
    unpickler = _Naming(io.BytesIO(data), buffers)
    return unpickler.load(), unpickler.modules


def _is_plain(obj: Any, depth: int = 3) -> bool:
    """True for small nests of Python's own values and numeric arrays: pickle alone suffices, ten times faster."""
    kind = type(obj)
    if kind in ATOMS:
        return True
    if depth == 0:
        return False
    if kind is tuple or kind is list:
        return len(obj) <= 64 and all(_is_plain(item, depth - 1) for item in obj)
    if kind is dict:
        return len(obj) <= 64 and all(type(k) is str and _is_plain(v, depth - 1) for k, v in obj.items())
    if kind.__name__ == "ndarray" and kind.__module__ == "numpy":
        return obj.flags.forc and obj.dtype.kind not in "OmMT"
    return False


def path_of_unpicklable(obj: Any, path: str, depth: int = 8,
                        attempt: Callable[[Any], Any] = dumps) -> tuple[str, Any, Exception] | None:
    """The innermost part of `obj` that `attempt` cannot pickle: its path in words, the part, and the error. Or None."""
    try:
        attempt(obj)
    except Exception as error:
        if depth > 0 and getattr(error, "thing", None) is not obj:  # an error may name the culprit itself
            for name, part in _parts(obj, path):
                inner = path_of_unpicklable(part, name, depth - 1, attempt)
                if inner is not None:
                    return inner
        return path, obj, error
    return None


def _parts(obj: Any, path: str) -> list[tuple[str, Any]]:
    if isinstance(obj, dict):
        return [(f"{path}[{key!r}]", value) for key, value in obj.items()]
    if isinstance(obj, (list, tuple)):
        return [(f"{path}[{i}]", value) for i, value in enumerate(obj)]
    code = getattr(obj, "__code__", None)
    if code is not None and hasattr(obj, "__globals__"):
        names = obj.__globals__
        parts = [(f"{path}: global {name}", names[name]) for name in global_names(code) if name in names]
        for name, cell in zip(code.co_freevars, obj.__closure__ or (), strict=False):
            try:
                parts.append((f"{path}: variable {name}", cell.cell_contents))
            except ValueError:  # a cell that is still empty
                continue
        return parts
    if isinstance(obj, type):
        return []
    inside = getattr(obj, "__dict__", None)
    return [(f"{path}.{name}", value) for name, value in inside.items()] if isinstance(inside, dict) else []
