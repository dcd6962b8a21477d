"""A class by value, within one process: what is known is not built again, and changes only where the pickle brings it."""

from __future__ import annotations

import pytest
from pounce._common import by_value, class_pickling, serialize


def made(source: str, name: str):
    """A class of the notebook."""
    space = {"__name__": "__main__"}
    exec(source, space)
    return space[name]


def test_a_known_class_is_not_built_again():
    source = "class Base:\n    known = []\n    def __init_subclass__(cls): Base.known.append(cls)\nclass One(Base): pass"
    one = made(source, "One")

    loaded = serialize.loads(by_value.dumps(one))

    assert loaded is one and one.known == [one]


@pytest.mark.parametrize("submitted, found", [(True, (1, True, False)), (False, (2, False, True))], ids=["submitted", "a result"])
def test_a_known_class_gets_the_attributes_that_were_submitted_no_more_and_no_fewer(submitted, found):
    one = made("class One:\n    n = 1\n    m = 1", "One")
    data, _, _ = serialize.dumps(one(), submitted=submitted)
    one.n, one.more = 2, 3
    del one.m

    assert type(serialize.loads(data)) is one
    assert (one.n, hasattr(one, "m"), hasattr(one, "more")) == found


def test_a_class_that_could_not_be_filled_is_filled_by_the_next_pickle():
    one = made("class One: n = 1", "One")
    ident = class_pickling.id_of(one)
    class_pickling._unfilled.add(ident)  # as a pickle leaves it that fails in its middle
    data = by_value.dumps(one)
    one.n = 2

    serialize.loads(data)

    assert one.n == 1 and ident not in class_pickling._unfilled


@pytest.mark.parametrize("thing", [int, type(None), type(iter([])), KeyError, pytest.MonkeyPatch])
def test_what_can_be_imported_goes_by_its_name(thing):
    assert not class_pickling.goes_by_value(thing)
