"""%%pounce in front ends beside JupyterLab's own page, seen and clicked in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import RIGHT
from front_ends import Classic, Marimo, MarimoEditor, Together
from hub import FRONT_ENDS
from lab import SECONDS
from lab_test import AFTERWARDS, PICTURES, TEXT_BAR
from login_node import wait_until
from long_run import only_in_long_runs

COUNTS = """\
%%pounce --gpu 1
import time
print("begun", flush=True)
losses = list(range(30))
for step in range(10_000): time.sleep(0.05)"""
STOPPED = """\
import marimo
app = marimo.App()

@app.cell
def _():
    import time
    import pounce

    @pounce.remote(cpus=1)
    def train():
        for step in range(10_000):
            print("step", step, flush=True)
            time.sleep(0.05)
    return (train,)

@app.cell
def _(train):
    try:
        train()
    finally:
        print("over", flush=True)
"""
MARIMO = Path(__file__).resolve().parents[2] / "docs" / "front-ends.md"


@pytest.fixture
def page(make_user):
    made = []
    PICTURES.mkdir(parents=True, exist_ok=True)

    def make(kind, *sources: str):
        if kind in (Together, Classic) and not FRONT_ENDS.exists():
            pytest.fail(f"{FRONT_ENDS} is not there; packaging/lab-environment --front-ends makes it")
        made.append(kind(make_user(), *sources))
        return made[-1]

    yield make
    for one in made:
        one.browser.picture(PICTURES / f"{type(one).__name__.lower()}.png")  # of a failure too
        one.browser.close()


@only_in_long_runs("half a minute; lab_test.py holds it of one page")
def test_two_who_write_together_see_each_output_once_and_either_stops_the_cell(page):
    mine = page(Together, "import pounce", COUNTS, AFTERWARDS)
    theirs = mine.second_page()
    mine.ran(0)

    running = mine.run(1)
    wait_until(lambda: "begun" in theirs.cell(1).shown, SECONDS, "the other page shows the output")
    assert running.shown.count("begun") == theirs.cell(1).shown.count("begun") == 1
    theirs.click("notebook:interrupt-kernel")
    mine.wait(running)
    wait_until(lambda: "KeyboardInterrupt" in theirs.cell(1).shown, SECONDS, "the other page shows the end")
    assert running.shown == theirs.cell(1).shown and running.shown.count("KeyboardInterrupt:") == 1

    after = mine.ran(2)
    wait_until(lambda: theirs.cell(2).has("img"), SECONDS, "the other page shows the figure")
    assert "('still there:', True)" in after.shown and after.shown == theirs.cell(2).shown
    theirs.browser.picture(PICTURES / "together_theirs.png")
    theirs.browser.close()


@only_in_long_runs("half a minute; lab_test.py holds it of Notebook 7")
def test_the_classic_notebook_shows_output_as_it_comes_and_stops_the_cell(page):
    mine = page(Classic, "import pounce", COUNTS, AFTERWARDS, TEXT_BAR)
    mine.ran(0)

    running = mine.run(1)
    wait_until(lambda: "begun" in running.shown, SECONDS, "the output is shown while the cell runs")
    assert running.prompt == "[*]:"
    mine.click("notebook:interrupt-kernel")
    mine.wait(running)

    assert "KeyboardInterrupt" in running.shown
    after = mine.ran(2)
    assert after.has("img") and "('still there:', True)" in after.shown
    assert "80/80" in mine.ran(3).shown


def test_an_app_of_marimo_runs_its_function_on_a_lease_and_again_when_a_slider_moves(page):
    source = MARIMO.read_text().split("```python\n")[1].partition("```")[0]
    mine = page(Marimo, source)

    wait_until(lambda: "the last loss is 0.33" in mine.shown, SECONDS, "the value is shown")
    mine.browser.script("document.querySelector('marimo-slider').shadowRoot.querySelector('[role=slider]').focus()")
    mine.browser.press(RIGHT)
    wait_until(lambda: "the last loss is 0.25" in mine.shown, SECONDS, "the cells below the slider have run anew")


@only_in_long_runs("a quarter of a minute; the app's test and tests/python/remote_test.py hold its halves")
def test_marimos_editor_shows_the_prints_as_they_come_and_its_stop_button_ends_the_call(page):
    mine = page(MarimoEditor, STOPPED)

    mine.run()
    wait_until(lambda: "step 3\n" in mine.shown and "step 5\n" in mine.shown, SECONDS, "prints are shown while the cell runs")
    assert "over" not in mine.shown.splitlines()
    mine.stop()

    wait_until(lambda: "over" in mine.shown.splitlines(), SECONDS, "the cell has ended")
