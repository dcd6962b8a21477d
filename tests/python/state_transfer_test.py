"""The kernel's side of variables that no worker can save where the notebook is: who waits for whom. Without workers."""

from __future__ import annotations

import concurrent.futures
import json
import math
import os
import threading
from types import SimpleNamespace

import pytest
from pounce import errors
from pounce._common.cell_protocol import CellReply, NamespaceReport, PartingOffer
from pounce._worker import interpreter
from pounce._worker.cell import parting
from pounce._worker.state import crossing
from pounce._worker.state.folder import Folder
from pounce._worker.state.key import key_of, made_key
from pounce._worker.state.problems import Damaged
from pounce._worker.state.saver import Saver
from pounce.cell import state_transfer
from pounce.cell.background import Again, CellJob, CellOutput
from pounce.cell.intake import Intake
from pounce.cell.notebook_state import NotebookState
from pounce.cell.options_line import CellLine
from pounce.cell.partings import Partings
from pounce.cell.target import Target
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
    monkeypatch.setattr(state_transfer, "Intake", Bringing)
    made.clear()
    remote = Remote(SimpleNamespace(user_ns={}, user_ns_hidden=set(), magics_manager=SimpleNamespace(magics={"line": {}})))
    state = remote.workers.states[""] = NotebookState()
    state.folder, state.holder = "/nowhere", "first"
    session = SimpleNamespace(takers={}, core=SimpleNamespace(read_to_the_end=lambda seconds: None))
    remote.workers.transfer._view = lambda state: SimpleNamespace(_session=session)
    remote.workers.transfer._is_there = lambda state: True
    remote.workers.transfer.ran(state, None)
    while not made:
        threading.Event().wait(0.01)
    assert made[0].begun.wait(SECONDS)
    yield remote, state, made[0]
    made[0].goes_on.set()


REPLY = CellReply(holder="second", turn=2, namespace=NamespaceReport(ran=True))


# What is brought has to be answered by the very thread that a cell's end is told on.
def test_a_cell_that_ended_on_a_worker_that_sees_the_folder_does_not_wait_for_what_is_brought(bringing):
    remote, state, intake = bringing
    ended = threading.Thread(target=remote._has_run, args=(state, CellLine(Target()), state.ledger.parcel((), {}, 1, 1), REPLY), daemon=True)

    ended.start()
    ended.join(SECONDS / 4)
    waits = ended.is_alive()
    intake.goes_on.set()

    assert not waits and not state.unshared
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


# ---- a worker that goes by itself ----


@pytest.fixture
def node(tmp_path):
    """What a worker saved that goes, and an Intake for the notebook's folder."""
    for side in ("there", "here"):
        (tmp_path / side).mkdir(mode=0o700)
    there, here = Folder.made(tmp_path / "there" / "nb"), Folder.made(tmp_path / "here" / "nb")
    for folder in (there, here):
        made_key(os.path.dirname(folder.path))
    there.take()
    Saver(there, {"x": os.urandom(9_000_000), "y": [1]}, key=key_of(os.path.dirname(there.path))).save(turn=3)
    intake = Intake(here.path, lambda *call: None)
    yield there, here, intake
    intake.close()


class Kernel:
    """What the worker's core is then: the kernel at the other end of it."""

    def __init__(self, intake, answers=None):
        self.intake, self.answers, self.states, self.shown = intake, answers, [], []
        self.tell_state = self.states.append

    def show(self, text, buffers):
        said = json.loads(text)
        assert said["type"] == parting.KIND
        self.shown.append(sum(map(len, buffers)))
        self.wanted = self.intake.take_parting(PartingOffer(**said["content"]), buffers)

    def answer(self, seconds):
        if self.answers:
            return self.answers.pop(0)
        return json.dumps({"parting": self.wanted}).encode()


def part_with(there, monkeypatch, kernel) -> None:
    monkeypatch.setattr(interpreter, "core", kernel)
    list_of_it = crossing.unsigned(crossing.state_in(there, key_of(os.path.dirname(there.path))))
    parting.part_with("nb", "holder", list_of_it, lambda *wanted: crossing.parts_of(there, *wanted))


def there_now(folder) -> int:
    return crossing.state_in(folder, key_of(os.path.dirname(folder.path))).turn


def test_what_a_worker_offers_before_it_goes_comes_in_parts_and_is_whole(node, monkeypatch):
    there, here, intake = node
    kernel = Kernel(intake)

    part_with(there, monkeypatch, kernel)

    assert there_now(here) == 3 and here.blobs() == there.blobs()
    assert len(kernel.shown) >= 4 and max(kernel.shown) <= crossing.PART_BYTES
    assert kernel.states == ["saving"]


def test_what_is_here_already_does_not_come_again(node, monkeypatch):
    there, here, intake = node
    for blob in there.blobs():
        here.share(blob, there)
    kernel = Kernel(intake)

    part_with(there, monkeypatch, kernel)

    assert there_now(here) == 3 and len(kernel.shown) == 1


def test_a_worker_goes_when_nobody_answers_or_what_it_has_is_not_wanted(node, monkeypatch):
    there, here, intake = node
    unanswered, unwanted = Kernel(intake, [None]), Kernel(intake, [b'{"type": "comm_msg"}', b'{"parting": [[], 0]}'])

    part_with(there, monkeypatch, unanswered)
    part_with(there, monkeypatch, unwanted)

    assert len(unanswered.shown) == len(unwanted.shown) == 1 and there_now(here) == 0


def test_a_worker_that_cannot_give_a_part_loses_nothing_that_was_here(node, monkeypatch):
    there, here, intake = node
    kernel = Kernel(intake)
    there.drop(there.blobs())

    with pytest.raises(Damaged):
        part_with(there, monkeypatch, kernel)

    assert there_now(here) == 0


class Wire:
    """A session of which the test says what comes."""

    def __init__(self):
        self.takers, self.answers = {}, []
        self.core = SimpleNamespace(read_to_the_end=lambda seconds: None, reads_on=lambda: False,
                                    tell=lambda task, text: self.answers.append(json.loads(text)))

    def says(self, **content) -> None:
        self.takers[parting.KIND](self, "task", content, [])


def test_a_worker_of_another_time_is_not_wanted():
    wire, state = Wire(), NotebookState()
    state.holder = "new"
    heard = []
    partings = Partings(lambda: [state], heard.append)
    partings.listen(wire)

    wire.says(state=state.id, holder="old")

    assert wire.answers == [{"parting": [[], 0]}] and heard == [] and not partings.has_begun(state)


def test_a_notebook_waits_for_what_a_worker_says_until_it_has_said_all():
    wire, state = Wire(), NotebookState()
    state.holder = "one"
    partings = Partings(lambda: [state], lambda state: None)
    partings.listen(wire)
    partings.wait(state, wire, math.inf)  # nothing is known of it: nothing to wait for
    wire.says(state=state.id, holder="one")
    waits = threading.Thread(target=partings.wait, args=(state, wire, math.inf), daemon=True)

    waits.start()
    waits.join(0.2)
    waited = waits.is_alive()
    partings.take(state, lambda: SimpleNamespace(take_parting=lambda content, buffers: ([], 0)))
    waits.join(SECONDS)

    assert waited and not waits.is_alive() and partings.has_begun(state)
