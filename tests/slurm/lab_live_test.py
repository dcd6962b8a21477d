"""What stays live in JupyterLab, seen and clicked in a browser: widgets of cells, the panel, and a cell that goes on. Each test
has a notebook of its own on the page that they share with lab_test.py."""

from __future__ import annotations

import pytest
from browser import LEFT, RIGHT
from lab import PICTURES, Cell, Lab
from login_node import wait_until

pytestmark = pytest.mark.xdist_group("lab")

SLIDER = """\
%%pounce --gpu 1
import numpy as np
import matplotlib.pyplot as plt
from ipywidgets import IntSlider, interact

points, number = np.linspace(0, 6, 400), IntSlider(value=2, min=1, max=9, description="waves")

@interact(number=number)
def waves(number):
    plt.figure(figsize=(5, 1.4))
    plt.plot(points, np.sin(number * points))
    plt.show()
    print("waves:", number)"""
AWAITS = """\
%%pounce --gpu 1
import asyncio
print("it was at", number.value)
while number.value == 3:
    await asyncio.sleep(0.05)
"moved to", number.value"""
STEPS = """\
%%pounce --gpu 1
import pounce, time
print("it was at", number.value)
for step in pounce.steps(range(10**9)):
    time.sleep(0.05)
    if number.value != 4: break
"moved to", number.value"""
ZOOM = """\
%%pounce --gpu 1
%matplotlib widget
import numpy as np
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(5, 2))
points = np.linspace(0, 6, 400)
axes.plot(points, np.cos(points))
figure.canvas.header_visible, figure.canvas.toolbar_visible = False, True
plt.show()"""
ZOOMED = """\
%%pounce --gpu 1
import asyncio

while axes.get_xlim()[1] - axes.get_xlim()[0] > 5:
    await asyncio.sleep(0.05)
"zoomed in\""""
EVALUATION = """\
%%pounce --gpu 1 --bg --name evaluation
import time

for batch in range(10**9):
    if batch % 100 == 0: print("batch", batch)
    sum(range(3 * 10**5))
    time.sleep(0.01 * (batch // 50 % 3 + 1))"""
TRAINING = """\
%%pounce --cpus 1 --bg --name segmentation
import os, time

epoch = 0
while not os.path.exists("trained"):
    print("epoch", epoch)
    epoch += 1
    time.sleep(0.5)
"trained\""""


def picture_of(cell: Cell) -> str:
    return cell._of(".querySelector('.jp-OutputArea img')?.src ?? ''")


def drawing_of(cell: Cell) -> str:
    """The picture on its canvas."""
    return cell._of(".querySelector('.jp-OutputArea canvas')?.toDataURL() ?? ''")


def colours_of(cell: Cell) -> int:
    canvas = "document.querySelector('.jp-OutputArea canvas')"
    return cell._of(f" && {canvas} ? new Set({canvas}.getContext('2d').getImageData(0, 0, {canvas}.width, {canvas}.height).data).size : 0")


def test_a_slider_draws_its_picture_anew_after_its_cell_and_while_others_run(page):
    page.open_new("slider", "import pounce", SLIDER, AWAITS, STEPS)
    page.ran(0)
    drawn = page.ran(1)
    wait_until(lambda: "waves: 2" in drawn.shown and drawn.has(".noUi-handle"), 120, "the slider is drawn")
    before = picture_of(drawn)
    page.browser.type_into(".noUi-handle", RIGHT)
    wait_until(lambda: "waves: 3" in drawn.shown, 120, "the slider's callback has run")
    wait_until(lambda: picture_of(drawn) not in ("", before), 60, "another picture is there")

    awaits = page.run(2)
    wait_until(lambda: "it was at 3" in awaits.shown, 120, "the cell runs")
    page.browser.type_into(".noUi-handle", RIGHT)
    page.wait(awaits)
    assert "('moved to', 4)" in awaits.shown
    wait_until(lambda: "waves: 4" in drawn.shown, 60, "its picture is drawn too")
    page.browser.picture(PICTURES / "widgets-during.png")

    steps = page.run(3)
    wait_until(lambda: "it was at 4" in steps.shown, 120, "the cell runs")
    page.browser.type_into(".noUi-handle", LEFT)
    page.wait(steps)
    assert "('moved to', 3)" in steps.shown
    wait_until(lambda: "waves: 3" in drawn.shown, 60, "its picture is drawn too")


