"""``Ref``: a handle to a value that was scattered."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from .. import errors


@errors.public
class Ref:
    """A value that workers hold, named by its content.

    Pass it as an argument, at any depth: the function on the worker gets the value. The client keeps the data while the
    Ref lives, so that it can be sent again after a lease has ended. Made by ``Client.scatter``.
    """

    __slots__ = ("__weakref__", "_keep", "_on_device", "device", "id", "nbytes")

    def __init__(self, id: str, nbytes: int, keep: Any, device: str = "",
                 on_device: Callable[[str], Ref] | None = None):
        self.id = id
        self.nbytes = nbytes
        self.device = device  # of the worker, where the function gets the value; empty: host memory
        self._keep = keep  # releases the client's copy when the Ref dies
        self._on_device = on_device

    def __repr__(self) -> str:
        return f"<pounce.Ref {self.id[:8]} of {self.nbytes:,} bytes{f' on {self.device}' if self.device else ''}>"

    def on_device(self, device: str = "cuda") -> Ref:
        """The same value, for functions that want its arrays on a device of the worker, as
        ``Client.scatter(value, device=…)`` gives.

        Blocks until it is hashed. A worker with both holds the data twice, in its memory and on the device.

        Examples
        --------
        >>> import numpy
        >>> numbers = client.scatter(numpy.arange(10))
        >>> client.submit(lambda array: array.device, numbers.on_device("host")).result()
        'host:0'
        """
        if self._on_device is None:
            raise errors.BadRequest("what this handle stands for was made for no device",
                                    "Scatter the value with device=.")
        return self if device == self.device else self._on_device(device)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __reduce__(self) -> tuple[Any, ...]:
        ids = pickling.ids
        if ids is None:
            raise TypeError("a pounce.Ref can only be pickled as an argument of submit() of the client that made it")
        return held, (ids.setdefault(self.id, len(ids)),)


class Awaited(str):
    """Stands for a future's result in a pickle's list of objects."""

    future: Any
    task: Any  # the future's


def awaited(future: Any, task: Any) -> tuple[Any, ...]:
    """Pickles a future as an argument: the caller of dumps() finds it in the list of objects."""
    ids = pickling.ids
    if ids is None:
        raise TypeError("a future can only be pickled as an argument of submit() and map(): "
                        "elsewhere take its result()")
    place = Awaited(f"future {id(future):x}")
    place.future, place.task = future, task
    return held, (ids.setdefault(place, len(ids)),)


class _Pickling(threading.local):
    """State of the thread that is in dumps(), and the options of that: a Ref is pickled as its place in the list of
    objects. pickle's persistent ids would call Python for every object of every argument; this costs nothing without
    Refs.
    """

    ids: dict[str, int] | None = None
    by_file = to_host = submitted = False


class _Resolving(threading.local):
    """State of the thread that is in loads()."""

    resolve: Any = None


pickling, resolving = _Pickling(), _Resolving()


@contextlib.contextmanager
def meanwhile(state: threading.local, **values: Any) -> Iterator[None]:
    """Gives this thread's `state` these values for the time of the block."""
    outer = {name: getattr(state, name, None) for name in values}
    vars(state).update(values)
    try:
        yield
    finally:
        vars(state).update(outer)


def held(index: int) -> Any:
    """On the worker, inside loads(): the value that the Ref stands for."""
    return resolving.resolve(index)
