"""``Ref``: a handle to a value that was scattered."""

from __future__ import annotations

import threading
from typing import Any


class Ref:
    """A value that workers hold, named by its content.

    Pass it as an argument, at any depth: the function on the worker gets the value. The client keeps the data as long as
    the Ref lives, so that it can be sent again after a lease has ended. Made by ``Client.scatter``.
    """

    __slots__ = ("__weakref__", "_keep", "id", "nbytes")

    def __init__(self, id: str, nbytes: int, keep: Any):
        self.id = id
        self.nbytes = nbytes
        self._keep = keep  # lets go of the client's copy when the Ref dies

    def __repr__(self) -> str:
        return f"<pounce.Ref {self.id[:8]} of {self.nbytes:,} bytes>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __reduce__(self) -> tuple[Any, ...]:
        ids = getattr(pickling, "ids", None)
        if ids is None:
            raise TypeError("a pounce.Ref can only be pickled as an argument of submit() of the client that made it")
        return held, (ids.setdefault(self.id, len(ids)),)


# Of the thread that is in dumps() or loads(): a Ref is pickled as its place in the list of objects. Persistent ids of
# pickle would call Python for every object of every argument; this costs nothing where there is no Ref.
pickling = threading.local()
resolving = threading.local()


def held(index: int) -> Any:
    """On the worker, inside loads(): the value that the Ref stands for."""
    return resolving.resolve(index)
