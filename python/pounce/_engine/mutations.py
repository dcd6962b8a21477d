"""POUNCE_CHECK_MUTATION=1: was data changed while it was sent? Off unless that is set, since each array is then read twice more.

Large data goes from the memory of the user's own arrays. It is hashed when it is handed over, and again when a call that needs it
has ended.
"""

from __future__ import annotations

import os
import pickle
import sys
import weakref

from .. import _core, errors

VARIABLE = "POUNCE_CHECK_MUTATION"
_COPIED_BELOW = 4096  # bytes: smaller buffers are copied when they are handed over (python/bindings/client.cc)


class Watched:
    """The memory of one object, and what it held."""

    def __init__(self, name: str, buffers: list[pickle.PickleBuffer]):
        self._name = name
        self._held = [(buffer, _digest(buffer)) for buffer in buffers if buffer.raw().nbytes >= _COPIED_BELOW]

    def changed(self, call: str) -> errors.DataChanged | None:
        """What to raise instead of the result of that call; None: all is as it was. Blocks as long as hashing takes."""
        for buffer, digest in self._held:
            if _digest(buffer) != digest:
                text = f"{self._name} was changed before {call} had ended: {_described(buffer)}"
                return errors.DataChanged(text, context={"path": self._name})
        return None


class Mutations:
    """What one client has handed over."""

    def __init__(self) -> None:
        # Equal data is one object, which is sent from the memory of whoever came with it first.
        self._known: weakref.WeakValueDictionary[str, Watched] = weakref.WeakValueDictionary()

    def add(self, object: str, watched: Watched) -> Watched:
        """To be kept by whoever holds the object."""
        return self._known.setdefault(object, watched)

    def of(self, objects: list[str]) -> list[Watched]:
        """Of a call, to be kept until it has ended."""
        return [watched for each in objects if (watched := self._known.get(each)) is not None]


def mutations() -> Mutations | None:
    """None: nobody has asked for it."""
    return Mutations() if os.environ.get(VARIABLE) == "1" else None


def _digest(buffer: pickle.PickleBuffer) -> bytes:
    return _core.digest(buffer.raw())


def _described(buffer: pickle.PickleBuffer) -> str:
    view, numpy = memoryview(buffer), sys.modules.get("numpy")
    kind = f"an array of {numpy.asarray(view).dtype}" if numpy is not None else "a buffer"
    return f"{kind} with shape {view.shape} and {view.nbytes:,} bytes"
