"""POUNCE_CHECK_MUTATION=1 finds an array that is changed while a call needs it, and names it. Without it nothing is hashed."""

from __future__ import annotations

import pytest

pytest.importorskip("numpy")

PRELUDE = """
    import itertools
    import numpy
    from pounce._engine import mutations

    hashed, digest = [], mutations._digest
    mutations._digest = lambda buffer: hashed.append(buffer.raw().nbytes) or digest(buffer)
    flags = (os.path.abspath(f"flag{number}") for number in itertools.count())

    def when_told(flag, *arrays, data=None):
        import os, time
        while not os.path.exists(flag):
            time.sleep(0.01)
        return float(sum(array.sum() for array in arrays))

    def tell(flag):
        open(flag, "x").close()

    def meanwhile(change, submit, *args, **kwargs):
        flag = next(flags)
        future = submit(when_told, flag, *args, **kwargs)
        change()
        tell(flag)
        return future

    def ones(*shape, kind="f8"):
        return numpy.ones(shape, kind)

    def change_of(array):
        def change():
            array.flat[1] = 7
        return change
"""


@pytest.fixture(scope="module")
def told(module_home):
    return module_home.run(PRELUDE + """
    os.environ["POUNCE_CHECK_MUTATION"] = "1"
    with pounce.Client() as client:
        array = ones(500, 1000)
        report(by_position=error_of(meanwhile(change_of(array), client.submit, ones(10), array).result))

        array = ones(500, 1000)
        report(by_keyword=error_of(meanwhile(change_of(array), client.submit, data={"x": [array]}).result))

        array = ones(2, 300_000, kind="f4")
        ref = client.scatter(array)
        report(scattered=error_of(meanwhile(change_of(array), client.submit, ref).result))
        array[:] = 1
        report(as_it_was=client.submit(when_told, "/", ref).result())

        array = pounce.empty(200_000)
        array[:] = 1
        still_writable = array[:]
        report(born_shared=error_of(meanwhile(change_of(still_writable), client.submit, client.scatter(array)).result))

        captured, array = ones(300_000), ones(300_001)
        def captures(flag, given):
            return when_told(flag, captured, given)
        submit = lambda _, *args: client.submit(captures, *args)
        report(beside_captured=error_of(meanwhile(change_of(array), submit, array).result))
        report(captured=error_of(meanwhile(change_of(captured), submit, ones(300_001)).result))

        def fails(flag, given):
            when_told(flag, given)
            raise KeyError("of the function")
        array = ones(300_000)
        failed = meanwhile(change_of(array), lambda _, *args: client.submit(fails, *args), array)
        report(failed=error_of(failed.result), cause=repr(failed.exception().__cause__))

        first, second, flag, flag_of_later = ones(400_000), ones(400_000), next(flags), next(flags)
        meanwhile(lambda: None, client.submit, first).result()
        earlier = client.submit(when_told, flag, first)
        later = client.submit(when_told, flag_of_later, second)  # while the earlier one has not ended
        tell(flag)
        earlier.result()
        first[1] = 7
        tell(flag_of_later)
        report(equal=error_of(later.result))

        array, small = ones(300_000), ones(10_000)
        report(untouched=meanwhile(lambda: None, client.submit, array).result(), small=meanwhile(change_of(small), client.submit, small).result())
        array[:] = 2
        report(changed_between=client.submit(when_told, "/", array).result())
        mapped = numpy.lib.format.open_memmap("array.npy", "w+", "f8", (300_000,))
        before = len(hashed)
        client.submit(when_told, "/", mapped).result()
        report(hashed_of_files=len(hashed) - before)
    """).reports


@pytest.mark.parametrize(
    "case, name, kind",
    [
        ("by_position", "argument 2 of when_told", "an array of float64 with shape (500, 1000) and 4,000,000 bytes"),
        ("by_keyword", "argument data= of when_told", "an array of float64 with shape (500, 1000) and 4,000,000 bytes"),
        ("scattered", "what was scattered", "an array of float32 with shape (2, 300000) and 2,400,000 bytes"),
        ("born_shared", "what was scattered", "an array of float64 with shape (200000,) and 1,600,000 bytes"),
    ],
)
def test_an_array_that_is_changed_while_a_call_needs_it_is_named(told, case, name, kind):
    error = told[case]

    assert error["type"] == "DataChanged" and error["context"] == {"path": name}
    assert error["text"] == f"{name} was changed before when_told had ended: {kind}. Pass a copy, or change it when the call has ended."


def test_what_a_function_captured_is_told_from_what_it_was_given(told):
    assert told["captured"]["context"] == {"path": "what captures captured"}
    assert told["beside_captured"]["context"] == {"path": "argument 1 of captures"}


def test_what_a_function_raised_on_changed_data_is_the_cause(told):
    assert told["failed"]["type"] == "DataChanged"
    assert told["cause"] == "KeyError('of the function')"


def test_of_equal_arrays_the_one_that_came_first_is_looked_at_since_it_is_sent(told):
    assert told["equal"]["context"] == {"path": "argument 1 of when_told"}


def test_what_is_as_it_was_passes(told):
    assert (told["untouched"], told["as_it_was"]) == (300_000, 600_000)


def test_what_has_ended_and_what_was_copied_may_be_changed(told):
    assert (told["changed_between"], told["small"]) == (600_000, 10_000)


def test_what_travels_as_a_file_is_not_read(told):
    assert told["hashed_of_files"] == 0


@pytest.mark.parametrize("value, times", [("1", 2), ("", 0), ("0", 0)])
def test_only_where_it_is_asked_for_is_anything_hashed(home, value, times):
    run = home.run(PRELUDE + f"""
    os.environ["POUNCE_CHECK_MUTATION"] = {value!r}
    with pounce.Client() as client:
        meanwhile(lambda: None, client.submit, ones(300_000)).result()
        report(hashed=hashed)
    """)

    assert run.reports["hashed"] == [2_400_000] * times
