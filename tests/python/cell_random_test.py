"""Random numbers of cells: as in a plain kernel, wherever each cell runs; those that run at the same time draw others."""

from __future__ import annotations

import contextlib
import io

import pytest
from kernel import notebook_at_home

pytest.importorskip("numpy")
pytest.importorskip("torch")

DRAW = "print(random.random(), random.gauss(0, 1), np.random.standard_normal(), np.random.rand(), torch.rand(1).item())"
HERE, THERE = "", "%%pounce --cpus 1\n"
# Where a cell runs, and its source. The notebook itself imports numpy and torch after cells have drawn from theirs.
CELLS = [
    (HERE, "import random\nrandom.seed(1)"),
    (THERE, "import random, numpy as np, torch\nnp.random.seed(2)\ntorch.manual_seed(3)\n" + DRAW),
    (THERE, DRAW),
    (HERE, "import random, numpy as np, torch\n" + DRAW),
    (THERE, DRAW),
    (THERE, "print('nothing is drawn')"),
    (HERE, DRAW),
    ("%pounce release", ""),
    (THERE, DRAW),
    (HERE, DRAW),
    (HERE, "torch.manual_seed(5)\nrandom.seed(5)\nnp.random.seed(5)"),
    ("call", ""),
    (HERE, "torch.manual_seed(5)\nrandom.seed(5)\nnp.random.seed(5)"),
    (THERE, DRAW),
    (THERE, DRAW + "\n1 / 0"),
    (HERE, DRAW),
]
CALL = "import pounce\nwith pounce.Client(cpus=1) as client:\n    client.submit(random.random).result()"
BEHIND = "%%pounce --cpus 1 --bg --name {}\nprint(random.random(), np.random.rand(), torch.rand(1).item())"


@pytest.fixture(scope="module")
def notebook():
    with notebook_at_home("%load_ext pounce") as made:
        yield made


def in_a_plain_kernel() -> list[str]:
    """What each cell prints."""
    shown, names = [], {}
    for where, source in CELLS:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.suppress(ZeroDivisionError):
            if where in (HERE, THERE):
                exec(source, names)
        shown.append(printed.getvalue())
    return shown


def test_cells_here_and_there_draw_what_they_draw_in_a_plain_kernel_over_a_release_too(notebook):
    shown = [notebook.run(CALL if where == "call" else where + source) for where, source in CELLS]

    assert [each.stdout for each in shown] == in_a_plain_kernel()


def test_cells_in_the_background_draw_from_streams_of_their_own_that_the_seed_decides(notebook):
    def drawn() -> list[str]:
        notebook.run("import random, numpy as np, torch\nrandom.seed(7), np.random.seed(7), torch.manual_seed(7)")
        for name in ("one", "two"):
            notebook.run(BEHIND.format(name))
        after = notebook.run(THERE + "print(random.random(), np.random.rand(), torch.rand(1).item())").stdout
        behind = notebook.run("one.result(60), two.result(60)\nprint(one.log(), two.log(), sep='')").stdout
        return [*behind.splitlines()[:2], after.strip()]

    once = drawn()

    assert len({number for each in once for number in each.split()}) == 9 and drawn() == once


def test_a_new_kernel_that_restores_a_notebook_goes_on_with_its_seeds(notebook):
    draw = "import random, numpy as np\nprint(random.random(), np.random.standard_normal())"
    notebook.run("random.seed(8), np.random.seed(8)")
    notebook.run(THERE + "kept = 1\n" + draw)
    notebook.run("%pounce release")
    expected = notebook.run(draw).stdout
    notebook.client.stop_channels()
    notebook.manager.restart_kernel(now=True)
    notebook.client = notebook.manager.client()
    notebook.client.start_channels()
    notebook.client.wait_for_ready(timeout=120)
    notebook.run("%load_ext pounce")
    notebook.run("%pounce restore")

    assert notebook.run(THERE + "kept\n" + draw).stdout == expected


def test_a_generator_that_the_worker_does_not_know_is_named_and_seeded_from_its_state(notebook):
    """Of another version of numpy: the kind of its bits is not there."""
    notebook.run("import numpy as np\nclass Newer(np.random.PCG64): pass\nnp.random.set_bit_generator(Newer(5))")
    draw = THERE + "import numpy as np\nprint(np.random.random())"
    try:
        shown = notebook.run(draw)
    finally:
        notebook.run("np.random.set_bit_generator(np.random.MT19937(5))")

    assert not shown.of("error") and 0 < float(shown.stdout.splitlines()[-1]) < 1
    assert "the random numbers of numpy.random are others than the notebook's here" in shown.stream("stdout")
