"""What of this package runs on a worker. It imports nothing that a worker does not have already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._common.random_streams import Streams, for_each


def call_with(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """For functions whose own keywords are called as those of ``submit``."""
    return function(*args, **kwargs)


def nothing() -> None:
    """What a worker that is there answers."""


def run_node(node: Any, values: dict[Any, Any]) -> Any:
    """One task of a graph of Dask's, with the values that it depends on."""
    return node(values)


def run_calls(calls: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]], nesting_level: int,
              streams: Streams | None = None, first: int = 0) -> list[Any]:
    """A batch of joblib's, whose first call has this number. What is parallel inside it runs in the worker's threads."""
    from joblib import parallel_config
    from joblib.parallel import BACKENDS

    backend = BACKENDS["threading" if nesting_level <= 1 else "sequential"](nesting_level=nesting_level)
    values, next_stream = [], for_each(streams, first)
    with parallel_config(backend=backend):
        for function, args, kwargs in calls:
            next_stream()
            values.append(function(*args, **kwargs))
    return values
