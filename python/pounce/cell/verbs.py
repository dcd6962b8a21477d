"""What ``%pounce VERB`` does: looking after the workers of the cells."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from IPython.core.error import UsageError

from .. import _core, errors
from .._engine.status_line import words_of
from .._engine.text_table import padded
from .._worker.cell import runner
from ..calls import asks_of, session_of
from .options_line import CellLine
from .remote import Remote
from .stop import say, wait


def _status(remote: Remote, asked: CellLine, names: tuple[str, ...]) -> None:
    ledgers = [(place, ledger) for place, ledger in remote.ledgers.items() if ledger.worker]
    for place, ledger in ledgers:
        view = remote.at(place)
        gone = session_of(view).gone(asks_of(view).resources)
        print(f"worker with {place}: {', '.join(sorted(ledger.entries)) or 'no variables'}" + (f" ({gone}: they are gone)" if gone else ""))
    for job in remote.jobs:
        print(job)
    if not ledgers and not remote.jobs:
        print("no worker: the next %%pounce cell asks for one")


def _explain(remote: Remote, asked: CellLine, names: tuple[str, ...]) -> None:
    waiting = [job for job in remote.jobs if job.state == "waiting"]
    for job in waiting:
        print(_core.printable(f"a cell in the background waits: {words_of(job.lease())}"))
        for choice in job.choices():
            print(_core.printable(f"  {choice}"))
    if not waiting:
        print("nothing of this notebook waits")
    for row in remote.client().queue():
        devices = f" on {row.node or 'no node yet'}{', ' + row.devices if row.devices else ''}"
        reason = f" ({row.reason})" if row.reason not in ("", "None") else ""
        print(_core.printable(f"Slurm says: job {row.job} is {row.state}{reason}{devices}"))


def _vars(remote: Remote, asked: CellLine, names: tuple[str, ...]) -> None:
    for name, kind, more in wait(remote.at(asked.place).submit(runner.variables)):
        print(f"{padded(name, 20)} {kind} {more}".rstrip())


def _pull(remote: Remote, asked: CellLine, names: tuple[str, ...]) -> None:
    where, reply = remote.exchange(CellLine(asked.place, (), names), (), "")
    remote.bring(reply, remote.ledger(where.place))


def _push(remote: Remote, asked: CellLine, names: tuple[str, ...]) -> None:
    remote.require(names)
    remote.exchange(CellLine(asked.place, names), names, "")


def _restart(remote: Remote, asked: CellLine, names: tuple[str, ...]) -> None:
    ledger = remote.ledger(asked.place)
    running = [job for job in remote.jobs if job.place == asked.place and job.state == "running"]
    if not running and not ledger.worker:
        raise UsageError(f"this notebook has no worker with {asked.place}; %pounce status names those it has")
    for job in running:
        job.end_python()
    if not running:
        with contextlib.suppress(errors.WorkerCrashed):  # as it was told to
            wait(remote.at(asked.place).submit(runner.end_python))
    lost = ledger.forget()
    say("the worker has a new Python" + (f"; {', '.join(sorted(lost))} went with the old one" if lost else ""))


def _release(remote: Remote, asked: CellLine, names: tuple[str, ...]) -> None:
    remote.release()


VERBS: dict[str, Callable[[Remote, CellLine, tuple[str, ...]], None]] = {
    "status": _status, "explain": _explain, "vars": _vars, "pull": _pull, "push": _push, "restart": _restart, "release": _release}
