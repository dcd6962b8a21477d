"""Beginning and ending a hold, and its cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .. import errors
from .._engine.display import Shown
from .._worker.cell import runner
from ..calls import session_of
from ..errors import BadRequest
from .background import CellOutput
from .hold import Hold
from .options_line import CellLine
from .remote import Remote, python_died
from .stop import say, wait
from .traceback import in_words

_STATUS_S = 5.0


def begin(remote: Remote, line: CellLine) -> None:
    """Blocks until there is a worker. The notebook holds it from then on."""
    if remote.hold is not None and remote.hold.is_there:
        if remote.hold.requested == line.target:
            return say(f"this notebook holds {remote.hold.words()} already")
        off(remote)
    remote.end_hold()
    sent, future = remote.submitted(line, runner.hold, True)
    wait(future)
    came = remote.where_it_ran(sent, future)
    state = remote.workers.state(came.target)
    state.target = came.target
    remote.workers.successors.give_back(state)
    view = remote.workers.at(came.target)
    lease = remote.workers.lease_of(view)
    if lease is None:
        raise in_words(errors.LeaseEnded("the worker came, and went at once", "Try again; %pounce explain says more."))
    session = session_of(view)
    remote.hold = Hold(line.target, state, lease, lambda: session.status(_STATUS_S), CellOutput(remote.shell))
    say(f"this notebook holds {remote.hold.words()}: cells from the next one on run there without a magic, "
        "and nobody else can use it, busy or not; %pounce release gives it back, "
        "%%pounce --local in the first line keeps a cell here")


def off(remote: Remote) -> None:
    """Ends the hold. The worker is an ordinary one from now on."""
    hold = _held(remote)
    hold.end()
    remote.hold = None
    if hold.lease.state != "ended":
        wait(remote.workers.at(hold.target, hold.state).submit(runner.hold, False))
    _tell_over(hold, "the notebook holds no worker any more, "
                     "and this one goes back when nothing runs there for a while")


def release(remote: Remote) -> None:
    """Gives back all workers, the held one too."""
    hold = remote.hold
    used = hold.used() if hold is not None else ""
    remote.release()
    if hold is not None:
        say(f"the worker that was held is given back: cells run in the notebook again ({used})")


def run(remote: Remote, line: CellLine, cell: Callable[[CellLine], Shown | None]) -> Shown | None:
    """Runs a cell without a magic on the held worker, or not at all if that has gone.

    Raises
    ------
    WalltimeReached, Preempted, NodeFailed, JobCancelled, LeaseEnded, ...
        Why the worker has gone; the hold is over then.
    """
    hold = _held(remote)
    if not hold.is_there:
        remote.end_hold()
        raise in_words(hold.why())
    try:
        return cell(replace(line, target=hold.target, held=True))
    except errors.Cancelled:
        if hold.lease.state != "ended":
            raise
        remote.end_hold()
        raise in_words(hold.why()) from None
    except BaseException as error:
        if python_died(error):
            remote.hold_again()
        raise
    finally:
        if remote.hold is hold and hold.lease.state == "ended":
            remote.end_hold()
            _tell_over(hold, "the hold is over")


def look(remote: Remote) -> None:
    """Runs before a cell with a line of its own. That cell gets another worker if the held one has gone."""
    hold = remote.hold
    if hold is not None and not hold.is_there:
        remote.end_hold()
        _tell_over(hold, f"the hold is over: {hold.why().text}")


def _held(remote: Remote) -> Hold:
    if remote.hold is None:
        raise BadRequest("this notebook holds no worker", "%pounce hold --gpu 1 takes one.")
    return remote.hold


def _tell_over(hold: Hold, how: str) -> None:
    say(f"{how}: cells run in the notebook again ({hold.used()})")
