"""``@pounce.remote``: a function whose calls run on a worker. A front end without magics has it instead of %%pounce."""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable
from typing import Any, overload

from ._engine.options import Options
from ._worker import interpreter
from .calls import View
from .errors import BadRequest, public
from .future import Future
from .shared_client import shared_client


@public
class RemoteFunction:
    """A function whose calls run on a worker. Made by ``pounce.remote``.

    Inside a call, and in a cell on a worker, it is the plain function and runs where it is called.

    Attributes
    ----------
    __wrapped__ : callable
        The function itself, which runs here.
    """

    __wrapped__: Callable[..., Any]

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]):
        self._options = options
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs it on a worker; its output appears here as it comes. Blocks until it returns; stopping it (■, Ctrl-C)
        cancels it.

        Raises what the function raises, and else what ``Future.result`` does.
        """
        if interpreter.core is not None:  # this process is a worker: it leases no other for a part of its task
            return self.__wrapped__(*args, **kwargs)
        return self._with_options().submit(self.__wrapped__, *args, **kwargs).result()

    def submit(self, *args: Any, **kwargs: Any) -> Future:
        """Starts a call and returns its future at once, as ``Client.submit`` does.

        Examples
        --------
        >>> @pounce.remote
        ... def area(width, height):
        ...     return width * height
        >>> futures = [area.submit(2, height) for height in range(3)]
        >>> [future.result() for future in futures]
        [0, 2, 4]
        """
        return self._with_options().submit(self.__wrapped__, *args, **kwargs)

    def _with_options(self) -> View:
        return shared_client().options(**self._options)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method of a class."""
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> Any:
        """For another call it is the function. Without a module of ours: a worker imports nothing for it."""
        return operator.getitem, ((self.__wrapped__,), 0)

    def __repr__(self) -> str:
        return f"<pounce.RemoteFunction {getattr(self, '__qualname__', self.__wrapped__)}>"


@overload
def remote(function: Callable[..., Any], /) -> RemoteFunction: ...


@overload
def remote(**options: Any) -> Callable[[Callable[..., Any]], RemoteFunction]: ...


def remote(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Decorates a function: its calls run on a worker, which is leased at the first call and given back when idle.

    All such functions of a process share one client, and so the workers whose options are equal.

    Parameters
    ----------
    **options
        What each call requests: the keywords of ``Client.options``, for example ``gpus=1``, ``time="20min"``. A
        ``name=`` is for one call and not for a function.

    Raises
    ------
    BadRequest
        An option that does not exist, or a value that is not one of its kind.

    Examples
    --------
    >>> @pounce.remote(cpus=1)
    ... def train(epochs):
    ...     return [1 / (epoch + 1) for epoch in range(epochs)]
    >>> train(2)
    [1.0, 0.5]
    """
    if options.get("name"):
        raise BadRequest("a name is for one task", "Use client.options(name=...).submit(...).")
    Options().changed(**{word: value for word, value in options.items() if word != "env"})
    if function is None:
        return lambda decorated: RemoteFunction(decorated, options)
    if not callable(function):
        remedy = "Write @pounce.remote, or @pounce.remote(gpus=1), above a function."
        raise BadRequest(f"{function!r} is no function", remedy)
    return RemoteFunction(function, options)
