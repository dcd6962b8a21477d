"""When a worker saves what cells have left."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pounce._worker import interpreter
from pounce._worker.cell import saved_namespace
from pounce._common.cell_protocol import NamespaceRequest
from pounce._worker.cell.saved_namespace import SavedNamespace
from pounce._worker.state.folder import Folder
from pounce._worker.state.key import made_key


@pytest.fixture
def told(monkeypatch) -> list[str]:
    """What the worker says of its variables, without a worker."""
    states: list[str] = []
    monkeypatch.setattr(interpreter, "core", SimpleNamespace(tell_state=states.append, wanted=lambda: False, ending=lambda: False))
    return states


# The shell's `_`, `Out` and their like, which no test here reads.
NO_LAST_VALUES = SimpleNamespace(hides=lambda name, hidden: name in hidden, needed=lambda *_: (), forget=lambda: None)


@pytest.fixture
def namespace(tmp_path, folder) -> SavedNamespace:
    """One in which a cell has run."""
    made_key(str(tmp_path))
    Folder.made(folder).close()
    names: dict = {}
    namespace = SavedNamespace(names, (), "", NO_LAST_VALUES)
    assert namespace.enter(NamespaceRequest("a", str(folder)), False).ran
    namespace.before("x = 1")
    names["x"] = 1
    namespace.after(1, 1)
    return namespace


def test_a_worker_that_gets_no_other_cell_saves(told, namespace):
    namespace.idle()

    assert told == ["saving", "saved"]


def work(namespace, monkeypatch, cell: int, seconds: float) -> None:
    """A cell that takes so long."""
    now = saved_namespace.time.monotonic()
    with monkeypatch.context() as clock:
        clock.setattr(saved_namespace.time, "monotonic", lambda: now)
        namespace.before("x")
        clock.setattr(saved_namespace.time, "monotonic", lambda: now + seconds)
        namespace.after(cell, cell)


@pytest.fixture
def stopped(told, namespace, monkeypatch) -> None:
    """The next cell came in the middle of the first save."""
    with monkeypatch.context() as busy:
        busy.setattr(saved_namespace, "Grace", lambda ran_s: lambda: True)
        namespace.idle()
    told.clear()


def test_a_save_that_had_to_stop_is_begun_again_when_no_cell_follows(told, namespace, monkeypatch, stopped):
    work(namespace, monkeypatch, 2, 1.0)

    pause = namespace.idle()
    assert pause is not None and 0 < pause < 0.1 and told == []

    namespace.idle()
    assert told == ["saving", "saved"]


def test_or_when_so_much_work_is_not_saved(told, namespace, monkeypatch, stopped):
    work(namespace, monkeypatch, 2, 1.0)
    namespace.idle()
    assert told == []

    work(namespace, monkeypatch, 3, 2.5)
    namespace.idle()
    assert told == ["saving", "saved"]
