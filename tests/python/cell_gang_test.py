"""A cell that every rank of a gang runs, through a real kernel. On one machine a gang has one node, so its cells are called by name."""

from __future__ import annotations

import json
import re

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")

from kernel import notebook_at_home

BEGIN = """
import os, pounce
from pounce._common.cell_protocol import CellCode
from pounce._engine.options import Options
from pounce.cell.gang_cells import GangCells
from pounce.cell.loaded_modules import LoadedModules
from pounce.cell.options_line import CellLine
from pounce.cell.target import Target
from pounce.cell.timings.records import Stopwatch
cells = GangCells(get_ipython(), LoadedModules(get_ipython()))
two = Target(Options().changed(workers=2))
def ranks(source, *wanted, brings=()):
    with Stopwatch(1).to_the_end() as watch:
        return cells.run(CellLine(two, brings=brings), list(wanted), CellCode(source, 1, brings, get_ipython().colors, "", {}), watch)
"""


@pytest.fixture(scope="module")
def notebook():
    with notebook_at_home(BEGIN) as made:
        yield made
        made.run("cells.close()")


def test_rank_0s_last_value_and_output_are_the_cells(notebook):
    cell = notebook.run("ranks('import os\\nprint(\"rank\", os.environ[\"RANK\"])\\nint(os.environ[\"RANK\"]), int(os.environ[\"WORLD_SIZE\"])')")

    assert cell.value == "(0, 2)"
    assert "rank 0\n" in cell.stdout and "rank 1" not in cell.stdout


def test_its_times_are_those_of_rank_0(notebook):
    source = "import os, time, filecmp\\ntime.sleep(0.3)\\nprint('loss:', os.environ['RANK'])\\ntime.sleep(0.3)"
    notebook.run(f'ranks("{source}")')
    notebook.run("ranks('1 / 0')")

    told = json.loads(notebook.run("import json\nprint(json.dumps([vars(record) for record in pounce.timings()]))").stdout)

    cold, cell, failed = told[0], told[-2], told[-1]
    assert cold["cold"] and cold["start"] > 0 and not cell["cold"] and cell["start"] == 0
    assert cell["ranks"] == 2 and cell["loss"] == "loss: 0" and cell["imports"] > 0
    assert cell["data"] + 0.3 <= cell["first_output"] <= cell["first_loss"] <= cell["total"]
    assert cell["data"] + 0.6 <= cell["total"]  # an output may be heard later than it was printed
    assert failed["ranks"] == 2 and failed["first_loss"] is None and failed["total"] > 0
    assert "rank 0 of 2" in notebook.run("%pounce timings").of("display_data")[0]["data"]["text/plain"]


def test_what_the_others_printed_is_folded(notebook):
    cell = notebook.run("ranks('print(\"from\", __import__(\"os\").environ[\"RANK\"])')")

    folded = [output["data"]["text/html"] for output in cell.of("display_data") if "text/html" in output["data"]]
    assert folded == ["<details><summary>rank 1: 1 line</summary><pre>from 1</pre></details>"]


def test_variables_stay_on_the_ranks_and_one_comes_back_when_it_is_asked_for(notebook):
    notebook.run("x = 20\nranks('kept = x + __import__(\"pounce\").rank().rank', 'x')")

    assert notebook.run("ranks('kept')").value == "20"
    assert notebook.run("ranks('twice = 2 * kept', brings=('twice',))\ntwice").value == "40"


def test_a_variable_of_the_notebook_that_the_ranks_changed_is_theirs_until_the_notebook_changes_it(notebook):
    notebook.run("y = 1\nranks('y = y + 1', 'y')")

    assert notebook.run("ranks('y', 'y')").value == "2"
    assert notebook.run("y = 7\nranks('y', 'y')").value == "7"


def test_an_error_is_the_cells_own_with_the_ranks_lines(notebook):
    cell = notebook.run("ranks('import pounce\\nif pounce.rank().rank == 1:\\n    print(\"before it\")\\n    1 / 0\\n__import__(\"time\").sleep(1000)')")

    (error,) = cell.of("error")
    assert error["ename"] == "ZeroDivisionError"
    text = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error["traceback"]))
    assert "1 / 0" in text and re.search(r"rank 1 of 2, on \S+; the others were stopped\nits last lines:\n    before it\Z", text)


def test_what_is_for_one_process_is_refused(notebook):
    cell = notebook.run("%%pounce --nodes 2 --bg\n1")

    assert "--bg is for a cell of one process" in cell.stream("stderr")


def test_a_line_that_is_no_cell_has_no_nodes(notebook):
    cell = notebook.run("%pounce hold --nodes 2")

    assert "--nodes 2: this runs in one process" in cell.stream("stderr")


def test_a_module_that_was_reloaded_here_is_reloaded_on_the_ranks(notebook):
    notebook.run("import importlib, pathlib, sys; sys.path.insert(0, os.getcwd()); file = pathlib.Path('ranked.py')")
    notebook.run("file.write_text('x = 1'); import ranked")
    assert notebook.run("ranks('import ranked; ranked.x')").value == "1"

    notebook.run("file.write_text('x = 22'); importlib.reload(ranked)")

    assert notebook.run("ranks('ranked.x')").value == "22"
