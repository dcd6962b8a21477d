"""The functions of this package that run on a worker. They import nothing that a worker has not imported already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._common.random_streams import Streams, for_each


def call_with(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """For functions with keywords of the same names as those of ``submit``."""
    return function(*args, **kwargs)


def nothing() -> None:
    """A call that returns as soon as there is a worker."""


def run_node(node: Any, values: dict[Any, Any]) -> Any:
    """One task of a Dask graph, with the values that it depends on."""
    return node(values)


def run_calls(calls: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]], nesting_level: int,
              streams: Streams | None = None, first: int = 0) -> list[Any]:
    """A batch of joblib's, whose first call has this number. Parallel work inside it runs in the worker's threads."""
    from joblib import parallel_config
    from joblib.parallel import BACKENDS

    backend = BACKENDS["threading" if nesting_level <= 1 else "sequential"](nesting_level=nesting_level)
    values, next_stream = [], for_each(streams, first)
    with parallel_config(backend=backend):
        for function, args, kwargs in calls:
            next_stream()
            values.append(function(*args, **kwargs))
    return values
