"""The global generators: when they count as used, their state and their seeds."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
from pounce._common import bundle, random_streams
from pounce._common.cell_protocol import CellRandom
from pounce._common.generators import GENERATORS
from pounce._worker.cell.cell_streams import CellStreams
from state_folder import restorer_of, saved

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
    generator.seed(b"0123456789abcdef")  # without the second of a pair of normal numbers, which an earlier test may have left
    look = generator.watch
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


@pytest.mark.parametrize("name", DRAWS)
def test_a_worker_gives_a_cell_the_state_that_the_last_one_left_whatever_ran_between_them(name):
    cells = CellStreams()
    request = CellRandom(states={each: generator.state() for each, generator in GENERATORS.items()})
    expected = draws(name, 10)
    cells.begin(request)
    once = draws(name)
    left = cells.end()
    drawn_between = []
    for streams in (BASE, {}, {}):
        cells.before_call(draws, streams)
        drawn_between += draws(name)
    cells.begin(CellRandom(states=request.states | left))

    assert once + draws(name) == expected and len({*drawn_between, *expected}) == 25


def test_what_nobody_has_used_in_the_notebook_does_not_take_the_place_of_what_was_saved():
    cells = CellStreams()
    random.seed(3)
    cells.restored(["random"])
    expected = random.Random(3).random()
    cells.begin(CellRandom(states={"random": state_after("seed()")}, unused=["random"]))

    assert random.random() == expected and set(cells.end()) == set(GENERATORS)


def state_after(what: str) -> bytes:
    exec(f"random.{what}")
    return GENERATORS["random"].state()


def test_a_state_of_a_library_that_is_not_imported_is_restored_as_soon_as_it_is():
    program = """
import random
from pounce._engine import seeds
from pounce._common.generators import GENERATORS
seeds.cell_has_run({"numpy.random": STATE})
print(seeds.of_cell(True).states["numpy.random"] == STATE, seeds.of_call(len).keys(), "numpy" not in __import__("sys").modules)
import numpy.random
print(numpy.random.standard_normal())
"""
    numpy.random.seed(4)
    state = GENERATORS["numpy.random"].state()
    shown = subprocess.run([sys.executable, "-c", program.replace("STATE", repr(state))], capture_output=True, text=True, check=True).stdout

    assert shown == f"True dict_keys(['numpy.random']) True\n{numpy.random.standard_normal()}\n"


@pytest.mark.parametrize("of", [random.gauss, numpy.random.standard_normal, numpy.random.get_bit_generator(), torch.default_generator],
                         ids=["a method of Python's", "a method of numpy's", "numpy's bits", "torch's"])
def test_a_global_generator_is_named_in_what_is_saved_and_is_sent_to_cells(of, folder):
    saver, names = saved(folder, "")
    names["drawn"] = of
    saver.save(1)
    restorer, restored = restorer_of(folder)
    restorer.load(["drawn"])
    sent = bundle.loads(*bundle.dumps({"drawn": of}))

    assert [getattr(each, "__self__", each) for each in (restored["drawn"], sent["drawn"])] == [getattr(of, "__self__", of)] * 2
