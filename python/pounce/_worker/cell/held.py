"""What pounced is told of this worker: that the notebook holds it, or that its cell goes on without the notebook.

A held lease stays although nothing runs: pounced keeps a busy lease, and a lease whose worker says `saving` is busy.
That word does not count as use of the GPU, so the time of a hold in which nothing runs is idle in every report. A lease
whose worker says `kept` outlives its client.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .. import interpreter

_held = _runs = _kept = False
_word = "saved"  # the state of the last cells' work


def hold(held: bool) -> None:
    """The notebook holds this worker from now on, or no longer."""
    global _held
    _held = held
    if held:
        interpreter.core.tell_held()
    _tell()


def is_held() -> bool:
    return _held


def tell_state(word: str) -> None:
    """Like tell_state() of _core.Worker, which code of cells must not call itself."""
    global _word
    _word = word
    _tell()


def keep(kept: bool) -> None:
    """What runs goes on without its client, or no longer. Stays so until the next cell, or until none waits: a client
    may go between two cells."""
    global _kept
    if kept != _kept:
        _kept = kept
        _tell()


def is_kept() -> bool:
    return _kept


@contextmanager
def cell() -> Iterator[None]:
    """Around a cell that runs: it uses the GPU."""
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
    if _kept:
        word = "kept"
    elif _held:
        word = "saving" if not _runs else "unsaved" if _word == "unsaved" else "saved"
    else:
        word = _word
    interpreter.core.tell_state(word)
