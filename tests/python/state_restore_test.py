"""A restore brings what is asked for, with what that needs, once."""

from __future__ import annotations

import numpy as np
import pytest
from pounce._worker.state import array_pickling, blobs, restorer
from pounce._worker.state.folder import Folder
from pounce._worker.state.needs import closure, source_reads
from pounce._worker.state.saver import Saver
from state_folder import restored, restorer_of, saved

NOTEBOOK = """
import numpy as np
x = [1]
alias = x
big = np.zeros(10 ** 5)
unused = [2]
def f(n): return g(n) + x[0]
def g(n): return n * factor
factor = 3
class Model:
    def run(self): return f(2)
model = Model()
"""


def needed_by(source, restorer):
    read, state = source_reads(source), restorer.saved
    units = {name: unit for unit in state.units for name in unit.names}
    return closure(restorer.names() if read is None else read, units, state.modules)


@pytest.mark.parametrize(
    "source, needed",
    [
        ("print(1)", set()),
        ("y = x", {"x", "alias"}),
        ("x = 5", set()),
        ("x += 5", {"x", "alias"}),
        ("del unused", {"unused"}),
        ("g(1)", {"g", "factor"}),
        ("[f(i) for i in range(3)]", {"f", "g", "factor", "x", "alias"}),
        ("def h():\n    return lambda: model", {"model", "Model", "f", "g", "factor", "x", "alias"}),
        ("class A:\n    y = unused", {"unused"}),
        ("await model.run()", {"model", "Model", "f", "g", "factor", "x", "alias"}),
        ("get_ipython().run_line_magic('time', 'g(2)')", {"g", "factor"}),
        ("big.sum()", {"big"}),
        ("this is no python", set()),
    ],
)
def test_a_cell_needs_what_it_reads_and_what_that_reads(folder, source, needed):
    saved(folder, NOTEBOOK)
    restorer, _ = restorer_of(folder)

    assert needed_by(source, restorer) == needed


@pytest.mark.parametrize("source", ["globals()['x']", "eval('x')", "dir()", "exec(code)", "locals()"])
def test_a_cell_that_can_read_any_name_needs_all(folder, source):
    saved(folder, NOTEBOOK)
    restorer, _ = restorer_of(folder)

    assert needed_by(source, restorer) == set(restorer.names())


def test_a_name_that_was_assigned_meanwhile_is_newer(folder):
    saved(folder, "x = [1]; alias = x")
    restorer, there = restorer_of(folder)
    there["x"] = "newer"

    restorer.load(["alias"])

    assert there["x"] == "newer" and there["alias"] == [1]


def test_names_loaded_one_after_the_other_are_what_they_were_together(folder):
    saved(folder, NOTEBOOK + "other = Model(); both = [f, Model]")
    restorer, there = restorer_of(folder)
    for name in ("other", "both", "model", "f", "x"):
        restorer.load([name])

    assert type(there["other"]) is type(there["model"]) is there["Model"] is there["both"][1]
    assert there["both"][0] is there["f"] and there["model"].run() == 7


def test_what_was_not_loaded_stays_in_the_state_when_it_is_saved_again(folder):
    saved(folder, "import numpy as np; a, b, c = [1], [2], [3]; d = a")
    restorer, there = restorer_of(folder)
    restorer.load(["b"])
    there["b"].append(4)
    there["a"] = "new"
    restorer.forget(["a", "c"])

    Saver(Folder(folder), there, unloaded=restorer.pending).save(5)

    assert restored(folder) == {"a": "new", "b": [2, 4], "d": [1], "np": np}


@pytest.mark.parametrize("made, why", [("len, ()", "TypeError"), ("exec, ('raise SystemExit',)", "SystemExit"), ("time.sleep, (30,)", "TooSlow")])
def test_an_object_that_is_not_made_as_it_said_is_named_and_the_others_are_restored(folder, monkeypatch, made, why):
    monkeypatch.setattr(restorer, "LOAD_S", 0.5)
    saved(folder, f"""
        import time
        class Liar:
            def __reduce__(self): return {made}
        liar = Liar()
        fine = [3]
    """)
    found, there = restorer_of(folder)

    failed = found.load(found.names()).failed

    assert failed.keys() == {"liar"} and why in failed["liar"] and there["fine"] == [3]


@pytest.mark.parametrize("where", [(blobs.Reader, "read"), (array_pickling, "_empty")], ids=["pickle", "array"])
def test_what_does_not_fit_into_the_workers_memory_is_named_and_the_rest_is_restored(folder, monkeypatch, where):
    def no_room(*_):
        raise MemoryError("Unable to allocate")

    saved(folder, "import numpy\nlarge = numpy.zeros(10 ** 5)\nfine = [3]")
    found, there = restorer_of(folder)
    found.load(["fine"])
    monkeypatch.setattr(*where, no_room)

    failed = found.load(["large"]).failed

    assert failed == {"large": "it does not fit into this worker's memory"} and there["fine"] == [3]


def test_a_unit_that_cannot_be_loaded_is_named_and_the_others_are(folder):
    saved(folder, """
        class Odd(Exception):
            def __init__(self, one, two): super().__init__(one)
        odd = [Odd(1, 2)]
        fine = [3]
    """)
    restorer, there = restorer_of(folder)

    failed = restorer.load(restorer.names()).failed

    assert failed.keys() == {"odd"} and "TypeError" in failed["odd"] and there["fine"] == [3]


REDEFINED = {
    "class C: n = 1\nc = C(); kept = [C]": {"c", "kept"},
    "def C(): return 1\nc = [C]; kept = 5": {"c"},
    "class B: pass\nclass C(B): n = 1\nc = C(); kept = B()": {"c"},
}


@pytest.mark.parametrize("source", REDEFINED)
@pytest.mark.parametrize("change", ["class C: n = 2", "del C"])
def test_what_refers_to_a_definition_that_is_another_by_now_is_outdated_and_gets_the_old_one(folder, source, change):
    saved(folder, source)
    restorer, there = restorer_of(folder)
    restorer.load(["C"])
    before, none = there["C"], restorer.outdated()
    exec(change, there)

    outdated = restorer.outdated()
    restorer.load(outdated)

    assert (none, outdated) == (set(), REDEFINED[source])
    assert before in (type(there["c"]), there["c"], *(there["c"] if isinstance(there["c"], list) else ()))


def test_a_class_that_is_known_becomes_what_was_saved_only_with_its_name(folder):
    _, here = saved(folder, "class C: n = 1\nc = C()")
    restorer, there = restorer_of(folder)
    here["C"].n = 2
    restorer.forget(["C"])
    restorer.load(["c"])
    newer = type(there["c"]) is here["C"] and there["c"].n
    again, there = restorer_of(folder)
    again.load(["C"])

    assert newer == 2 and there["C"] is here["C"] and here["C"].n == 1
