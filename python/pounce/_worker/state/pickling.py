"""Pickles one unit of a namespace, and unpickles it.

Objects outside the unit are named by persistent ids: the namespace itself, functions and classes that other units hold,
and large memory. Each id is looked up in a table: it is never a path and never code.
"""

from __future__ import annotations

import pickle
import types
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from ..._common import by_value, generators
from ..._common.code_names import global_reads
from ..._common.serialize import ATOMS
from . import array_pickling, frame_pickling, function_pickling, tensor_pickling
from .cell_files import cell_file
from .memory import INLINE_BYTES, Blob, Filler, Memory, Region
from .problems import NotParkable
from .refused import names_of, why_refused

_HANDLERS: dict[str, Callable[[Any, Any], Any]] = {
    "builtins.method": function_pickling.reduce_method,
    **{f"builtins.{kind}_{part}": function_pickling.reduce_window
       for kind in ("dict", "odict") for part in ("keys", "values", "items")},
    "builtins.mappingproxy": function_pickling.reduce_proxy,
    "functools._lru_cache_wrapper": function_pickling.reduce_cached,
    "numpy.ndarray": array_pickling.reduce,
    "torch.Tensor": tensor_pickling.reduce,
    "torch.storage.UntypedStorage": tensor_pickling.reduce_storage,
    f"{__package__}.tensor_pickling.Storage": tensor_pickling.reduce_part,
    f"{__package__}.tensor_pickling.StorageOn": array_pickling.reduce_storage,
    "pandas.core.internals.blocks.Block": frame_pickling.reduce_block,
    "pandas.core.internals.managers.SingleBlockManager": frame_pickling.reduce_series,
    "pandas._libs.internals.BlockValuesRefs": frame_pickling.reduce_refs,
    "pandas.Index": frame_pickling.reduce_index,
}

# Types that are never counted as shared: their objects cannot change, or are found again by name.
_UNCOUNTED = frozenset({
    "builtins.int", "builtins.str", "builtins.bytes", "builtins.float", "builtins.complex",
    "builtins.ellipsis", "builtins.NotImplementedType", "builtins.code", "builtins.module",
    "builtins.builtin_function_or_method", "builtins.method_descriptor", "builtins.wrapper_descriptor",
    "numpy.generic", "numpy.dtype", "numpy.ufunc", "torch.dtype", "torch.device", "torch.layout", "torch.memory_format",
    "torch.Size", "enum.Enum", "logging.Logger",
})
_TEXTS = (bytes, str)


class _IfNewest:
    """In a class's pickle: the class becomes what was saved, if the unit provides its names from now on."""


_IF_NEWEST = _IfNewest()
PYTHON = "python"  # in a list of modules: bytecode, which depends on Python's version
_known_handlers: dict[type, Callable[[Any, Any], Any] | None] = {}
_known_counted: dict[type, bool] = {}


@dataclass(frozen=True)
class Around:
    """What the pickle of one unit knows of the others."""

    namespace: dict[str, Any]
    definitions: dict[int, str] = field(default_factory=dict)  # names of the notebook's functions and classes, by id
    memory: Memory = field(default_factory=Memory)


