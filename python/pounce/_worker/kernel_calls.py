"""Calls that the kernel has made for its own ends: it sends these functions by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def apply(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Calls a function that came as an argument: how functions with much data in them travel."""
    return function(*args, **kwargs)


def run_call(call: tuple[Any, ...]) -> Any:
    """Of a detached task that a relay serves: the call as the kernel that submitted it wrote it."""
    function, args, kwargs, *streams = call
    if streams:
        from .._common import random_streams

        random_streams.begin(streams[0])
    return function(*args, **kwargs)
