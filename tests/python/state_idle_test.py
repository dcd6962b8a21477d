"""When a worker saves what cells have left."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pounce._worker import interpreter
from pounce._worker.cell import saved_namespace
from pounce._worker.cell.grace import Pace
from pounce._common.cell_protocol import NamespaceRequest
from pounce._worker.cell.saved_namespace import SavedNamespace
from pounce._worker.state.folder import Folder
from pounce._worker.state.crossing import state_in
from pounce._worker.state.key import key_of, made_key


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
    pause = namespace.idle()
    assert pause is not None and 0 < pause < 0.1 and told == []

    namespace.idle()
    assert told == ["saving", "saved"]


def work(namespace, monkeypatch, cell: int, seconds: float, assigned: dict = {}) -> None:
    """A cell that takes so long."""
    now = saved_namespace.time.monotonic()
    with monkeypatch.context() as clock:
        clock.setattr(saved_namespace.time, "monotonic", lambda: now)
        namespace.before("x")
        namespace._names.update(assigned)
        clock.setattr(saved_namespace.time, "monotonic", lambda: now + seconds)
        namespace.after(cell, cell)


@pytest.fixture
def stopped(told, namespace, monkeypatch) -> None:
    """The next cell came in the middle of the first save, after a second of work, and the save had 20 ms."""
    work(namespace, monkeypatch, 1, 1.0)
    with monkeypatch.context() as busy:
        busy.setattr(saved_namespace, "Grace", lambda patience_s: lambda: True)
        namespace.idle()
    assert told == ["saving"]
    told.clear()


def test_a_save_that_had_to_stop_is_begun_again_when_no_cell_follows(told, namespace, monkeypatch, stopped):
    work(namespace, monkeypatch, 2, 0.5)

    pause = namespace.idle()
    assert pause is not None and 0 < pause < 0.1 and told == []

    namespace.idle()
    assert told == ["saving", "saved"]


def test_or_when_so_much_work_is_not_saved(told, namespace, monkeypatch, stopped):
    work(namespace, monkeypatch, 2, 0.5)
    namespace.idle()
    assert told == []

    work(namespace, monkeypatch, 3, 0.6)  # as much again as was not saved when it had to stop
    namespace.idle()
    assert told == ["saving", "saved"]


def test_of_cells_that_are_saved_together_each_has_made_its_own_names(told, namespace, monkeypatch, folder):
    for cell, name in ((2, "reader"), (3, "y")):
        work(namespace, monkeypatch, cell, 0.0, {name: (n for n in ()) if name == "reader" else 1})
    namespace.save_last()

    assert state_in(Folder(folder), key_of(str(folder.parent))).made == {"reader": 2}


def cells_at_once(pace: Pace, cell_s: float, save_s: float) -> tuple[float, float]:
    """An hour of cells that follow each other at once: the share of their time that saving costs, and how much of it was ever not saved."""
    ran = unsaved = longest = cost = 0.0
    while ran < 3600:
        ran, unsaved = ran + cell_s, unsaved + cell_s
        longest = max(longest, unsaved)
        if not pace.is_due(unsaved):
            continue
        patience = pace.patience_s(unsaved)
        cost += min(save_s, patience)
        if save_s <= patience:
            pace.saved(save_s)
            unsaved = 0.0
        else:
            pace.stopped(patience)
    return cost / ran, longest


@pytest.mark.parametrize("cell_s, save_s", [(0.01, 0.002), (0.15, 0.04), (0.15, 0.4), (1.0, 4.0), (20.0, 0.1)])
def test_saving_costs_cells_that_follow_each_other_little_and_leaves_little_of_them_unsaved(cell_s, save_s):
    cost, longest = cells_at_once(Pace(), cell_s, save_s)

    assert 0 < cost <= 0.04  # the first save of many may cost twice the share
    assert longest <= max(cell_s, 0.25) + 2 * 50 * save_s + cell_s


def test_what_cells_have_made_in_ten_minutes_is_saved_however_long_that_takes():
    pace = Pace()
    pace.stopped(40.0)

    assert not pace.is_due(599.0)
    assert pace.is_due(600.0) and pace.patience_s(600.0) == float("inf")


def test_cells_that_follow_with_a_pause_are_not_kept_waiting_by_a_save_in_each_pause():
    pace = Pace()
    pace.saved(0.04)

    assert not pace.is_due(1.0) and pace.patience_s(1.0) == 0
    quiet = pace.quiet_s
    pace.stopped(0.0)
    assert pace.quiet_s == 2 * quiet
    pace.saved(0.04)
    assert pace.quiet_s == quiet


def test_a_large_save_does_not_put_off_the_next_one_for_long():
    pace = Pace()
    pace.saved(8.0)

    assert pace.is_due(5.0)