class Pickler(by_value.Pickler):
    """Pickles the values of `own`, and notes what it meets in its attributes.

    `check` is called for each object except Python's simplest; an exception from it ends the pickling. With `counts`
    only the attributes are needed: no memory is read.
    """

    def __init__(self, file: Any, around: Around, own: Collection[str], check: Callable[[], None] = lambda: None,
                 counts: bool = False):
        # Bytes that are not in the pickle, here and in `blobs`, as memoryviews of the objects' own memory.
        self.buffers: list[memoryview] = []
        super().__init__(file, protocol=5, buffer_callback=_into(self.buffers))
        self._around, self._own = around, own
        self.check, self.counts = check, counts
        self._definitions, self._namespace = around.definitions, around.namespace
        self.shared: set[int] = set()  # ids of objects that another name may hold too; our memo keeps them valid
        self.regions: list[Region] = []
        self.depends: set[str] = set()  # names of other units that it refers to
        self.reads: set[str] = set()  # names that functions inside look up in the namespace when they are called
        self.kinds: set[type] = set()  # the types of all objects inside
        self.modules: set[str] = set()  # of functions and classes inside that are written as their names
        self.blobs: list[memoryview] = []
        self.long_bytes = 0  # the size of texts among them
        self._once: dict[Any, Any] = {}

    def persistent_id(self, obj: Any) -> Any:
        kind = type(obj)
        if kind in ATOMS:
            return self._long(obj, kind) if kind in _TEXTS and len(obj) >= INLINE_BYTES else None
        if kind is Blob:
            return "blob", obj.index
        if kind is _IfNewest:
            return ("newest",)
        if obj is self._namespace:
            return ("namespace",)
        number = id(obj)
        name = self._definitions.get(number)
        if name is not None and name not in self._own:
            self.depends.add(name)
            return "name", name
        if _is_shareable(obj, kind):
            self.shared.add(number)
        self.kinds.add(kind)
        return self._long(obj, kind) if kind is bytearray and len(obj) >= INLINE_BYTES else None

    def reducer_override(self, obj: Any) -> Any:
        self.check()
        kind = type(obj)
        why = why_refused(kind)
        if not why and isinstance(obj, BaseException) and obj.__traceback__ is not None:
            why = "its traceback stays with its process: keep str(error)"
        if why:
            raise NotParkable(obj, why)
        if kind is types.FunctionType or isinstance(obj, type):
            self._note(obj)
        if kind is types.FunctionType and obj.__globals__ is self._namespace:
            self.reads |= global_reads(obj.__code__)
            name = obj.__code__.co_filename
            file = self.once(("file", name), lambda: cell_file(name))
            return function_pickling.reduce_function(obj, self._namespace, file)
        handler = _handler(kind)
        reduced = NotImplemented if handler is None else handler(obj, self)
        return super().reducer_override(obj) if reduced is NotImplemented else reduced

    def brings(self, cls: type) -> Any:
        return _IF_NEWEST

    def _note(self, definition: Any) -> None:
        if function_pickling.importable(definition):
            if not function_pickling.has_name(definition):
                raise NotParkable(definition, "it is a type of Python's own without a name")
            self.modules.add(definition.__module__)
        else:  # by value: bytecode is for one version of Python, and cloudpickle builds it
            self.modules |= {PYTHON, "cloudpickle"}

    def _long(self, text: Any, kind: type) -> Any:
        """Keeps a long text beside the pickle: the C pickler would write it in one uninterruptible step."""
        # The text is kept, so that its id stays unique.
        index, _ = self.once(("long", id(text)), lambda: (self._new_long(text, kind), text))
        return kind.__name__, index

    def _new_long(self, text: Any, kind: type) -> int:
        data = b"" if self.counts else _encoded(text, self.check) if kind is str else text
        self.long_bytes += len(text)
        self.blobs.append(memoryview(data))
        return len(self.blobs) - 1

    # ---- for the pickling of arrays ----

    def owner(self, region: Region) -> Region:
        region = self.once(("region", region.device, region.start, region.size), lambda: region)
        self.regions.append(region)
        return self._around.memory.owner(region)

    def is_whole(self, kind: type) -> bool:
        """Whether this class is complete when the pickle is loaded, because it is no part of the pickle."""
        return function_pickling.importable(kind) or self._definitions.get(id(kind), min(self._own)) not in self._own

    def blob(self, data: Any) -> Any:
        if data.nbytes < INLINE_BYTES:
            return data.tobytes()
        self.blobs.append(memoryview(data))
        return Blob(len(self.blobs) - 1)

    def once(self, key: Any, make: Any) -> Any:
        value = self._once.get(key)
        if value is None:
            value = self._once[key] = make()
        return value


def _into(buffers: list[memoryview]) -> Callable[[pickle.PickleBuffer], bool]:
    """Not a method of the pickler: a reference cycle would keep all that it met until a garbage collection."""

    def take(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < INLINE_BYTES:
            return True
        buffers.append(raw)
        return False

    return take


def _handler(kind: type) -> Callable[[Any, Any], Any] | None:
    if kind not in _known_handlers:
        _known_handlers[kind] = next((_HANDLERS[name] for name in names_of(kind) if name in _HANDLERS), None)
    return _known_handlers[kind]


def _is_shareable(obj: Any, kind: type) -> bool:
    if kind is tuple or kind is frozenset:
        return not all(type(item) in ATOMS for item in obj)
    counted = _known_counted.get(kind)
    if counted is None:
        counted = _known_counted[kind] = _UNCOUNTED.isdisjoint(names_of(kind))
    if counted and (kind is types.FunctionType or isinstance(obj, type)):
        return not function_pickling.importable(obj)
    return counted and not (kind in generators.reducers and generators.is_global(obj))


def is_definition(value: Any, namespace: dict[str, Any]) -> bool:
    """A function or class of the notebook: a unit of its own, to which others refer by its name."""
    if type(value) is types.FunctionType:
        return value.__globals__ is namespace
    return isinstance(value, type) and not function_pickling.importable(value)


def _encoded(text: str, check: Callable[[], None]) -> bytearray:
    data = bytearray()
    for start in range(0, len(text), _ENCODED):
        check()
        data += text[start : start + _ENCODED].encode("utf-8", "surrogatepass")
    return data


_ENCODED = 256 * 1024  # characters at once
_LONG: dict[str, Callable[[bytearray], Any]] = {
    "bytes": bytes,
    "bytearray": lambda data: data,
    "str": lambda data: data.decode("utf-8", "surrogatepass"),
}


class Unpickler(pickle.Unpickler):
    """`named` returns the object for a name of another unit; `blobs` are read into the memory made for them. `newest`:
    classes that this process already knows become what was saved."""

    def __init__(self, file: Any, namespace: dict[str, Any], named: Callable[[str], Any], blobs: list[Filler],
                 buffers: list[Any], newest: bool = True):
        super().__init__(file, buffers=buffers)
        self._namespace, self._named, self._blobs, self._newest = namespace, named, blobs, newest
        self._long: dict[Any, Any] = {}

    def persistent_load(self, pid: Any) -> Any:
        what, *rest = pid
        if what == "namespace":
            return self._namespace
        if what == "name":
            return self._named(rest[0])
        if what == "blob":
            return self._blobs[rest[0]]
        if what == "newest":
            return self._newest
        if what in _LONG:
            if pid not in self._long:
                self._long[pid] = _LONG[what](self._blobs[rest[0]].whole())
            return self._long[pid]
        raise pickle.UnpicklingError("an id of another format")
