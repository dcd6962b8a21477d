"""Widgets of a %%pounce cell, moved in JupyterLab in a browser."""

from __future__ import annotations

import importlib.util

import pytest
from lab import JUPYTER, Lab
from lab_test import PICTURES
from login_node import wait_until

RIGHT = "\ue014"  # WebDriver's arrow key
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
MEANWHILE = """\
%%pounce --gpu 1
import asyncio
seen = []
number.observe(lambda change: seen.append(change.new), "value")
while not seen:
    await asyncio.sleep(0.05)
"moved to", seen[0]"""
ZOOM = """\
%%pounce --gpu 1
%matplotlib widget
figure, axes = plt.subplots(figsize=(5, 2))
axes.plot(points, np.cos(points))
figure.canvas.header_visible, figure.canvas.toolbar_visible = False, True
plt.show()"""
ZOOMED = """\
%%pounce --gpu 1
while axes.get_xlim()[1] - axes.get_xlim()[0] > 5:
    await asyncio.sleep(0.05)
"zoomed in\""""


@pytest.fixture
def lab(make_user):
    if not JUPYTER.exists():
        pytest.fail(f"{JUPYTER} is not there; packaging/lab-environment makes it")
    PICTURES.mkdir(parents=True, exist_ok=True)
    page = Lab(make_user(), "import pounce", SLIDER, MEANWHILE, ZOOM, ZOOMED)
    yield page
    page.browser.picture(PICTURES / "widgets-end.png")  # of a failure too
    page.browser.close()


def picture_of(cell) -> str:
    return cell._of(".querySelector('.jp-OutputArea img')?.src ?? ''")


def drawing_of(cell) -> str:
    """The picture on its canvas."""
    return cell._of(".querySelector('.jp-OutputArea canvas')?.toDataURL() ?? ''")


def colours_of(cell) -> int:
    canvas = "document.querySelector('.jp-OutputArea canvas')"
    return cell._of(f" && {canvas} ? new Set({canvas}.getContext('2d').getImageData(0, 0, {canvas}.width, {canvas}.height).data).size : 0")


def test_a_slider_moves_after_its_cell_and_while_another_runs_and_a_figure_zooms(lab):
    lab.ran(0)
    drawn = lab.ran(1)
    wait_until(lambda: "waves: 2" in drawn.shown and drawn.has(".noUi-handle"), 120, "the slider is drawn")
    before = picture_of(drawn)
    lab.browser.type_into(".noUi-handle", RIGHT)
    wait_until(lambda: "waves: 3" in drawn.shown, 120, "the slider's callback has run")
    wait_until(lambda: picture_of(drawn) not in ("", before), 60, "another picture is there")
    lab.browser.picture(PICTURES / "widgets-after.png")

    meanwhile = lab.run(2)
    wait_until(lambda: meanwhile.prompt == "[*]:", 60, "the cell runs")
    lab.browser.type_into(".noUi-handle", RIGHT)
    lab.wait(meanwhile)
    assert "('moved to', 4)" in meanwhile.shown
    wait_until(lambda: "waves: 4" in drawn.shown, 60, "its picture is drawn too")
    lab.browser.picture(PICTURES / "widgets-during.png")

    if importlib.util.find_spec("ipympl") is None:
        return
    figure = lab.ran(3)
    wait_until(lambda: colours_of(figure) > 10, 120, "the figure is drawn")
    lab.browser.click(".jupyter-matplotlib-toolbar button[title*='Zoom']")
    whole = drawing_of(figure)
    lab.browser.drag(".jupyter-matplotlib canvas:last-of-type", (-60, 10), (80, 62))
    assert "zoomed in" in lab.ran(4).shown
    wait_until(lambda: drawing_of(figure) != whole, 60, "the part is drawn")
    lab.browser.picture(PICTURES / "widgets-zoom.png")
