"""A digest of a value that another kernel computes again: of a function's code and all that it uses, of data's content.

Pickles will not do: the bytes that cloudpickle writes for a function, and pickle for a set of strings, differ between
processes. Line numbers, file names and the order of a set do not count. Other values count by their pickle.
"""

from __future__ import annotations

import functools
import hashlib
import types
from typing import Any

from .. import errors
from .code_names import global_reads
from .fingerprint import importable
from .ref import Awaited
from .serialize import ATOMS, dumps


def content_digest(value: Any) -> str:
    """32 hexadecimal digits. Blocks as long as hashing takes. Raises what pickling raises."""
    return _digest(value, {}).hex()


def _hash(kind: str, parts: list[bytes]) -> bytes:
    hashed = hashlib.blake2b(digest_size=16)
    for part in (kind.encode(), *parts):
        hashed.update(len(part).to_bytes(8, "little"))
        hashed.update(part)
    return hashed.digest()


def _digest(value: Any, seen: dict[int, int]) -> bytes:
    """`seen`: functions and classes whose digest is under way, with their places: one may use itself."""
    kind = type(value)
    if kind in ATOMS:
        return _hash(kind.__name__, [repr(value).encode("utf-8", "surrogatepass")])
    if kind in (list, tuple):
        return _hash(kind.__name__, [_digest(item, seen) for item in value])
    if kind in (set, frozenset):
        return _hash(kind.__name__, sorted(_digest(item, seen) for item in value))
    if kind is dict:
        pairs = ((_digest(key, seen), _digest(item, seen)) for key, item in value.items())
        return _hash("dict", [part for pair in pairs for part in pair])
    if kind is types.ModuleType:
        return _hash("module", [value.__name__.encode()])
    if kind is functools.partial:
        return _hash("partial", [_digest(part, seen) for part in (value.func, value.args, value.keywords)])
    if kind is types.MethodType:
        return _hash("method", [_digest(value.__func__, seen), _digest(value.__self__, seen)])
    if kind is types.FunctionType or isinstance(value, type):
        return _of_code(value, seen)
    if not importable(kind) and hasattr(value, "__dict__"):  # a pickle would contain its class
        return _hash("object", [_digest(kind, seen), _digest(vars(value), seen)])
    return _pickled(value)


def _of_code(value: Any, seen: dict[int, int]) -> bytes:
    if id(value) in seen:
        return _hash("again", [str(seen[id(value)]).encode()])
    seen[id(value)] = len(seen)
    return _of_function(value, seen) if type(value) is types.FunctionType else _of_class(value, seen)


def _of_function(function: types.FunctionType, seen: dict[int, int]) -> bytes:
    parts = [_of_compiled(function.__code__), _digest(function.__defaults__, seen),
             _digest(function.__kwdefaults__, seen)]
    if importable(function):  # the other names of its module do not count
        return _hash("function", [f"{function.__module__}:{function.__qualname__}".encode(), *parts])
    for cell in function.__closure__ or ():
        try:
            parts.append(_digest(cell.cell_contents, seen))
        except ValueError:
            parts.append(b"empty")
    names = function.__globals__
    parts += [_digest(names[name], seen) for name in sorted(global_reads(function.__code__)) if name in names]
    return _hash("function", parts)


def _of_class(value: type, seen: dict[int, int]) -> bytes:
    name = f"{value.__module__}:{value.__qualname__}".encode()
    if importable(value):
        return _hash("class", [name])
    parts = [_digest(base, seen) for base in value.__bases__ if base is not object]
    for word, item in sorted(vars(value).items()):
        function = getattr(item, "__func__", getattr(item, "fget", item))
        counts = isinstance(function, types.FunctionType) or type(function) in ATOMS
        if counts and word not in ("__module__", "__firstlineno__"):
            parts += [word.encode(), _digest(function, seen)]
    return _hash("class", [value.__qualname__.encode(), *parts])


def _of_compiled(code: types.CodeType) -> bytes:
    parts = [code.co_code,
             repr((code.co_names, code.co_varnames, code.co_freevars, code.co_argcount, code.co_flags)).encode()]
    parts += [_of_compiled(each) if isinstance(each, types.CodeType) else _digest(each, {}) for each in code.co_consts]
    return _hash("code", parts)


def _pickled(value: Any) -> bytes:
    data, buffers, objects = dumps(value)
    if any(type(each) is Awaited for each in objects):
        raise errors.BadRequest("a future has no content before it has ended", "Pass its result().")
    name = f"{type(value).__module__}:{type(value).__qualname__}".encode()
    contents = (buffer.raw().tobytes() for buffer in buffers)
    return _hash("pickle", [name, data, *contents, *(each.encode() for each in objects)])
