"""POUNCE_CHECK_MUTATION=1: was data changed while it was sent? Off by default, since each array is read twice more.

Large data is sent from the memory of the user's own arrays. It is hashed when it is handed over, and again when a call
that needs it has ended.
"""

from __future__ import annotations

import os
import pickle
import sys

from .. import _core, errors

VARIABLE = "POUNCE_CHECK_MUTATION"
_COPIED_BELOW = 4096  # bytes: smaller buffers are copied at once (python/bindings/client.cc)


class Watched:
    """The memory of one object, and a digest of what it held."""

    def __init__(self, name: str, buffers: list[pickle.PickleBuffer]):
        self._name = name
        self._held = [(buffer, _digest(buffer)) for buffer in buffers if buffer.raw().nbytes >= _COPIED_BELOW]

    def changed(self, call: str) -> errors.DataChanged | None:
        """The error to raise instead of the result of that call; None: nothing changed. Blocks while it hashes."""
        for buffer, digest in self._held:
            if _digest(buffer) != digest:
                text = f"{self._name} was changed before {call} had ended: {_described(buffer)}"
                return errors.DataChanged(text, context={"path": self._name})
        return None


def is_checked() -> bool:
    return os.environ.get(VARIABLE) == "1"


def _digest(buffer: pickle.PickleBuffer) -> bytes:
    return _core.digest(buffer.raw())


def _described(buffer: pickle.PickleBuffer) -> str:
    view, numpy = memoryview(buffer), sys.modules.get("numpy")
    kind = f"an array of {numpy.asarray(view).dtype}" if numpy is not None else "a buffer"
    return f"{kind} with shape {view.shape} and {view.nbytes:,} bytes"
