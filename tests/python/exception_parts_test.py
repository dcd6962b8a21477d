"""What an exception goes without where a part of it cannot travel: lines, then attributes, arguments, its class."""

from __future__ import annotations

import copyreg
import pickle
import sys
import threading
import traceback
import types

import exception_cases
import numpy
import pounce
import pytest
from exception_cases import raised
from pounce._common import exceptions, task_end
from pounce._map.collections import run_chunk


def arrived(error: BaseException) -> BaseException:
    return exceptions.loads(exceptions.dumps(error))


class Failing(Exception):
    def __init__(self, text, **attributes):
        super().__init__(text)
        vars(self).update(attributes)


class Unreadable:
    def __reduce__(self):
        return int, ("no number",)


def test_an_attribute_that_cannot_be_pickled_stays_there_and_is_named():
    error = arrived(Failing("x", lock=threading.Lock(), bad=Unreadable(), kept=1))

    assert (type(error), error.args, vars(error)["kept"], hasattr(error, "lock")) == (Failing, ("x",), 1, False)
    assert error.__notes__ == ["pounce: bad, lock cannot be pickled"]


def test_an_argument_that_cannot_be_pickled_is_there_in_words():
    lock = threading.Lock()

    error = arrived(ValueError("in", lock))

    assert (type(error), str(error)) == (ValueError, str(ValueError("in", lock)))
    assert "in words" in error.__notes__[0]


def test_a_class_that_refuses_to_be_pickled_travels_by_its_state():
    class Refuses(Exception):
        def __reduce__(self):
            raise TypeError("not this one")

    error = Refuses("x")
    error.kept = 1

    found = arrived(error)

    assert (type(found), found.args, found.kept) == (Refuses, ("x",), 1)


def test_the_only_argument_in_words_is_the_same_message():
    class Speaking:
        lock = threading.Lock()

        def __str__(self):
            return "spoken"

        def __reduce__(self):
            raise TypeError("not this one")

    assert str(arrived(ValueError(Speaking()))) == "spoken"


def test_a_cause_that_cannot_travel_is_there_in_words_and_all_others_as_they_are():
    class Stays(Exception):
        def __reduce__(self):
            raise TypeError("it stays")

        @property
        def args(self):
            raise TypeError("it stays")

    error, cause = KeyError("k"), Stays("no")
    error.__cause__, cause.__context__ = cause, OSError(2, "gone")

    found = arrived(error)

    assert type(found) is KeyError and type(found.__cause__) is pounce.TaskRaised and "Stays" in str(found.__cause__)
    assert found.__cause__.__context__.errno == 2


def test_what_cannot_be_unpickled_here_is_missing_with_a_word(monkeypatch):
    module = types.ModuleType("only_there")
    exec("class Thing: pass", module.__dict__)
    monkeypatch.setitem(sys.modules, "only_there", module)
    data = exceptions.dumps(Failing("x", thing=module.Thing()))
    monkeypatch.delitem(sys.modules, "only_there")

    error = exceptions.loads(data)

    assert type(error) is Failing and error.args == ("x",) and "cannot be unpickled here" in error.__notes__[0]


def test_the_attributes_of_another_exception_lead_to_the_same_exceptions_as_its_causes():
    error = ValueError("x")
    error.__cause__ = error.reason = KeyError("k")
    error.__context__ = error

    found = arrived(error)

    assert found.reason is found.__cause__ and found.__context__ is found


LARGE = {"array": numpy.zeros(10**8, numpy.uint8), "text": "x" * 100_000, "lock": threading.Lock()}


@pytest.mark.parametrize("obj", LARGE.values(), ids=LARGE)
def test_a_large_object_does_not_travel_for_the_sake_of_a_missing_attribute(obj):
    error = raised(lambda: obj.nothing)

    data = exceptions.dumps(error)

    assert len(data) < 10_000 and exceptions.loads(data).obj is None and exceptions.loads(data).name == "nothing"
    assert not hasattr(exceptions.loads(data), "__notes__")


def test_what_tblib_registers_for_all_exceptions_takes_nothing_from_them(monkeypatch):
    """distributed does that, in a kernel or on a worker, for the classes that are there by then."""
    def reduced_by_tblib(error):
        return _made_by_tblib, (type(error), error.args)

    reduced_by_tblib.__module__ = "tblib.pickling_support"
    for kind in (AttributeError, StopIteration):
        monkeypatch.setitem(copyreg.dispatch_table, kind, reduced_by_tblib)

    assert arrived(raised(lambda: None.nothing)).name == "nothing"
    assert arrived(StopIteration(3)).value == 3


def _made_by_tblib(kind, args):
    error = kind.__new__(kind)
    error.args = args
    return error


def test_an_exception_imports_nothing_for_the_sake_of_a_missing_attribute(monkeypatch):
    module = types.ModuleType("only_there")
    monkeypatch.setitem(sys.modules, "only_there", module)
    data = exceptions.dumps(raised(lambda: module.nothing))
    assert exceptions.loads(data).obj is module
    monkeypatch.delitem(sys.modules, "only_there")

    assert exceptions.loads(data).obj is None


def test_a_long_traceback_keeps_its_ends():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        error = arrived(raised(exception_cases.recurses, -5_000_000))
    finally:
        sys.setrecursionlimit(limit)

    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert type(error) is RecursionError and str(error) and len(names) == 2000
    assert names[0] == "raised" and set(names[1:]) == {"recurses"}


def test_a_stop_iteration_of_any_class_can_be_read_by_python_itself():
    class Own(StopIteration):
        def __init__(self, text):
            self.text = text

    class Iterator:
        def __iter__(self):
            return self

        def __next__(self):
            raise arrived(Own("x"))

    def generator():
        return (yield from Iterator())

    assert list(generator()) == []  # it was a segmentation fault


def test_an_exception_inside_a_value_arrives_as_one():
    number, error = pickle.loads(pickle.dumps((1, exceptions.Travelling(raised(int, "x")))))

    assert number == 1 and type(error) is ValueError and error.__traceback__ is not None


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration])
def test_an_item_of_a_chunk_fails_with_any_type_and_keeps_the_values_before_it(kind):
    _, values, error = run_chunk(lambda n: exception_cases.fails_at_two(kind.__name__, n), [(0,), (1,), (2,), (3,)])

    assert values == [0, 1] and type(pickle.loads(pickle.dumps(error))) is kind


def test_a_chunk_that_is_cancelled_ends_as_a_whole(monkeypatch):
    monkeypatch.setattr(task_end, "is_to_end", lambda: True)

    with pytest.raises(KeyboardInterrupt):
        run_chunk(lambda n: exception_cases.fails_at_two("KeyboardInterrupt", n), [(0,), (1,), (2,), (3,)])
