"""Keys, which identify calls. As in Dask, two calls of the same function with the same arguments have one key."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from typing import Any

from ..._common import serialize
from .arguments import replaced


def key_of(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """By content. A call that cannot be pickled gets a new key: its submission raises the error."""
    content = replaced((args, kwargs), lambda future: ("future", future.key))
    digest = hashlib.blake2b(digest_size=16)
    try:
        data, buffers, objects = serialize.dumps((function, *content))
    except Exception:
        return new_key(function)
    digest.update(data)
    for buffer in buffers:
        digest.update(buffer.raw())
    digest.update("".join(objects).encode())
    return f"{name_of(function)}-{digest.hexdigest()}"


def new_key(function: Callable[..., Any]) -> str:
    return f"{name_of(function)}-{uuid.uuid4().hex}"


def name_of(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
