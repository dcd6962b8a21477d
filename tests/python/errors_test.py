"""One exception class per code, on the C++ side, the Python side and in docs/errors.md."""

from __future__ import annotations

import concurrent.futures
import pickle
from pathlib import Path

import pounce
import pytest
from pounce import _core, errors

CODES = [code for code, _, _ in _core.ERROR_CODES]


@pytest.mark.parametrize("code", CODES)
def test_each_code_has_a_class_with_cause_and_remedy(code):
    error = errors.make(code, "this happened")

    assert isinstance(error, errors.PounceError)
    assert getattr(pounce, type(error).__name__) is type(error)
    assert str(error).startswith("this happened. ")
    assert str(error).endswith(error.default_remedy)


@pytest.mark.parametrize("name", [*pounce._HOMES, "PounceError", "LeaseEnded", "OutOfMemory"])
def test_what_users_import_is_called_as_they_call_it_in_help_and_in_tracebacks(name):
    thing = getattr(pounce, name)

    assert thing.__module__ == "pounce" or not isinstance(thing, type)
    assert pickle.loads(pickle.dumps(thing)) is thing


def test_import_star_and_type_checkers_see_what_there_is():
    assert set(pounce.__all__) == {*pounce._HOMES, "__version__"}


@pytest.mark.parametrize("code", CODES)
def test_each_code_is_in_the_documentation(code):
    text = (Path(__file__).parents[2] / "docs" / "errors.md").read_text()

    assert f"`{code}`" in text
    assert errors.BY_CODE[code].__name__ in text


def test_a_remedy_of_its_own_replaces_the_default():
    assert str(errors.make("rejected", "no", "Ask nicely.")) == "no. Ask nicely."


def test_evidence_is_shown():
    error = errors.make("worker_crashed", "it died", context={"signal": "11", "node": "g1", "last_lines": "one\ntwo\n"})

    assert "node g1" in str(error) and "    one\n    two" in str(error)


@pytest.mark.parametrize(("code", "facts"), [
    ("worker_crashed", {"signal": 11, "exit_code": None}), ("worker_crashed", {"signal": None, "exit_code": 3}),
    ("out_of_memory", {"signal": 9, "exit_code": None, "object": ""}), ("out_of_memory", {"signal": None, "exit_code": None, "object": "4041"}),
    ("file_not_here", {"path": "/scratch/a.npy"})])
def test_what_a_program_decides_by_is_an_attribute_that_crosses_to_cpp_and_travels_in_a_pickle(code, facts):
    error = errors.of(_core.Error(code, "text", **facts))

    for same in (error, pickle.loads(pickle.dumps(error)), errors.of(errors.record_of(error))):
        assert {name: getattr(same, name) for name in facts} == facts


def test_words_of_the_evidence_decide_nothing():
    error = errors.make("worker_crashed", "it died", context={"signal": "11", "exit_code": "3"})

    assert (error.signal, error.exit_code) == (None, None)


def test_an_error_takes_no_attribute_of_another_class():
    with pytest.raises(TypeError, match="LostError has no signal"):
        errors.make("lost", "gone", signal=9)


def test_a_code_of_a_newer_peer_is_an_internal_error():
    assert isinstance(errors.make("flux_capacitor", "?"), errors.InternalError)


def test_python_has_words_for_some():
    assert issubclass(errors.Cancelled, concurrent.futures.CancelledError)
    assert issubclass(errors.Timeout, concurrent.futures.TimeoutError) and issubclass(errors.Timeout, TimeoutError)
    assert issubclass(errors.OutOfMemory, MemoryError)
    assert issubclass(errors.NotPicklable, pickle.PicklingError) and issubclass(errors.ResultNotPicklable, pickle.PicklingError)


@pytest.mark.parametrize("code", CODES)
def test_errors_can_be_pickled(code):
    error = errors.make(code, "text", "remedy", {"a": "b"})

    again = pickle.loads(pickle.dumps(error))

    assert (type(again), str(again), again.context) == (type(error), str(error), {"a": "b"})


def test_what_strangers_wrote_acts_on_no_terminal_and_its_lines_stay_lines():
    error = errors.make("rejected", "job '\x1b[2Jmine' waits\nfor \x07", "Ask.", {"node": "\x1b[31mg1", "last_lines": "one\n\x1b[Htwo"})

    assert "\x1b" not in str(error) and "\x07" not in str(error)
    assert str(error).split("\n")[0] == r"job '\x1b[2Jmine' waits"
    assert str(error).endswith("    one\n    " + r"\x1b[Htwo")
    assert error.context["last_lines"] == "one\n\x1b[Htwo"
