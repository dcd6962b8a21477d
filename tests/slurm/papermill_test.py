"""papermill on the real cluster: a parameter that it puts into the notebook is what the cell on the worker reads."""

from __future__ import annotations

import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from notebooks import code_cells, printed, shown

REMOTE = """%%pounce --gpu 1
import sys
from tqdm.auto import tqdm
for step in tqdm(range(steps)):
    print('step', step)
steps * 6, 'papermill' in sys.modules"""


def parametrised(folder, *sources: str):
    """A notebook whose first cell has the defaults."""
    cells = [new_code_cell(source) for source in sources]
    cells[0].metadata["tags"] = ["parameters"]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = folder / "parametrised.ipynb"
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)
    return path


def papermill(alice, notebook, *options: str):
    """Starts it; returns the run and where the executed notebook will be."""
    folder = alice.folder / "papermill"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)  # alice writes there
    saved = folder / "executed.ipynb"
    return alice.start(["papermill", "--no-progress-bar", str(notebook), str(saved), *options]), saved


def test_a_parameter_of_papermill_reaches_the_worker_and_the_bar_is_saved(make_user):
    alice = make_user()
    run, saved = papermill(alice, parametrised(alice.folder, "steps = 1", "import pounce", REMOTE), "-p", "steps", "7")

    run.ended(150)

    executed = nbformat.read(saved, as_version=4)
    cell = executed.cells[-1]
    assert "\nstep 6\n" in printed(cell) and shown(cell, "text/plain")[-1] == "(42, False)"
    assert cell.metadata.papermill.status == "completed"
    widgets = executed.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"].values()
    (bar,) = [widget["state"] for widget in widgets if widget["model_name"] == "FloatProgressModel"]
    assert bar["value"] == bar["max"] == 7.0


def test_an_error_on_the_worker_ends_papermill_with_the_worker_s_lines(make_user):
    alice = make_user()
    run, saved = papermill(alice, parametrised(alice.folder, "n = 0", "import pounce", "%%pounce --gpu 1\n1 / n", "never = 1"))

    code = run.process.wait(150)

    cells = code_cells(nbformat.read(saved, as_version=4))
    (error,) = [output for cell in cells for output in cell.outputs if output.output_type == "error"]
    assert code == 1 and error.ename == "ZeroDivisionError" and "ZeroDivisionError: division by zero" in run.output
    assert cells[-1].execution_count is None
