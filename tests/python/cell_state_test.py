"""What a person's variables on a worker are when the worker has gone: a real kernel, on workers of the local launcher."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")

from kernel import SECONDS, Notebook, notebook_at_home
from nbformat.v4 import output_from_msg

GREY = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def notebook():
    with notebook_at_home("import os, pounce") as made:
        yield made


@pytest.fixture
def afresh(notebook):
    """Nothing of the tests before is on a worker."""
    notebook.run("%%pounce\n1")
    notebook.run("%pounce restart")
    notebook.run("%pounce release")
    return notebook


def released(notebook, *cells: str) -> None:
    """Runs them, and gives the worker back."""
    for cell in cells:
        assert not notebook.run(cell).of("error"), cell
    notebook.run("%pounce release")


# ---- a worker that goes ----


def test_the_next_worker_has_the_same_variables_with_what_they_share(afresh):
    released(afresh, "%%pounce\nimport os\nmodel = {'w': [1, 2]}\nalias = model['w']\nfirst = os.getpid()")

    cell = afresh.run("%%pounce\nimport os\nalias.append(3)\nmodel, alias is model['w'], os.getpid() != first")

    assert cell.value == "({'w': [1, 2, 3]}, True, True)"
    assert re.search(r"pounce: restored alias, first, model \(\d+ B, \d\.\d s\)", GREY.sub("", cell.stream("stdout")))


def test_a_cell_restores_what_it_reads_and_nothing_else(afresh):
    released(afresh, "%%pounce\nread = [1]\nunread = [2]")

    cell = afresh.run("%%pounce\nread")
    rest = afresh.run("%pounce vars").stdout

    assert cell.value == "[1]" and "unread" not in cell.stream("stdout")
    assert re.search(r"unread +saved", rest) and not re.search(r"^read +saved", rest, re.MULTILINE)


def test_in_a_saved_notebook_the_status_line_ends_before_what_was_restored(afresh):
    """It had no line break: "running on g2 after 2 srestored a, model"."""
    at_once = ("import pounce._engine.session, pounce._engine.status_line\n"
               "for each in (pounce._engine.session, pounce._engine.status_line):\n    each.QUIET_S = {}")
    released(afresh, "%%pounce\nmodel = [1]", at_once.format(0))

    cell = afresh.run("%%pounce\nmodel")
    afresh.run(at_once.format(1.0))

    lines = GREY.sub("", as_saved(cell)).splitlines()
    assert re.fullmatch(r"pounce: (running on .* after|waited) \d+ s", lines[0]) and lines[1].startswith("pounce: restored model ")


def as_saved(cell) -> str:
    """The texts of the outputs that the file of the notebook has, one behind the other."""
    outputs, by_id = [], {}
    for message in cell.messages:
        content = message["content"]
        display_id = content.get("transient", {}).get("display_id")
        if message["msg_type"] == "update_display_data":
            by_id[display_id]["data"] = content["data"]
        elif message["msg_type"] in ("stream", "display_data", "execute_result"):
            outputs.append(output_from_msg(message))
            by_id[display_id] = outputs[-1]
    return "".join(output["text"] if output["output_type"] == "stream" else output["data"]["text/plain"] for output in outputs)


def test_what_is_not_restored_yet_outlives_the_next_worker_too(afresh):
    released(afresh, "%%pounce\nread = [1]\nunread = [2]")
    released(afresh, "%%pounce\nread.append(3)")

    assert afresh.run("%%pounce\nread, unread").value == "([1, 3], [2])"


def test_a_function_of_the_notebook_finds_what_it_reads(afresh):
    released(afresh, "def total(): return sum(numbers)", "%%pounce\nnumbers = [1, 2]\ntotal()")

    assert afresh.run("%%pounce\ntotal()").value == "3"


def test_what_the_notebook_sent_is_not_sent_again(afresh):
    released(afresh, "table = list(range(1000))", "%%pounce\nlen(table)")

    cell = afresh.run("%%pounce\nlen(table)")

    assert cell.value == "1000" and "sent" not in cell.said


def test_the_notebooks_newer_value_wins_over_the_saved_one(afresh):
    released(afresh, "setting = 1", "%%pounce\nsetting")

    assert afresh.run("setting = 2").reply["status"] == "ok"
    assert afresh.run("%%pounce\nsetting").value == "2"


def test_a_deleted_variable_stays_deleted(afresh):
    released(afresh, "%%pounce\ngoing = staying = 1")
    released(afresh, "%%pounce\ndel going")

    assert afresh.run("%%pounce\n'going' in globals(), staying").value == "(False, 1)"


def test_the_directory_the_environment_and_the_seeds_go_along(afresh):
    released(afresh, "%%pounce\nimport os, random\nos.chdir('/usr')\nos.environ['MINE'] = 'yes'\nrandom.seed(4)\nexpected = random.Random(4).random()")

    cell = afresh.run("%%pounce\nimport os, random\nos.getcwd(), os.environ['MINE'], random.random() == expected")

    assert cell.value == "('/usr', 'yes', True)"


@pytest.mark.parametrize("draws", ["np.random.rand() == expected", "import numpy\nnumpy.random.rand() == expected"])
def test_a_librarys_seed_is_there_before_the_first_number_is_drawn(afresh, draws):
    pytest.importorskip("numpy")
    released(afresh, "%%pounce\nimport numpy as np\nnp.random.seed(3)\nexpected = np.random.RandomState(3).rand()")

    assert afresh.run(f"%%pounce\n{draws}").value == "True"


def test_a_cell_in_the_background_finds_them_too(afresh):
    released(afresh, "%%pounce\nkept = [1]")

    afresh.run("%%pounce --bg --name job\nkept.append(2)\nkept")

    assert "[1, 2]" in str(afresh.run(f"job.result({SECONDS})").of("execute_result"))


def test_a_worker_that_dies_after_cells_in_a_row_leaves_the_state_after_one_of_them(afresh):
    afresh.run("%%pounce\nx, y = [0], [0]")
    afresh.until_saved("x")

    for number in range(1, 6):
        assert not afresh.run(f"%%pounce\nx.append({number})\ny.append({number})").of("error")
    afresh.run("%%pounce\nimport os, signal\nx.append('torn')\nos.kill(os.getpid(), signal.SIGKILL)")

    assert afresh.run("%%pounce\nx == y == list(range(len(x)))").value == "True"


def test_a_killed_worker_costs_nothing_that_was_saved(afresh):
    afresh.run("%%pounce\nimport os\nfragile = [os.getpid()]")
    afresh.until_saved("fragile")

    died = afresh.run("%%pounce\nimport os, signal\nfragile.append('lost')\nos.kill(os.getpid(), signal.SIGKILL)")
    after = afresh.run("%%pounce\nimport os\nlen(fragile), fragile[0] != os.getpid()")

    assert died.error["ename"] == "WorkerCrashed" and after.value == "(1, True)"


def test_an_interrupted_cell_keeps_what_it_did_as_at_home(afresh):
    afresh.run("%%pounce\ndone = []")
    cell = afresh.start("%%pounce\nimport time\ndone.append(1)\nprint('begun', flush=True)\ntime.sleep(1000)")
    afresh.ended(cell, until=lambda shown: "begun" in shown.stdout)
    afresh.manager.interrupt_kernel()
    afresh.ended(cell)
    afresh.run("%pounce release")

    assert afresh.run("%%pounce\ndone").value == "[1]"


def test_restart_forgets_what_was_saved(afresh):
    afresh.run("%%pounce\ngone = 1")

    assert "gone went with the old one" in afresh.run("%pounce restart").said
    assert afresh.run("%%pounce\ngone").error["ename"] == "NameError"


# ---- what cannot be saved ----


def test_what_cannot_be_saved_is_named_under_its_cell_and_when_it_has_gone(afresh):
    made = afresh.start("%%pounce\nfile = open('/etc/hostname')\nkept = 1")
    number = afresh.ended(made).reply["execution_count"]
    afresh.until_saved("kept")
    said = afresh.run("%pounce parked").stdout
    afresh.run("%pounce release")
    after = afresh.run("%%pounce\nkept")
    again = afresh.run("%%pounce\nkept")

    assert f"not saved: file (cell {number}): file is a TextIOWrapper" in said
    assert f"file (cell {number}) went with the last worker: file is a TextIOWrapper" in after.said
    assert "file" not in again.said and after.value == again.value == "1"


def test_a_setup_cell_runs_again_on_each_new_worker(afresh):
    released(afresh, "%%pounce --setup\nfile = open('/etc/hostname')\nruns = globals().get('runs', 0) + 1", "%%pounce\nother = 1")

    cell = afresh.run("%%pounce\nfile.readable(), other")

    assert cell.value == "(True, 1)" and "file" not in cell.said


def test_remake_runs_the_cell_that_made_a_variable_again(afresh):
    afresh.run("%%pounce\nfile = open('/etc/hostname')")
    afresh.run("%%pounce\nkept = 1")
    afresh.until_saved("kept")

    said = afresh.run("%pounce parked --remake file").stdout
    afresh.run("%pounce release")

    assert re.search(r"cell \d+, which made file, runs again on each new worker", said)
    assert afresh.run("%%pounce\nfile.readable(), kept").value == "(True, 1)"


# ---- one state, many lines ----


def test_a_cell_goes_to_the_worker_that_is_there_if_it_offers_enough(afresh):
    afresh.run("%%pounce --cpus 2\nimport os\nhere = os.getpid()")

    assert afresh.run("%%pounce --cpus 1\nimport os\nos.getpid() == here").value == "True"


def test_the_variables_follow_to_a_worker_that_offers_more(afresh):
    afresh.run("%%pounce --cpus 1\nimport os\nhere = os.getpid()\nkept = [here]")

    cell = afresh.run("%%pounce --cpus 2\nimport os\nos.getpid() == here, len(kept)")

    assert cell.value == "(False, 1)"
    assert "worker with 2 CPUs: " in afresh.run("%pounce status").stdout


def test_on_is_a_second_worker_with_variables_of_its_own(afresh):
    afresh.run("%%pounce\nimport os\nx = 'usual'\nhere = os.getpid()")
    other = afresh.run("%%pounce --on second\nimport os\nx = 'second'\n'here' in globals()")

    usual = afresh.run("%%pounce\nimport os\nx, os.getpid() == here")

    assert other.value == "False" and usual.value == "('usual', True)"
    assert afresh.run("%%pounce --on second\nx").value == "'second'"


# ---- a kernel that goes ----


def test_a_new_kernel_lists_and_restores_what_the_last_one_left(notebook):
    with second_kernel(notebook) as last:
        assert not last.run("%%pounce\nfirst, second = [1], [2]").of("error")
        last.until_saved("first")
    with second_kernel(notebook) as next_one:
        listed = next_one.run("%pounce parked").stdout
        said = next_one.run("%pounce restore first").said
        cell = next_one.run("%%pounce\nfirst, 'second' in globals()")

    assert re.search(r"first, second", listed)
    assert "first will be there" in said and cell.value == "([1], False)"


def test_two_kernels_that_restore_the_same_state_have_their_own(notebook):
    with second_kernel(notebook) as last:
        last.run("%%pounce\nshared = [1]")
        last.until_saved("shared")
    with second_kernel(notebook) as one, second_kernel(notebook) as other:
        for kernel in (one, other):
            kernel.run("%pounce restore shared")
        one.run("%%pounce\nshared.append(2)")

        assert other.run("%%pounce\nshared").value == "[1]"
        assert one.run("%%pounce\nshared").value == "[1, 2]"


def test_a_damaged_state_is_refused_in_words_and_the_notebook_goes_on(afresh):
    afresh.run("%%pounce\nprecious = list(range(100))")
    afresh.until_saved("precious")
    afresh.run("%pounce release")
    for folder, _, files in os.walk(afresh.home.folder):
        for name in files:
            if re.fullmatch("[0-9a-f]{64}", name):
                edit(Path(folder, name))

    cell = afresh.run("%%pounce\nprecious")

    assert "was changed" in cell.error["text"] and "run the cells again" in cell.error["text"]
    assert afresh.run("%%pounce\nprecious = 1\nprecious").value == "1"


def edit(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def test_the_cells_of_the_document_run(afresh):
    document = (Path(__file__).resolve().parents[2] / "docs" / "state.md").read_text()
    cells = re.findall(r"^```ipython\n(.*?)^```", document, flags=re.M | re.S)

    shown = [afresh.run(cell) for cell in cells]

    assert len(cells) == 7 and [one.of("error") for one in shown] == [[]] * 7
    assert shown[2].value == "[0.9, 0.5, 0.3]" and re.search(r"restored best, history\b.* \(\d+ B, 0\.\d s\)", shown[2].stream("stdout"))
    assert shown[4].value == "3" and "history" in shown[6].stdout


class second_kernel:  # noqa: N801
    """Another kernel of the same person, in the same folder."""

    def __init__(self, notebook):
        self._home = notebook.home

    def __enter__(self) -> Notebook:
        self._notebook = Notebook(self._home)
        self._notebook.run("import pounce")
        return self._notebook

    def __exit__(self, *_: object) -> None:
        self._notebook.run("%pounce release")
        self._notebook.close()
