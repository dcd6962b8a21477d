"""The functions of the measured calls, which do next to nothing. Importable, so that contenders send them by name."""

from __future__ import annotations

import time
from typing import Any


def noop(*_: Any) -> None:
    """Ignores its arguments: map needs something to map over."""


def first_line() -> float:
    return time.time()


def look(array: Any) -> tuple[int, int]:
    """Proves that the array is here, without reading all of it."""
    return len(array), int(array[0])


_copies: dict[int, Any] = {}


def copied(array: Any) -> None:
    """Reads all of it into memory, which was used before from the second call on."""
    import numpy

    if array.nbytes not in _copies:
        _copies[array.nbytes] = numpy.ones_like(array)
    numpy.copyto(_copies[array.nbytes], array)


def meet(folder: str, others: int, array: Any = None) -> int:
    """Returns when `others` workers are in it at once, each with the array."""
    import os
    import secrets

    if array is not None:
        look(array)
    open(os.path.join(folder, secrets.token_hex(8)), "x").close()
    while len(os.listdir(folder)) < others:
        time.sleep(0.001)
    return os.getpid()


def faults_of_look(array):
    """The page faults of reading all of it, and whether it is as it was sent; then it is spoiled, for this call alone."""
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    total = int(array[::512].sum())
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    array[:: 1 << 24] = 7
    return faults, total


def make(nbytes: int) -> Any:
    import numpy

    return numpy.ones(nbytes, dtype=numpy.uint8)



_prepared: list[Any] = []


def prepare(nbytes: int) -> None:
    """Makes an array for ``prepared``, so that the time of making it is not measured."""
    _prepared.append(make(nbytes))


def prepared() -> Any:
    """The array that ``prepare`` made, which this process lets go of."""
    return _prepared.pop()


def timed_sum(array: Any) -> float:
    """Reads a number of each page, and returns how long that took here, in ms."""
    start = time.perf_counter()
    int(array[::4096].sum())
    return 1000 * (time.perf_counter() - start)
