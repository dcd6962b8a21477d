"""``@pounce.remote`` in a notebook of marimo's, run as a script and exported as marimo shows it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from docs_test import blocks

pytest.importorskip("marimo")

SHOWS = '''
import marimo
app = marimo.App()
with app.setup:
    import pounce

@app.cell
def _():
    @pounce.remote
    def figure():
        import matplotlib.pyplot as plt
        return plt.subplots(figsize=(2, 1))[0]
    figure()

@app.cell
def _():
    @pounce.remote
    def fails():
        print("at work", flush=True)
        raise ValueError("no more")
    fails()

@app.cell
def _():
    slider = __import__("marimo").ui.slider(1, 9)
    @pounce.remote
    def reads():
        return slider.value
    reads()

@app.cell
def _():
    from pounce._engine.status_line import StatusLine
    line = StatusLine(waited_s=3)
    _ = line.update("waiting", None)
'''


def written(home, source: str):
    notebook = home.folder / "notebook.py"
    notebook.write_text(source)
    return notebook


def exported(home, source: str) -> list[dict]:
    """The cells as marimo's page shows them, each with its console."""
    notebook = written(home, source)
    words = [sys.executable, "-m", "marimo", "-y", "export", "session", str(notebook)]
    done = subprocess.run(words, cwd=home.folder, env=home.environment, capture_output=True, text=True, timeout=150)
    saved = home.folder / "__marimo__" / "session" / "notebook.py.json"
    assert saved.exists(), done.stdout + done.stderr
    return json.loads(saved.read_text())["cells"]


def test_the_notebook_of_the_page_runs_as_a_script(home):
    (source,) = blocks("docs/front-ends.md", "python")

    run = home.run(f"import runpy\nrunpy.run_path({str(written(home, source))!r}, run_name='__main__')")

    assert "step 0\nstep 1\nstep 2\n" in run.stdout


def test_the_notebook_of_the_page_shows_the_prints_below_their_cell(home):
    (source,) = blocks("docs/front-ends.md", "python")

    *_, trained, said = exported(home, source)

    assert "".join(one["text"] for one in trained["console"] if one["name"] == "stdout") == "step 0\nstep 1\nstep 2\n"
    assert "the last loss is 0.33" in said["outputs"][0]["data"]["text/markdown"]


def test_figures_come_back_errors_are_the_functions_and_a_wait_is_shown_in_the_cells_place(home):
    figure, fails, reads, waits = exported(home, SHOWS)[-4:]

    assert "image/png" in json.dumps(figure["outputs"])
    assert "no more" in fails["outputs"][0]["evalue"] and "at work\n" in [one["text"] for one in fails["console"]]
    assert "global slider" in reads["outputs"][0]["evalue"]  # an element of the page cannot travel: its value is passed
    assert "pounce: asking for a lease" in json.dumps(waits["outputs"])
