"""Functions that the kernel calls for its own purposes: it sends them by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def apply(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Calls a function that came as an argument: functions with much data in them are sent that way."""
    return function(*args, **kwargs)


def run_call(call: tuple[Any, ...]) -> Any:
    """Runs a detached task that a relay serves: the call as the submitting kernel wrote it."""
    function, args, kwargs, *more = call
    streams, settings = (*more, None, None)[:2]
    if settings:
        from . import call_settings

        call_settings.take(settings)
    if streams:
        from .._common import random_streams

        random_streams.begin(streams)
    return function(*args, **kwargs)
