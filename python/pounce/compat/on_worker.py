"""What of this package runs on a worker. It imports nothing that a worker does not have already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def call_with(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """For functions whose own keywords are called as those of ``submit``."""
    return function(*args, **kwargs)


def nothing() -> None:
    """What a worker that is there answers."""


def run_node(node: Any, values: dict[Any, Any]) -> Any:
    """One task of a graph of Dask's, with the values that it depends on."""
    return node(values)


def run_calls(calls: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]], nesting_level: int) -> list[Any]:
    """A batch of joblib's. What is parallel inside it runs in threads of this worker."""
    from joblib import parallel_config
    from joblib.parallel import BACKENDS

    backend = BACKENDS["threading" if nesting_level <= 1 else "sequential"](nesting_level=nesting_level)
    with parallel_config(backend=backend):
        return [function(*args, **kwargs) for function, args, kwargs in calls]
