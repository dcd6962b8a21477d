"""When a worker saves what cells have left."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pounce._worker import interpreter
from pounce._worker.cell.saved_namespace import SavedNamespace
from pounce._worker.state.folder import Folder
from pounce._worker.state.key import made_key


@pytest.fixture
def told(monkeypatch) -> list[str]:
    """What the worker says of its variables, without a worker."""
    states: list[str] = []
    monkeypatch.setattr(interpreter, "core", SimpleNamespace(tell_state=states.append, wanted=lambda: False, ending=lambda: False))
    return states


@pytest.fixture
def namespace(tmp_path, folder) -> SavedNamespace:
    """One in which a cell has run."""
    made_key(str(tmp_path))
    Folder.made(folder).close()
    names: dict = {}
    namespace = SavedNamespace(names, ())
    assert namespace.enter({"id": "a", "folder": str(folder), "most_bytes": None, "after": 0, "patience_s": 0}, False).ran
    namespace.before("x = 1")
    names["x"] = 1
    namespace.after(1, 1)
    return namespace


def test_a_worker_that_gets_no_other_cell_saves(told, namespace):
    namespace.idle()

    assert told == ["saving", "saved"]
