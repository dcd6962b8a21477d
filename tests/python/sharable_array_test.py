"""pounce.empty: arrays whose memory a worker on this machine has as it is."""

from __future__ import annotations

import pytest

numpy = pytest.importorskip("numpy")


@pytest.fixture(scope="module")
def told(module_home):
    return module_home.run("""
        import numpy as np
        import time

        def look(array):
            seen = (array.dtype.str, array.shape, float(array.sum()), array.flags.writeable)
            array[...] = -1  # this use's alone
            return seen

        def size_of_private_memory(array):
            # of the pages that the array lies in: those that are this process's own
            begin = array.__array_interface__["data"][0]
            inside, private = False, 0
            for line in open("/proc/self/smaps"):
                if "-" in line.split()[0] and len(line.split()) > 4:
                    low, high = (int(part, 16) for part in line.split()[0].split("-"))
                    inside = low <= begin < high
                elif inside and line.startswith("Anonymous:"):
                    private = int(line.split()[1])
            return private

        with pounce.Client() as client:
            client.submit(abs, 1).result()
            array = pounce.empty((300, 1000), "float32")
            zero = float(array.sum())
            array[:] = 2
            ref = client.scatter(array)
            report(zero=zero, first=client.submit(look, ref).result(), second=client.submit(look, ref).result(), here=float(array.sum()))
            report(again=client.scatter(array) is ref, another=client.scatter(array[:10]) == ref)
            report(private=client.submit(size_of_private_memory, ref).result())
            try:
                array[0] = 1
            except ValueError as error:
                report(write=str(error))

            part = pounce.empty(400_000)
            part[:] = 1
            half = client.scatter(part[:200_000])
            part[:] = 3
            report(half=client.submit(np.sum, half).result())

            argument = pounce.empty(400_000)
            argument[:] = 1
            one = client.submit(np.sum, argument)
            sums = [one.result()]
            argument[:] = 2
            report(arguments=[*sums, client.submit(np.sum, argument).result()])

            with pounce.Client() as second:
                report(another_client=second.submit(np.sum, second.scatter(array)).result().item())
            array.flags.writeable = True
            array[:] = 4
            report(written=client.submit(look, client.scatter(array)).result()[2])

            del ref, array
            other = pounce.empty(300_000)
            other[:] = 5
            report(after=client.submit(np.sum, client.scatter(other)).result())
            report(small=client.submit(np.sum, client.scatter(pounce.empty(np.int64(3)))).result(), nothing=client.submit(np.shape, client.scatter(pounce.empty((0, 3)))).result())
    """).reports


def test_it_is_zero_until_it_is_written(told):
    assert told["zero"] == 0


def test_each_use_has_it_writable_and_to_itself(told):
    assert told["first"] == ["<f4", [300, 1000], 600_000.0, True]
    assert told["second"] == told["first"]
    assert told["here"] == 600_000.0


def test_the_worker_has_no_copy_of_it(told):
    assert told["private"] == 0


def test_it_is_scattered_once(told):
    assert told["again"] is True
    assert told["another"] is False


def test_it_is_read_only_here_once_it_was_scattered(told):
    assert "read-only" in told["write"]


def test_another_client_scatters_it_for_itself(told):
    assert told["another_client"] == 600_000


def test_made_writable_again_it_is_what_it_is_now(told):
    assert told["written"] == 1_200_000


def test_of_an_array_that_can_still_be_written_a_part_is_copied(told):
    assert told["half"] == 200_000


def test_as_a_plain_argument_it_is_what_it_was_at_the_call(told):
    assert told["arguments"] == [400_000, 800_000]


def test_its_memory_is_nobody_elses_afterwards(told):
    assert told["after"] == 1_500_000


def test_small_and_empty_ones_travel_too(told):
    assert told["small"] == 0
    assert told["nothing"] == [0, 3]


def test_what_other_processes_could_not_see_is_refused():
    import pounce

    with pytest.raises(ValueError, match="Python objects"):
        pounce.empty(3, object)
    with pytest.raises(ValueError, match="negative"):
        pounce.empty((2, -1))


def test_more_than_there_is_is_a_memory_error():
    import pounce

    with pytest.raises(MemoryError):
        pounce.empty(2**60, "u1")
