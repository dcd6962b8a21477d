"""Tab, Shift+Tab, %who and %whos on what lives on a worker, beside a plain kernel that has the same variables."""

from __future__ import annotations

import re
import time
from types import SimpleNamespace

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")
pytest.importorskip("pandas")

from kernel import SECONDS, Notebook, notebook_at_home

VARIABLES = '''
import pandas
class Net:
    """A network of one layer."""
    def __init__(self): self.weights, self.weirdness = [0.0], 1
    def fit(self, epochs: int, *, rate: float = 0.1) -> None:
        """Trains it for some epochs."""
network = Net()
table = {"alpha_rate": 1, "alpha_steps": 2}
frame = pandas.DataFrame({"gamma_ray": [1], "gamma_knife": [2]})
numeral = 6
def train_it(epochs, rate=0.1):
    """Trains the network."""
    return epochs * rate
'''
TEXTS = ["network.wei", "network.fit(epo", 'table["alpha', 'frame["gamma', "frame.gamma", "train_it(rat", "[network.fi", 'open("of_the_wor',
         "for one in table.ite", "x = 1\nnetwork.", "train_i", "pandas.DataFr"]
pytestmark = pytest.mark.xdist_group("cell_look")  # one notebook for all
# A look at these runs code that raises, that is heard, or that does not end.
BAD = """
import logging, os, sys, time
from IPython.display import display
logging.basicConfig(level=logging.INFO)
class Raises:
    def __getattr__(self, name): raise RuntimeError(f"no {name}")
class Noisy:
    loudness = 11
    def __dir__(self):
        print("NOISE"); print("NOISE", file=sys.stderr); logging.error("NOISE"); display("NOISE")
        return ["loudness"]
    def __getattr__(self, name):
        print("NOISE")
        raise AttributeError(name)
    def __repr__(self):
        print("NOISE")
        return "noisy"
class Stuck:
    def __dir__(self):
        open("stuck", "w").close()
        try:
            while True: time.sleep(0.01)
        finally:
            open("given_up", "w").close()
class Stubborn:
    def __dir__(self):
        open("stubborn", "w").close()
        while not os.path.exists("let_go"):
            try: time.sleep(0.01)
            except BaseException: pass
raises, noisy, stuck, stubborn = Raises(), Noisy(), Stuck(), Stubborn()
"""
# On a busy machine jedi has no time for types, and answers come after the second that a notebook waits.
UNHURRIED = "get_ipython().Completer.jedi_compute_type_timeout = 60_000\n"
PATIENT = "from pounce.cell.look import channel; channel._LONGEST_S = {}"
LATE = "%%pounce --cpus 1\nfrom pounce._worker.cell import looks; looks._LATE_S = {}"


@pytest.fixture(scope="module")
def there():
    """A notebook whose worker has the variables, and a plain kernel that has them itself, in one folder."""
    with notebook_at_home(f"{UNHURRIED}import pounce; of_the_notebook = [1]\n{PATIENT.format(SECONDS)}") as notebook:
        (notebook.home.folder / "of_the_worker.csv").touch()
        assert not notebook.run("%%pounce --cpus 1\n" + VARIABLES + BAD).of("error")
        notebook.run(LATE.format(SECONDS))
        plain = Notebook(notebook.home)
        plain.run(UNHURRIED + VARIABLES)
        yield SimpleNamespace(notebook=notebook, plain=plain, folder=notebook.home.folder)
        plain.close()


def until(condition) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def completions(notebook: Notebook, text: str, magic: str = "") -> list[tuple]:
    """Where each begins in the text behind the magic's line, the text, type and signature."""
    found = notebook.completion(magic + text)["metadata"]["_jupyter_types_experimental"]
    return [(one["start"] - len(magic), one["end"] - len(magic), one["text"], one["type"], one["signature"]) for one in found]


def names(notebook: Notebook, text: str) -> list[str]:
    return notebook.completion(text)["matches"]


def told(notebook: Notebook, name: str, detail: int) -> list[str]:
    """Without what is each kernel's own: the line of the file, and where an object lies."""
    found = notebook.inspected(name, detail)
    assert found["found"], name
    return [re.sub("0x[0-9a-f]+", "", line) for line in found["data"]["text/plain"].splitlines() if "File:" not in line]


@pytest.mark.parametrize("text", TEXTS)
def test_tab_offers_what_a_plain_kernel_does(there, text):
    expected = completions(there.plain, text)

    assert expected
    assert completions(there.notebook, text, "%%pounce --cpus 1\n") == expected
    assert {one[2] for one in completions(there.notebook, text)} == {one[2] for one in expected}


def test_names_of_both_sides_stand_beside_each_other_once(there):
    assert names(there.notebook, "%%pounce\nof_the_notebook.appe") == ["append"]
    assert names(there.notebook, "%%pounce\nof_the_note") == ["of_the_notebook"]
    assert names(there.notebook, "numer") == ["numeral"]
    there.notebook.run("%%pounce\nof_the_notebook.append(2)")
    assert names(there.notebook, "%%pounce\nof_the_notebook.appe") == ["append"]


