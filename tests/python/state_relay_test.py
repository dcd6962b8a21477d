"""The kernel's side of variables that no worker can save where the notebook is: who waits for whom. Without workers."""

from __future__ import annotations

import concurrent.futures
import threading
from types import SimpleNamespace

import pytest
from pounce import errors
from pounce.cell import state_relay
from pounce.cell.background import Again, CellJob, CellOutput
from pounce.cell.notebook_state import NotebookState
from pounce.cell.options_line import CellLine
from pounce.cell.place import Place
from pounce.cell.remote import Remote

SECONDS = 20  # for what takes none: it hangs, or does not


class Bringing:
    """An Intake that brings until it is told to stop."""

    def __init__(self, path, ask):
        self.nbytes, self.closed = 0, threading.Event()
        made.append(self)
        self.begun, self.goes_on = threading.Event(), threading.Event()

    def bring(self, last=False, pauses=lambda: False):
        self.begun.set()
        self.goes_on.wait(SECONDS)
        return True

    def close(self):
        self.closed.set()


made: list[Bringing] = []


@pytest.fixture
def bringing(monkeypatch):
    """A notebook whose kernel brings what its worker has saved, and what does that."""
    monkeypatch.setattr(state_relay, "Intake", Bringing)
    made.clear()
    remote = Remote(SimpleNamespace(user_ns={}, user_ns_hidden=set()))
    state = remote.workers.states[""] = NotebookState()
    state.folder, state.holder = "/nowhere", "first"
    remote.workers.relay._is_there = lambda state: True
    remote.workers.relay.ran(state, None)
    while not made:
        threading.Event().wait(0.01)
    assert made[0].begun.wait(SECONDS)
    yield remote, state, made[0]
    made[0].goes_on.set()


REPLY = {"holder": "second", "asked": 2, "lacks": [], "relayed": False, "ran": True, "fresh": False, "turn": 0, "cell": 0, "lost": {},
         "problem": "", "assigned": [], "deleted": []}


# What is brought has to be answered by the very thread that a cell's end is told on.
def test_a_cell_that_ended_on_a_worker_that_sees_the_folder_does_not_wait_for_what_is_brought(bringing):
    remote, state, intake = bringing
    ended = threading.Thread(target=remote._has_run, args=(state, CellLine(Place()), state.ledger.parcel((), {}, 1, 1), REPLY), daemon=True)

    ended.start()
    ended.join(SECONDS / 4)
    waits = ended.is_alive()
    intake.goes_on.set()

    assert not waits and not state.relayed
    assert intake.closed.wait(SECONDS)


class Given:
    """A cell in the background whose worker lacks variables: it is given them while `goes_on` is not set."""

    error = None

    def __init__(self, monkeypatch):
        monkeypatch.setattr("pounce.cell.background.engine_of", lambda future: (SimpleNamespace(state=lambda task: "waiting"), None))
        self.begun, self.goes_on, self.sent, self.noted = threading.Event(), threading.Event(), [], []
        first: concurrent.futures.Future = concurrent.futures.Future()
        first.set_result("lacks")
        view = SimpleNamespace(cancel=lambda future: future.cancel())
        self.job = CellJob(view, lambda: None, first, CellOutput(SimpleNamespace()), self.ended)

    def ended(self, future):
        self.noted.append(future)
        if future.result() == "lacks":
            raise Again(self.give, self.submit)
        return None

    def give(self):
        self.begun.set()
        self.goes_on.wait(SECONDS)

    def submit(self):
        if self.error is not None:
            raise self.error
        self.sent.append(concurrent.futures.Future())
        return self.sent[-1]


def test_a_cell_that_is_cancelled_while_its_worker_is_given_variables_does_not_run(monkeypatch):
    given = Given(monkeypatch)
    assert given.begun.wait(SECONDS)

    given.job.cancel()
    given.goes_on.set()

    with pytest.raises(errors.Cancelled):
        given.job.result(SECONDS)
    assert given.sent == [] and len(given.noted) == 2  # told as any other end: what travelled with it is not there
    assert given.job.state == "done"


def test_what_its_worker_cannot_be_given_is_the_cells_error(monkeypatch):
    given = Given(monkeypatch)
    given.error = errors.ClientClosed("the client was closed")

    given.goes_on.set()

    with pytest.raises(errors.ClientClosed):
        given.job.result(SECONDS)
    assert len(given.noted) == 2
