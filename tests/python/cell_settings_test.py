"""What the notebook has set in its process is so in its next cell on a worker, and stays so on the worker after that."""

from __future__ import annotations

import json
import time

import pytest
from kernel import notebook_at_home
from pounce._common.settings import table
from pounce.cell.notebook_settings import NotebookSettings
from state_process_test import SETTINGS, installed, with_reasons

IMPORTS = "import contextlib, decimal, json, locale, logging, os, socket, sys, time, warnings"
LIBRARIES = "\n".join(sorted({change.partition(";")[0] for change, _ in installed(SETTINGS).values() if change.startswith("import")}))
MORE = {
    "a variable of the environment": ("os.environ['MY_FLAG'] = 'a\\nb'", "os.environ.get('MY_FLAG')"),
    "one that is gone": ("os.environ.pop('TO_GO', None)", "os.environ.get('TO_GO')"),
    "a folder of sys.path": ("os.makedirs('added', exist_ok=True); sys.path.append(os.path.abspath('added'))",
                            "'added' in map(os.path.basename, sys.path)"),
    "the folder": ("os.makedirs('below', exist_ok=True); os.chdir('below')", "os.path.basename(os.getcwd())"),
}
FILE = "a handler that writes a file"  # of the notebook's folder, which the last row leaves
ROWS = {**SETTINGS, **MORE, FILE: (SETTINGS[FILE][0], "[type(one).__name__ for one in logging.getLogger('mine').handlers]")}
LOOKS = "print(json.dumps({row: repr(eval(look)) for row, look in json.loads(%r).items()}))"
LOOK = LOOKS % json.dumps({row: look for row, (_, look) in installed(ROWS).items()})
THERE = "%%pounce --cpus 1\n"


@pytest.fixture(scope="module")
def notebook():
    with notebook_at_home("%load_ext pounce") as made:
        yield made


@pytest.fixture(scope="module")
def looks(notebook):
    """What the rows show in the notebook, on a worker before and after they were set, and on the worker after that."""
    def look(where: str) -> dict[str, str]:
        shown = notebook.run(f"{where}{IMPORTS}\n{LIBRARIES}\n{LOOK}")
        assert not shown.of("error"), shown.of("error")
        return json.loads(shown.stdout.splitlines()[-1])

    before = look(THERE)
    notebook.run(IMPORTS + "\n" + "\n".join(change for change, _ in installed(ROWS).values()))
    here, there = look(""), look(THERE)
    notebook.run("%pounce release")
    return before, here, there, look(THERE)


@pytest.mark.xdist_group("cell_settings")
@pytest.mark.parametrize("row", with_reasons(ROWS))
def test_a_setting_of_the_notebook_is_there_on_its_worker_and_on_the_next(row, looks):
    before, here, there, next_one = (each[row] for each in looks)

    assert there == here and next_one == here
    assert before != here or row == "one that is gone"


@pytest.mark.xdist_group("cell_settings")
def test_what_a_cell_changes_stays_until_the_notebook_changes_the_same_setting(notebook, looks):
    shows = "import pandas\nprint(pandas.get_option('display.precision'), pandas.get_option('display.max_rows'))"
    notebook.run(THERE + "import pandas\npandas.set_option('display.precision', 5)")
    notebook.run("import pandas\npandas.set_option('display.max_rows', 11)")
    assert notebook.run(THERE + shows).stdout.splitlines()[-1] == "5 11"
    notebook.run("%pounce release")
    assert notebook.run(THERE + shows).stdout.splitlines()[-1] == "5 11"
    notebook.run("pandas.set_option('display.precision', 4)")
    assert notebook.run(THERE + shows).stdout.splitlines()[-1] == "4 11"


@pytest.mark.xdist_group("cell_settings")
def test_the_page_of_settings_names_what_follows_and_what_cannot(notebook, looks):
    told = notebook.run("import numpy\nnumpy.set_printoptions(formatter={'float': iter([]).__next__})\n%pounce settings")

    assert "environment: " in told.stdout and "MY_FLAG" in told.stdout and "pandas: display." in told.stdout
    assert "printing formatter does not follow" in told.stdout
    notebook.run("numpy.set_printoptions(formatter=None)")


def test_nothing_is_sent_when_nothing_changed_and_a_look_takes_no_millisecond():
    own = NotebookSettings()
    first = own.since(0)
    begun = time.perf_counter()
    again = own.since(first.number)
    seconds = time.perf_counter() - begun

    assert again.rows == {} and again.number == first.number == 1
    assert seconds < 0.005  # 1 ms on a quiet machine


def test_options_that_are_as_usual_are_not_sent():
    rows = NotebookSettings().since(0).rows

    assert all(row not in rows for row, setting in table.SETTINGS.items() if setting.usual is not None and setting.module is None)