@pytest.mark.parametrize("detail", [0, 1])
@pytest.mark.parametrize("name", ["train_it", "network.fit", "network", "numeral", "Net"])
def test_shift_tab_shows_what_a_plain_kernel_does(there, name, detail):
    assert told(there.notebook, name, detail) == told(there.plain, name, detail)


def paged(notebook: Notebook, question: str) -> list[str]:
    (page,) = notebook.run(question).reply["payload"]
    return [re.sub("0x[0-9a-f]+", "", line) for line in page["data"]["text/plain"].splitlines() if "File:" not in line]


@pytest.mark.parametrize("question", ["train_it?", "train_it??", "?network.fit", "numeral?", "len?"])
def test_a_question_mark_in_a_cell_of_the_notebook_pages_what_a_plain_kernel_pages(there, question):
    assert paged(there.notebook, question) == paged(there.plain, question)


def test_a_name_that_is_nowhere_is_not_found(there):
    assert not there.notebook.inspected("of_no_one", 0)["found"]
    assert there.notebook.inspected("len", 0)["found"]


def test_a_cell_that_runs_is_looked_into_and_goes_on(there):
    notebook, folder = there.notebook, there.folder
    notebook.run("%%pounce --bg --name job\nimport os, time\nclass Live:\n    pulse = 60\nlive = Live()\nopen('begun', 'w').close()\n"
                 "while not os.path.exists('go_on'): time.sleep(0.01)\nprint('went on')")
    until((folder / "begun").exists)

    assert names(notebook, "%%pounce --cpus 1\nlive.pul") == ["pulse"]
    assert notebook.inspected("live", 0)["found"]
    assert names(notebook, "network.weir") == ["weirdness"]

    (folder / "go_on").touch()
    assert notebook.run("job.result(60); job.log()").value == "'went on\\n'"


def test_a_look_at_a_bad_object_harms_nothing(there):
    notebook = there.notebook
    names(notebook, "%%pounce\nraises.")
    assert notebook.inspected("raises", 0)["found"]
    assert names(notebook, "%%pounce\nnoisy.lou") == ["loudness"]
    assert notebook.inspected("noisy", 0)["found"]

    notebook.run(LATE.format(0.5))
    notebook.run(PATIENT.format(0.1))
    names(notebook, "%%pounce\nstuck.")
    names(notebook, "%%pounce\nstubborn.")
    notebook.run(PATIENT.format(SECONDS))
    notebook.run(LATE.format(SECONDS))
    until((there.folder / "given_up").exists)
    until((there.folder / "stubborn").exists)
    assert names(notebook, "%%pounce\nnetwork.weir") == ["weirdness"]
    (there.folder / "let_go").touch()

    assert notebook.run("%%pounce\nprint('after')").stdout == "after\n"
    until(lambda: notebook.run("%%pounce\ntype(sys.stdout).__name__").value == "'TextIOWrapper'")  # no look runs any more
    assert not [message for message in notebook.seen if "NOISE" in str(message["content"]) and message["msg_type"] != "execute_input"]
    assert "raises" in notebook.run("%pounce vars").stdout


def test_whos_says_where_each_variable_is(there):
    notebook = there.notebook
    notebook.run("here_alone = 'x'\nof_both = 5")
    notebook.run("%%pounce\nof_both")

    rows = {line.split()[0]: line.split() for line in notebook.run("%whos").stdout.splitlines()}

    assert rows["Variable"] == ["Variable", "Type", "Where", "Data/Info"]
    assert rows["here_alone"] == ["here_alone", "str", "notebook", "x"]
    assert rows["of_both"] == ["of_both", "int", "both", "5"]
    assert rows["numeral"] == ["numeral", "int", "worker", "6"]
    assert rows["frame"] == ["frame", "DataFrame", "worker", "Shape:", "(1,", "2)"]
    assert "numeral" in notebook.run("%who int").stdout and "frame" not in notebook.run("%who int").stdout


def test_without_a_worker_the_saved_names_are_offered_and_nothing_is_leased(there):
    notebook = there.notebook
    notebook.until_saved("numeral")
    notebook.run("%pounce release\nother = pounce.Client()")
    until(lambda: notebook.run("other.queue()").value == "no worker processes")

    assert names(notebook, "%%pounce --cpus 1\nnumer") == ["numeral"]
    assert names(notebook, "numer") == ["numeral"]
    assert not notebook.inspected("numeral", 0)["found"]
    assert "numeral is not in the notebook, and no worker tells of it now" in notebook.run("numeral?").said
    assert "saved" in next(line for line in notebook.run("%whos").stdout.splitlines() if line.startswith("numeral"))
    assert notebook.run("other.queue()").value == "no worker processes"
