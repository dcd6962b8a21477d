"""A call as it is recorded: its function by value, its arguments and its resources, for its own user."""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Callable
from typing import Any

from .._common import here, serialize
from .._common.secrets import is_secret
from . import software, store

KIND = "call"
_MOST_BYTES = 4 << 20  # of the call: each of many may be recorded
_SECRET_CHARS = 8  # a shorter value may stand anywhere by chance


def recorded(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: Any, prefix: str,
             commit: str, name: str = "") -> store.Record | None:
    """None: it is too large, has a secret, or cannot be pickled without its session. Nothing is written."""
    try:
        data, buffers, objects = serialize.dumps((function, args, kwargs), submitted=True)
        raw = [each.raw() for each in buffers]
        if objects or len(data) + sum(each.nbytes for each in raw) > _MOST_BYTES:
            return None
        whole = pickle.dumps((data, [bytes(each) for each in raw], options), 5)
        if _has_secret(whole):
            return None
    except Exception:  # whatever a class of the user's raises: the call itself will say so
        return None
    facts = {
        "kind": KIND,
        "function": str(getattr(function, "__name__", type(function).__name__)),
        "name": name,  # of a detached task
        "module": _module(function),
        "folder": here.folder(),
        "commit": commit,
        "env": prefix,
        "software": software.of(prefix),
    }
    return store.of(facts, whole)


def restored(data: bytes) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], Any]:
    """The function, its arguments by place and by name, and its options. `data`: of a record that was checked."""
    call, buffers, options = pickle.loads(data)
    function, args, kwargs = serialize.loads(call, [bytearray(each) for each in buffers])
    return function, args, kwargs, options


def _has_secret(data: bytes) -> bool:
    """Whether the value of a variable that may hold a secret is in it: a file must not have that."""
    values = (value for name, value in os.environ.items() if is_secret(name, value))
    return any(len(value) >= _SECRET_CHARS and os.fsencode(value) in data for value in values)


def module_mark(file: str) -> str:
    try:
        with open(file, "rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError:
        return ""


def _module(function: Callable[..., Any]) -> list[str]:
    """The file of a function that travels by its name, and a mark of what is in it; empty: it travels by value."""
    file = getattr(sys.modules.get(getattr(function, "__module__", None) or ""), "__file__", None)
    is_here = getattr(function, "__module__", "") == "__main__"
    return [file, module_mark(file)] if file and not is_here else []
