"""Whether the notebook holds this worker: its lease stays then although nothing runs.

pounced keeps a lease that is busy, and one whose worker says `saving` is: that word counts as no use of the GPU, so the time of a
hold in which nothing runs is idle in every report.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .. import interpreter

_held = _runs = False
_word = "saved"  # of what the last cells left


def hold(held: bool) -> None:
    """From now on, or no longer."""
    global _held
    _held = held
    if held:
        interpreter.core.tell_held()
    _tell()


def is_held() -> bool:
    return _held


def tell_state(word: str) -> None:
    """As that of _core.Worker, which nobody else in cells asks."""
    global _word
    _word = word
    _tell()


@contextmanager
def cell() -> Iterator[None]:
    """One runs: it uses the GPU."""
    global _runs
    _runs = True
    try:
        if _held:
            _tell()
        yield
    finally:
        _runs = False
        if _held:
            _tell()


def _tell() -> None:
    interpreter.core.tell_state(_word if not _held else "saving" if not _runs else "unsaved" if _word == "unsaved" else "saved")
