"""A loop that can be left between two steps and gone on with: each step once, whatever it goes over."""

from __future__ import annotations

import random

import pytest
from pounce._worker.steps import Left, steps


class Drawn:
    """Something to iterate over that is no sequence, and counts what was drawn of it."""

    def __init__(self, count: int):
        self._count, self.drawn = count, 0

    def __iter__(self):
        for item in range(self._count):
            self.drawn += 1
            yield item


class Asks:
    """Somebody asks for the GPU after so many steps."""

    def __init__(self, after: int):
        self.after, self.asked, self.runs = after, 0, False

    def begins(self):
        self.runs = True

    def wants(self):
        self.asked += 1
        return self.asked == self.after

    def ends(self):
        self.runs = False


def watched(iterable, after: int, total=None):
    loop = steps(iterable, total)
    loop.watch = Asks(after)
    return loop


def left(loop) -> tuple[list, tuple[int, bytes]]:
    """The steps that a loop has done before it is left, and its state."""
    done = []
    with pytest.raises(Left) as raised:
        for item in loop:
            done.append(item)
    assert raised.value.steps is loop
    return done, loop.state()


def resumed(iterable, state) -> list:
    loop = steps(iterable)
    loop.resume(*state)
    return list(loop)


@pytest.mark.parametrize("iterable", [range(3, 8), [1, 2, 3], "abc", (item for item in (1, 2)), []])
def test_where_nobody_asks_it_is_a_plain_loop(iterable):
    items = list(iterable) if not hasattr(iterable, "send") else [1, 2]

    assert list(steps(iterable)) == items


@pytest.mark.parametrize("make", [lambda: range(5), lambda: list(range(5)), lambda: Drawn(5), lambda: iter(range(5))])
@pytest.mark.parametrize("position", [1, 2, 4])
def test_one_that_is_left_and_gone_on_with_does_each_step_once(make, position):
    before, state = left(watched(make(), position))

    after = resumed(make(), state)

    assert len(before) == position and before + after == [0, 1, 2, 3, 4]


def test_it_is_left_only_when_the_step_under_way_is_over():
    finished = []

    with pytest.raises(Left):
        for item in watched(range(5), 2):
            finished.append(item)

    assert finished == [0, 1]


def test_nobody_asks_after_the_last_step():
    assert list(watched(range(3), 3)) == [0, 1, 2]
    assert list(watched(iter(range(3)), 3, total=3)) == [0, 1, 2]


def test_one_that_ends_in_any_way_is_not_watched_any_more():
    loops = [watched(range(3), after=9), watched(range(3), after=9), watched(range(3), after=1)]
    watches = [loop.watch for loop in loops]

    list(loops[0])
    for _ in loops[1]:
        break
    left(loops[2])

    assert [watch.runs for watch in watches] == [False, False, False]


def test_it_is_watched_for_one_pass():
    loop = watched(range(3), after=1)
    left(loop)

    assert list(loop) == [0, 1, 2]


def test_a_shuffled_order_is_the_same_and_what_is_drawn_from_then_on_goes_on():
    class Shuffled:
        def __iter__(self):
            order = list(range(8))
            random.shuffle(order)
            yield from order

    def undisturbed() -> list:
        random.seed(1)
        return [(item, random.random()) for item in steps(Shuffled())]

    def interrupted() -> list:
        random.seed(1)
        done = []
        loop = watched(Shuffled(), 3)
        with pytest.raises(Left):
            for item in loop:
                done.append((item, random.random()))
        seeds = random.getstate()
        random.seed(99)  # another process
        random.setstate(seeds)  # whose seeds were put back
        again = steps(Shuffled())
        again.resume(*loop.state())
        return done + [(item, random.random()) for item in again]

    assert interrupted() == undisturbed()


def test_of_a_sequence_nothing_is_looked_at_twice():
    class Files(list):
        def __getitem__(self, index):
            looked_at.append(index)
            return super().__getitem__(index)

    looked_at: list[int] = []

    assert resumed(Files("abcd"), (2,)) == ["c", "d"]
    assert looked_at == [2, 3]


def test_of_anything_else_what_was_done_is_drawn_again_and_dropped():
    loader = Drawn(4)

    assert resumed(loader, (3,)) == [3]
    assert loader.drawn == 4


def test_a_second_pass_begins_at_the_beginning():
    loop = steps(range(3))
    loop.resume(2)

    assert [list(loop), list(loop)] == [[2], [0, 1, 2]]


def test_the_position_counts_the_steps_that_are_over():
    loop = steps("ab")

    assert [loop.position for _ in loop] == [0, 1] and loop.position == 2


def test_a_bar_finds_the_length():
    assert len(steps(range(7))) == 7 and len(steps(iter(()), total=9)) == 9
    with pytest.raises(TypeError):
        len(steps(iter(())))


def test_a_list_that_grows_meanwhile_is_followed_as_in_a_plain_loop():
    work = [3]
    done = []
    for item in steps(work):
        done.append(item)
        if item:
            work.append(item - 1)

    assert done == [3, 2, 1, 0]
