"""The global generators: when they count as used, their state and their seeds."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
from pounce._common import random_streams
from pounce._common.generators import GENERATORS

numpy = pytest.importorskip("numpy")
import numpy.random  # noqa: E402

torch = pytest.importorskip("torch")

DRAWS = {"random": random.random, "numpy.random": numpy.random.standard_normal, "torch": lambda: torch.rand(1).item()}
BASE = {name: b"0123456789abcdef" for name in GENERATORS}


@pytest.fixture(autouse=True)
def as_before():
    states = {name: generator.state() for name, generator in GENERATORS.items()}
    yield
    for name, generator in GENERATORS.items():
        generator.restore(states[name])


def draws(name: str, count: int = 5) -> list[float]:
    return [DRAWS[name]() for _ in range(count)]


@pytest.mark.parametrize("name", DRAWS)
def test_a_state_is_all_that_the_next_draws_depend_on(name):
    generator = GENERATORS[name]
    DRAWS[name]()  # a pair of normal numbers is drawn at once: one is in the state now
    state = generator.state()
    once = draws(name)
    end = generator.state()
    generator.restore(state)

    assert (draws(name), generator.state()) == (once, end) != (once, state)


@pytest.mark.parametrize("name", DRAWS)
def test_streams_of_other_numbers_are_others_and_the_same_number_is_the_same_stream(name):
    def stream(number: int) -> tuple[float, ...]:
        random_streams.begin(random_streams.derived(BASE, number))
        return tuple(draws(name))

    streams = [stream(number) for number in range(50)]

    assert len(set(streams)) == 50 and [stream(number) for number in range(50)] == streams


def test_the_streams_of_torch_have_more_than_the_32_bits_of_a_seed():
    """Its generator takes 32 bits of a seed alone, and 100,000 seeds of 32 bits are not all different."""
    key = bytes(16)
    GENERATORS["torch"].seed(key)
    once = torch.rand(700)
    GENERATORS["torch"].seed(key[:-1] + b"\1")

    assert (torch.rand(700) != once).all() and abs(once.mean() - 0.5) < 0.1


@pytest.mark.parametrize(("before", "fresh"), [
    ("", True),
    ("random.seed(0)", False), ("random.seed('text')", False), ("random.seed(2**400)", False), ("random.seed(1.5)", False),
    ("random.seed(0); [random.random() for _ in range(5000)]", False), ("random.seed(0); random.gauss(0, 1)", False),
    ("[random.random() for _ in range(5000)]", True), ("random.seed()", True),
    ("numpy.random.seed(0)", False), ("numpy.random.rand()", False), ("numpy.random.set_bit_generator(numpy.random.PCG64())", False),
])
def test_it_is_known_whether_a_person_has_seeded_it(before, fresh):
    program = f"import random, numpy.random; {before}\nfrom pounce._common.generators import GENERATORS\n" \
              "print([GENERATORS[name].is_fresh() for name in ('random', 'numpy.random')])"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert ("False" not in shown) == fresh


@pytest.mark.parametrize("name", DRAWS)
def test_a_generator_that_is_watched_shows_its_first_draw_and_each_seed(name):
    generator = GENERATORS[name]
    look = generator.watch()
    before = look()

    assert look() == before
    if name != "torch":  # of torch the seed counts alone: nobody can repeat what was drawn without one
        DRAWS[name]()
        assert look() != before
    generator.seed(b"fedcba9876543210")
    assert look() != before


def test_another_kind_of_generator_in_numpys_place_travels_and_is_seeded_as_such():
    generator, before = GENERATORS["numpy.random"], numpy.random.get_bit_generator()
    numpy.random.set_bit_generator(numpy.random.PCG64(3))
    try:
        state, once = generator.state(), draws("numpy.random")
        generator.seed(b"0123456789abcdef")
        seeded = draws("numpy.random")
        generator.restore(state)
        assert draws("numpy.random") == once != seeded
    finally:
        numpy.random.set_bit_generator(before)
