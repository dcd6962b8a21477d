"""Functions that the kernel calls for its own purposes: it sends them by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CELLS = "pounce._worker.cell."  # the package of functions that are a cell, or run between two
_RETRIES = 6  # their place in a detached task's call
SERVED = "pounce._worker.serving"  # requests of others: what they log is not the notebook's run's


def is_of(function: Any, package: str | tuple[str, ...] = "pounce._worker.") -> bool:
    """Whether it is a function of pounce's that the kernel calls for its own purposes, of this package."""
    return str(getattr(function, "__module__", "")).startswith(package)


def apply(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Calls a function that came as an argument: functions with much data in them are sent that way."""
    return function(*args, **kwargs)


def kept_call(call: tuple[Any, ...]) -> tuple[Any, ...]:
    """A detached task's function, its arguments, its random streams and where its runs of MLflow come from, if it has
    such, and whether it runs again when it is lost. Its settings are written."""
    function, args, kwargs, *more = call
    streams, settings, runs = (*more, None, None, None)[:3]
    if settings:
        from . import call_settings

        call_settings.take(settings)
    return function, args, kwargs, streams, runs, is_run_again(call)


def is_run_again(call: tuple[Any, ...]) -> bool:
    """Of a detached task, as the submitting kernel wrote it."""
    return len(call) > _RETRIES and bool(call[_RETRIES])


def run_call(call: tuple[Any, ...]) -> Any:
    """Runs a detached task that a relay serves: the call as the submitting kernel wrote it."""
    function, args, kwargs, streams, runs, _ = kept_call(call)
    if streams:
        from .._common import random_streams

        random_streams.begin(streams)
    if runs is not None:
        from . import mlflow_runs

        mlflow_runs.begin_call(runs)
    return function(*args, **kwargs)
