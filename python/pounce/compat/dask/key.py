"""Keys, which identify calls. As in Dask, two calls of the same function with the same arguments have one key."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from typing import Any

from ..._common import serialize
from ..._common.ref import Awaited
from .arguments import replaced


def key_of(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], prefix: str = "") -> str:
    """By content. A call that cannot be pickled gets a new key: its submission raises the error."""
    content = replaced((args, kwargs), lambda future: ("future", future.key))
    digest = hashlib.blake2b(digest_size=16)
    try:
        data, buffers, objects = serialize.dumps((function, *content))
    except Exception:
        return new_key(function, prefix)
    digest.update(data)
    for buffer in buffers:
        digest.update(buffer.raw())
    # A future that is deeper inside counts by its task: another one may get its address.
    digest.update("".join(each.task.id if isinstance(each, Awaited) else each for each in objects).encode())
    return f"{prefix or name_of(function)}-{digest.hexdigest()}"


def new_key(function: Callable[..., Any], prefix: str = "") -> str:
    return f"{prefix or name_of(function)}-{uuid.uuid4().hex}"


def name_of(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
