"""The functions of this package that run on a worker. They import nothing that a worker has not imported already."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Callable
from typing import Any

from .._common.random_streams import Streams, for_each


def call_with(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """For functions with keywords of the same names as those of ``submit``."""
    return function(*args, **kwargs)


def call_again(times: int, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls it once more after an error, at most so many times."""
    for _ in range(times):
        try:
            return function(*args, **kwargs)
        except Exception:
            traceback.print_exc()
    return function(*args, **kwargs)


def nothing() -> None:
    """A call that returns as soon as there is a worker."""


def run_node(node: Any, values: dict[Any, Any]) -> Any:
    """One task of a Dask graph, with the values that it depends on."""
    return node(values)


class Authkey:
    """With it the proxies of a ``multiprocessing.Manager``, unpickled after it, connect as in a process of
    multiprocessing or loky. It is sent where there may be such proxies."""

    def __init__(self, key: bytes):
        self._key = key

    @classmethod
    def of_managers(cls) -> Authkey | None:
        """This process's; None: it has no managers."""
        if "multiprocessing.managers" not in sys.modules:
            return None
        import multiprocessing

        return cls(bytes(multiprocessing.current_process().authkey))

    def __reduce__(self) -> Any:
        return _connects_with, (self._key,)


def _connects_with(key: bytes) -> None:
    import multiprocessing

    multiprocessing.current_process().authkey = key


class Initializer:
    """A function that each worker calls once. One with equal content is the same one."""

    def __init__(self, key: str, function: Callable[..., Any], arguments: tuple[Any, ...]):
        self._key, self._function, self._arguments = key, function, arguments

    @classmethod
    def of(cls, function: Callable[..., Any] | None, arguments: tuple[Any, ...]) -> Initializer | None:
        if function is None:
            return None
        from .._common.content_digest import content_digest

        return cls(content_digest((function, arguments)), function, arguments)

    def run_once(self) -> None:
        if self._key not in _initialized:
            self._function(*self._arguments)
            _initialized.add(self._key)


_initialized: set[str] = set()  # of this worker


def _limited(most_threads: int | None) -> contextlib.AbstractContextManager[Any]:
    """Of the libraries that are loaded by now: unpickling a function loads those of its module."""
    if most_threads is None:
        return contextlib.nullcontext()
    import threadpoolctl  # scikit-learn brings it

    limits: contextlib.AbstractContextManager[Any] = threadpoolctl.threadpool_limits(most_threads)
    return limits


def run_calls(authkey: Any, initializer: Initializer | None, most_threads: int | None,
              calls: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]], nesting_level: int,
              streams: Streams | None = None, first: int = 0) -> list[Any]:
    """A batch of joblib's, whose first call has this number. Parallel work inside it runs in the worker's threads, and
    BLAS, OpenMP and the like in at most so many."""
    from joblib import parallel_config
    from joblib.parallel import BACKENDS

    backend = BACKENDS["threading" if nesting_level <= 1 else "sequential"](nesting_level=nesting_level)
    values, next_stream = [], for_each(streams, first)
    with parallel_config(backend=backend), _limited(most_threads):
        if initializer is not None:
            initializer.run_once()
        for function, args, kwargs in calls:
            next_stream()
            values.append(function(*args, **kwargs))
    return values
