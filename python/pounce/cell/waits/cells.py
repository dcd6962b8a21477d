"""A cell's run, with what is shown while it waits, and with what tells of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ... import errors
from ...calls import session_of
from .. import batch
from ..background import DONE, FAILED, STOPPED, CellOutput, PutBehind
from ..options_line import CellLine
from ..remote import Remote
from .offer import Offer
from .telling import Telling
from .under_cell import UnderCell


def run(remote: Remote, line: CellLine, wanted: Any, source: str, said: str) -> Any:
    """`said`: the options as they are written."""
    offer = Offer(remote, line, said)
    outcome = FAILED
    try:
        offer.begins()
        remote.waiting = offer
        value = remote.run(line, wanted, source)
        outcome = DONE
        return value
    except PutBehind:
        remote.waiting = None
        outcome = ""
        return _otherwise(remote, offer, wanted, source)
    except (KeyboardInterrupt, errors.Cancelled):
        outcome = STOPPED
        raise
    finally:
        remote.waiting = None
        offer.let_place_go()
        if outcome:
            offer.telling.ended(outcome)


def _otherwise(remote: Remote, offer: Offer, wanted: Any, source: str) -> Any:
    """As the user has clicked."""
    try:
        if offer.batch_run is not None:
            offer.telling.ended("")
            return batch.submitted(offer.batch_run)
        value = remote.run_behind(replace(offer.line(), background=True), wanted, source)
    except BaseException:
        offer.telling.ended(FAILED)
        raise
    remote.jobs[-1].tells(offer.telling)
    return value


def run_behind(remote: Remote, line: CellLine, wanted: Any, source: str, said: str) -> Any:
    if not line.tells:
        return remote.run_behind(line, wanted, source)
    output = CellOutput(remote.shell)
    under = UnderCell(remote.shell, output, lambda _: telling.facts())
    telling = Telling(line.name or f"cell {remote.number()}", under, output,
                      session_of(remote.workers.client()).notify, is_wanted=True)
    telling.begins()
    try:
        value = remote.run_behind(line, wanted, source)
    except BaseException:
        telling.ended("")
        raise
    remote.jobs[-1].tells(telling)
    return value
