"""How many items of a map travel together: as many as take about 50 ms, whatever the number of workers."""

from __future__ import annotations

import concurrent.futures

import pytest
from pounce._map.chunk_size import CHUNK_MOST, CHUNK_S, next_size
from pounce._map.collections import Results


class Clock:
    """A client whose workers take as long for an item as `seconds` says, by a clock of their own."""

    def __init__(self, seconds):
        self._seconds = seconds
        self.chunks: list[float] = []

    def submit(self, _, rows, *streams):
        self.chunks.append(sum(self._seconds(row[0]) for row in rows))
        future = concurrent.futures.Future()
        future.set_result((self.chunks[-1], [row[0] for row in rows], None))
        return future

    def cancel(self, _):
        raise AssertionError("nothing is left to be cancelled")


def chunks_of(seconds, items, workers):
    clock = Clock(seconds)
    results = Results(clock, abs, ((n,) for n in range(items)), None, None, items, lambda _: workers)
    assert list(results) == list(range(items))
    return clock.chunks


@pytest.mark.parametrize("workers", [1, 2, 16])
def test_chunks_of_items_that_take_20_ms_are_not_longer_for_more_workers(workers):
    chunks = chunks_of(lambda _: 0.02, 10_000, workers)

    assert max(chunks) <= 2 * CHUNK_S and sum(chunks[-9:-1]) / 8 >= CHUNK_S / 2


def test_chunks_become_small_again_where_items_begin_to_take_long():
    chunks = chunks_of(lambda n: 0.001 if n < 1000 else 1.0, 3000, 2)

    assert chunks[-1] == 1.0


def test_a_few_chunks_of_calls_that_take_nothing_are_enough_for_the_longest():
    size = 1
    for _ in range(3):
        size = next_size(size, size, 1e-9)

    assert size == CHUNK_MOST


def test_a_short_chunk_of_an_earlier_size_tells_nothing_about_the_present_one():
    assert next_size(50, 1, 0.02) == 50


def test_a_long_chunk_of_an_earlier_size_shrinks_the_present_one_once():
    once = next_size(400, 400, 1.0)

    assert once == next_size(once, 400, 1.0) == 20


def test_an_item_that_takes_long_travels_alone():
    assert next_size(8, 8, 60.0) == 1
