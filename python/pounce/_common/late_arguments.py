"""The arguments of a call that waited for results: pickled when the call was made, with the results filled in."""

from __future__ import annotations

import pickle
from typing import Any

from .serialize import loads


class LateArguments:
    """Travels to a worker, where it unpickles as ``(args, kwargs)``.

    Parameters
    ----------
    data, buffers
        From ``serialize.dumps``.
    values : list
        For each place in its list of objects: a value, or a Ref.
    """

    def __init__(self, data: bytes, buffers: list[bytearray], values: list[Any]):
        self._parts = data, [pickle.PickleBuffer(buffer) for buffer in buffers], values

    def __reduce__(self) -> Any:
        return _whole, self._parts


def _whole(data: bytes, buffers: list[Any], values: list[Any]) -> Any:
    return loads(data, buffers, values.__getitem__)
