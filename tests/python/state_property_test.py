"""Random programs: saved and restored between any two statements they leave what they leave when never saved."""

from __future__ import annotations

import os

import pytest
from state_programs import first_difference

from pounce._worker.state import array_pickling, covariables, large_stack, tensor_pickling
from pounce._worker.state.saver import Saver

PROGRAMS = 10_000 if os.environ.get("POUNCE_LONG_RUN") else 120
UNTIL_FOUND = 200


@pytest.fixture(autouse=True)
def in_this_thread(monkeypatch):
    """A thread for each pickle costs a busy machine more than the pickle; state_save_test.py has them."""
    monkeypatch.setattr(large_stack, "call", lambda function, *_: function())


@pytest.mark.timeout(3600 if os.environ.get("POUNCE_LONG_RUN") else 300)
def test_a_program_whose_namespace_is_saved_and_restored_between_statements_leaves_the_same(tmp_path):
    assert first_difference(range(PROGRAMS), tmp_path / "state") == ""


def test_a_dropped_alias_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(covariables.Groups, "join", lambda self, one, other: None)

    assert " is now " in first_difference(range(UNTIL_FOUND), tmp_path / "state")


def test_a_stale_incremental_save_is_found(tmp_path, monkeypatch):
    save = Saver.save
    monkeypatch.setattr(Saver, "save", lambda self, cell, touched: save(self, cell, ()))

    assert " is now " in first_difference(range(UNTIL_FOUND), tmp_path / "state")


def test_a_view_that_became_a_copy_is_found(tmp_path, monkeypatch):
    def copied(*arguments):
        return view(*arguments).copy()

    view = array_pickling.view
    copied.__module__, copied.__qualname__, copied.__name__ = view.__module__, view.__qualname__, view.__name__
    monkeypatch.setattr(array_pickling, "view", copied)

    assert " is now " in first_difference(range(UNTIL_FOUND), tmp_path / "state")


def test_a_lost_gradient_is_found(tmp_path, monkeypatch):
    def without(tensor, state):
        finish(tensor, {**state, "grad": None})

    finish = tensor_pickling.finish
    without.__module__, without.__qualname__, without.__name__ = finish.__module__, finish.__qualname__, finish.__name__
    monkeypatch.setattr(tensor_pickling, "finish", without)

    assert " is now " in first_difference(range(UNTIL_FOUND), tmp_path / "state")
