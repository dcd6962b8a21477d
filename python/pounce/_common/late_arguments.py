"""The arguments of a call that waited for results: as they were pickled when it was made, with what came since in its places."""

from __future__ import annotations

import pickle
from typing import Any

from .serialize import loads


class LateArguments:
    """On its way to a worker, where it unpickles as ``(args, kwargs)``.

    Parameters
    ----------
    data, buffers
        Of ``serialize.dumps``.
    values : list
        For each place in its list of objects: a value, or a Ref.
    """

    def __init__(self, data: bytes, buffers: list[bytearray], values: list[Any]):
        self._parts = data, [pickle.PickleBuffer(buffer) for buffer in buffers], values

    def __reduce__(self) -> Any:
        return _whole, self._parts


def _whole(data: bytes, buffers: list[Any], values: list[Any]) -> Any:
    return loads(data, buffers, values.__getitem__)
