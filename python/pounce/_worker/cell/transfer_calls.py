"""Tasks that a kernel sends to a worker that does not see the folder of its notebook's state. They are imported by
reference. None takes longer than a user's cell may wait."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ... import errors
from ..._common.cell_protocol import SavedOffer
from ..state.crossing import Part, as_come, as_sent
from . import runner


def _saved(state: str) -> Any:
    """The SavedNamespace that has it, or had it last."""
    saved = runner.saved_namespace()
    if saved is None or not saved.unshared.knows(state):
        raise errors.LeaseEnded("this worker has a new Python, which has not saved these variables",
                                "Run the next cell.")
    return saved


def offered(state: str, last: bool) -> SavedOffer:
    """What is saved here. It saves nothing itself, since a client sends a worker no cell while a task runs there;
    but if the worker leaves (`last`), all is saved first, however long that takes."""
    saved = _saved(state)
    if last:
        saved.save_last()
    return replace(saved.unshared.offer(state), behind=saved.is_behind())


def parts(state: str, blobs: list[str], start: int) -> list[Part]:
    """See crossing.parts_of() and as_sent()."""
    return as_sent(_saved(state).unshared.parts(state, blobs, start))


def brought(state: str, version: str, problem: str) -> None:
    """The notebook's machine has that version, or cannot get it because of `problem`."""
    saved = _saved(state)
    if problem:
        saved.not_brought(problem)
    else:
        saved.unshared.brought(state, version)


def receive(state: str, blobs: list[Part]) -> None:
    _saved(state).unshared.receive(state, as_come(blobs))
