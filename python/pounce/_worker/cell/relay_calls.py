"""What a kernel asks a worker that does not see the folder of its notebook's state. Tasks, imported by reference: none takes
longer than a person's cell may wait."""

from __future__ import annotations

from typing import Any

from ... import errors
from ..state.crossing import Part
from . import runner


def _saved(state: str) -> Any:
    """The SavedNamespace that has it, or had it last."""
    saved = runner.saved_namespace()
    if saved is None or not saved.relayed.knows(state):
        raise errors.LeaseEnded("this worker has a new Python, which has not saved these variables", "Run the next cell.")
    return saved


def offered(state: str, last: bool) -> dict[str, Any] | None:
    """Saves what the cells left, unless a task comes, and says what is saved. None: nothing is saved here.

    Parameters
    ----------
    state : str
        The id.
    last : bool
        Whatever may come meanwhile: the worker goes.

    Returns
    -------
    dict or None
        ``state``: crossing.unsigned(); ``version``: for brought(); ``behind``: something is not saved yet.
    """
    saved = _saved(state)
    behind = saved.save_now(last)
    offer = saved.relayed.offer(state)
    return None if offer is None else {**offer, "behind": behind}


def parts(state: str, blobs: list[str], start: int) -> list[Part]:
    """See crossing.parts_of()."""
    return list(_saved(state).relayed.parts(state, blobs, start))


def brought(state: str, version: str, problem: str) -> None:
    """The notebook's machine has it, or cannot have it: why."""
    saved = _saved(state)
    if problem:
        saved.not_brought(problem)
    else:
        saved.relayed.brought(state, version)


def receive(state: str, blobs: list[Part]) -> None:
    _saved(state).relayed.receive(state, blobs)