def test_a_figure_zooms_into_what_the_mouse_has_marked(page):
    pytest.importorskip("ipympl")
    page.open_new("figure", "import pounce", ZOOM, ZOOMED)
    page.ran(0)
    figure = page.ran(1)
    wait_until(lambda: colours_of(figure) > 10, 120, "the figure is drawn")

    page.browser.click(".jupyter-matplotlib-toolbar button[title*='Zoom']")
    whole = drawing_of(figure)
    page.browser.drag(".jupyter-matplotlib canvas:last-of-type", (-60, 10), (80, 62))

    assert "zoomed in" in page.ran(2).shown
    wait_until(lambda: drawing_of(figure) != whole, 60, "the part is drawn")
    page.browser.picture(PICTURES / "widgets-zoom.png")


def points(page: Lab) -> int:
    """Of the plot."""
    line = "document.querySelector('.pounce-panel polyline')"
    return page.browser.script(f"return {line}?.getAttribute('points').split(' ').length ?? 0")


def test_the_panel_shows_what_runs_and_its_buttons_stop_it_and_give_it_back(page):
    pytest.importorskip("anywidget")
    page.open_new("panel", "import pounce", EVALUATION, "%pounce panel")
    page.ran(0)
    behind = page.ran(1)
    wait_until(lambda: "batch 0" in behind.shown, 120, "it runs")
    page.ran(2)
    panel = lambda: page.text_of(".pounce-panel")
    wait_until(lambda: "cell evaluation" in panel() and "batch" in panel(), 120, "its row is there, with its last line")
    wait_until(lambda: points(page) >= 8, 120, "its plot is live")
    page.browser.picture(PICTURES / "panel.png")
    its_own_page_opens_once(page)
    jobs = page.jobs()

    page.browser.click(".pounce-panel button[title='as the stop button does']")
    wait_until(lambda: "cell evaluation" not in panel(), 120, "the cell has ended")
    assert page.jobs() == jobs

    page.browser.click(".pounce-panel button[title='give it back as soon as it is idle']")
    wait_until(lambda: not page.jobs(), 120, "no job is left")
    wait_until(lambda: "nothing is leased" in panel(), 60, "its row has gone")


def its_own_page_opens_once(page: Lab) -> None:
    command = page.user.start(["pouncectl", "panel"])
    link = wait_until(lambda: command.output.partition("\n")[0] if "\n" in command.output else "", 60, "it gives its link")

    with page.browser.other_tab():
        page.browser.open(link)
        wait_until(lambda: points(page) > 3, 120, "it shows the lease, live")
        page.browser.picture(PICTURES / "panel-page.png")
        with page.browser.other_tab():
            page.browser.open(link)
            wait_until(lambda: "this link was opened before" in page.text_of(".pounce-panel"), 60, "it is refused")
            assert points(page) == 0


def epochs(cell: Cell) -> int:
    """That it shows, from the first on without a gap; 0 where one is missing."""
    shown = [line for line in cell.shown.splitlines() if line.startswith("epoch ")]
    return len(shown) if shown == [f"epoch {number}" for number in range(len(shown))] else 0


def test_a_cell_is_followed_from_its_beginning_after_a_restart_and_in_another_browser(page):
    page.open_new("training", "import pounce", TRAINING, "import pounce", *["%pounce attach segmentation"] * 2)
    page.ran(0)
    behind = page.ran(1)
    wait_until(lambda: epochs(behind) > 2, 120, "it runs")

    page.restart_kernel()
    assert page.ran(2).prompt == "[1]:"
    attached = page.run(3)
    first = wait_until(lambda: epochs(attached), 120, "it is shown from its beginning")
    wait_until(lambda: epochs(attached) > first + 1, 60, "what comes is shown too")
    page.browser.picture(PICTURES / "attach-restart.png")
    page.click("notebook:interrupt-kernel")
    page.wait(attached)
    assert "the cell goes on" in attached.shown

    page.reopen()
    again = page.run(4)
    wait_until(lambda: epochs(again) > first + 1, 120, "it is shown from its beginning again")
    (page.folder / "trained").touch()
    page.wait(again)
    assert again.shown.count("'trained'") == 1 and epochs(again) > first + 1
    page.browser.picture(PICTURES / "attach-browser.png")
