"""Widgets that a %%pounce cell makes: the same messages of a page go to a plain kernel and to one with pounce."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")
pytest.importorskip("ipywidgets")

from conftest import made_home
from kernel import SECONDS, Notebook
from widgets_page import Page

pytestmark = pytest.mark.xdist_group("widgets")  # two notebooks for all
MAGIC = "%%pounce --cpus 1\n"
MADE = """
import asyncio, ipywidgets, itertools, os, time
import pounce
from pathlib import Path
from ipywidgets import Button, HBox, IntSlider, Output, Text, interact, jslink, link
def until(name):
    while not os.path.exists(name): time.sleep(0.01)
slider, other, button, output, text = IntSlider(value=3), IntSlider(), Button(description="go"), Output(), Text()
factor, clicks, moves = 2, [], []
def moved(change):
    global latest
    latest = change.new
    moves.append(change.new)
    print("moved to", factor * change.new)
    if change.new == 13: raise ValueError("thirteen")
def clicked(_):
    clicks.append(len(clicks))
    with output:
        print("in the output")
        display(len(clicks))
    print("below it")
slider.observe(moved, "value")
button.on_click(clicked)
linked = link((slider, "max"), (other, "max"))
display(HBox([slider, button, output]))
"""


@pytest.fixture(scope="module")
def there():
    with made_home() as plain_home, made_home(idle_release_s=600) as home:
        plain, remote = Page(Notebook(plain_home)), Page(Notebook(home))
        remote.cell("%load_ext pounce")
        for page, magic in ((plain, ""), (remote, MAGIC)):
            shown = page.cell(magic + MADE, slider="IntSliderModel", button="ButtonModel", output="OutputModel", text="TextModel")
            first = next(each for each in shown.of("comm_open") if each["data"]["state"].get("_model_name") == "IntSliderModel")
            page.comms["slider"] = first["comm_id"]
        yield SimpleNamespace(plain=plain, remote=remote, folder=home.folder, both=[(plain, ""), (remote, MAGIC)])
        remote.cell("%pounce release")
        for page in (plain, remote):
            page.notebook.close()


def touch(folder, name: str) -> None:
    (folder / name).touch()


def until_there(folder, name: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not (folder / name).exists():
        assert time.monotonic() < deadline, f"no {name}"
        time.sleep(0.01)


def test_what_a_page_sends_is_answered_as_by_a_plain_kernel(there):
    shown = []
    for page, magic in there.both:
        page.number_anew()
        page.cell(magic + "@interact(x=(0, 10))\ndef shows(x):\n    print('x is', x)\n    return x", x="IntSliderModel")
        sent = [page.move("slider", 5), page.click("button"), page.move("slider", 13), page.move("x", 7),
                page.send("slider", {"method": "update", "state": {"max": 50}, "buffer_paths": []}),
                page.send("text", {"method": "request_state"}), page.send("text", {"method": "unheard of"})]
        for each in sent:
            page.ended(each)
        page.send("slider", {"method": "update", "state": {"max": 100}, "buffer_paths": []})
        shown.append([page.seen(each) for each in sent])
    plain, remote = shown

    assert remote == plain
    assert ("stream", "stdout", "moved to 10\n") in remote[0] and ("stream", "stdout", "below it\n") in remote[1]
    assert {"method": "update", "state": {"msg_id": "this message"}, "buffer_paths": []} in [each[-1] for each in remote[1]]
    assert [each[1:3] for each in remote[2] if each[0] == "error"] == [("ValueError", "thirteen")]


def test_a_callbacks_variables_are_the_next_cells(there):
    page = there.remote
    page.ended(page.move("slider", 6))

    assert page.cell(MAGIC + "latest, slider.value").value == "(6, 6)"
    assert page.cell("%pounce pull latest\nlatest").of("error") == []


def test_of_many_events_that_wait_the_last_of_each_widget_counts_and_every_click(there):
    page = there.remote
    page.cell(MAGIC + "moves.clear(); clicks.clear()\n"
              "def holds(change):\n    if change.new == 20: Path('holds').touch(); until('goes on')\nslider.observe(holds, 'value')")
    first = page.move("slider", 20)
    until_there(there.folder, "holds")
    sent = [page.move("slider", value) for value in range(21, 51)]
    sent += [page.click("button") for _ in range(3)] + [page.move("slider", value) for value in range(51, 81)]
    page.all_have_arrived()
    touch(there.folder, "goes on")
    for each in [first, *sent]:
        page.ended(each)

    assert page.cell(MAGIC + "slider.unobserve(holds, 'value'); moves, clicks").value == "([20, 50, 80], [0, 1, 2])"


@pytest.mark.parametrize("loop", [
    "while not os.path.exists({0!r}): await asyncio.sleep(0.01)",
    "for _ in pounce.steps(range(10**9)):\n    time.sleep(0.01)\n    if os.path.exists({0!r}): break"])
@pytest.mark.parametrize(("behind", "beside"), [("", True), ("", False), (" --bg", False)])
def test_a_cell_that_awaits_or_steps_lets_callbacks_run(there, loop, behind, beside):
    page, name = there.remote, f"during{len(loop)}{behind.strip()}{beside}"
    page.cell(MAGIC + f"def ends(change): print('here'); Path({name!r}).touch()\nslider.observe(ends, 'value'); slider.value = 0")
    cell = page.begin(MAGIC.strip() + f"{behind}\nprint('begins')\n{loop.format(name)}\nprint('ends')")
    page.until(cell, lambda shown: "begins" in shown.stdout)

    moved = page.move("slider", 30, beside=beside)
    page.until(cell, lambda shown: "ends" in shown.stdout)

    assert "here\n" in page.until(moved, lambda shown: "here" in shown.stdout).stdout  # the event's, and not the cell's
    assert page.ended(cell).stdout == "begins\nends\n"
    page.cell(MAGIC + "slider.unobserve(ends, 'value')")


def test_messages_that_change_to_a_subshell_in_a_cell_keep_their_order(there):
    page = there.remote
    cell = page.begin(MAGIC + "moves.clear(); print('begins')\nwhile 52 not in moves: await asyncio.sleep(0.01)\nmoves, len(clicks)")
    page.until(cell, lambda shown: "begins" in shown.stdout)

    sent = [page.click("button"), page.move("slider", 51), page.click("button", beside=True), page.move("slider", 52, beside=True)]

    ended = page.ended(cell)
    clicked = "in the output\nbelow it\n"
    assert [page.ended(each).stdout for each in sent] == [clicked, "moved to 102\n", clicked, "moved to 104\n"]
    assert ended.value.startswith("([51, 52], ")


def test_an_event_that_comes_in_another_cell_is_handled_at_its_end(there):
    page = there.remote
    cell = page.begin(MAGIC + "slider.value = 1\nPath('at it').touch(); until('moved')\nprint('still', slider.value)")
    until_there(there.folder, "at it")
    moved = page.move("slider", 40, beside=True)
    page.all_have_arrived()
    touch(there.folder, "moved")

    assert page.until(moved, lambda shown: "moved to" in shown.stdout).stdout == "moved to 80\n"
    assert page.ended(cell).stdout.splitlines()[-1] == "still 1"


WAITS_FOR_A_CELL = """
import time
from pounce.cell.widgets import road
sends, remote = road.sent_there, get_ipython().magics_manager.registry["PounceMagics"].remote
def waits_for_a_cell(*arguments):
    until = time.monotonic() + 2
    while remote._front is None and time.monotonic() < until: time.sleep(0.01)
    road.sent_there = sends
    return sends(*arguments)
road.sent_there = waits_for_a_cell"""


def test_a_move_that_comes_just_before_a_cell_does_not_keep_the_next_one_waiting(there):
    page = there.remote
    page.cell(MAGIC + "moves.clear()")
    assert page.cell(WAITS_FOR_A_CELL).of("error") == []
    first = page.move("slider", 61, beside=True)
    page.until(first, lambda shown: shown.messages)  # its handler has begun

    cell = page.begin(MAGIC + "while 62 not in moves: await asyncio.sleep(0.01)\nmoves")
    second = page.move("slider", 62, beside=True)

    assert page.ended(cell).value == "[61, 62]"
    assert [page.ended(each).stdout for each in (first, second)] == ["moved to 122\n", "moved to 124\n"]


def test_what_a_task_prints_after_a_widgets_message_is_shown_under_the_last_cell(there):
    page = there.remote
    page.cell("import os, pounce, time\nclient = pounce.Client()\ndef prints():\n    while not os.path.exists('printed now'): time.sleep(0.01)\n    print('from the task')")
    cell = page.begin("later = client.submit(prints)")
    assert page.ended(cell).of("error") == []
    page.ended(page.move("slider", 63, beside=True))

    touch(there.folder, "printed now")

    assert page.until(cell, lambda shown: "\n" in shown.stdout).stdout == "from the task\n"
    page.cell("client.close()")


def test_a_callback_that_blocks_is_stopped_and_the_next_one_runs(there):
    page = there.remote
    page.cell(MAGIC + "def blocks(_):\n    Path('blocks').touch()\n    while True: time.sleep(0.01)\nbutton.on_click(blocks)")
    stuck = page.click("button")
    until_there(there.folder, "blocks")
    page.notebook.manager.interrupt_kernel()
    page.ended(stuck)
    page.cell(MAGIC + "button.on_click(blocks, remove=True)")

    assert page.ended(page.move("slider", 9)).stdout == "moved to 18\n"


def test_what_cannot_be_as_in_one_process_is_named(there):
    page = there.remote
    large = page.cell(MAGIC + "box = ipywidgets.Image(value=bytes(40 << 20))")
    assert "a widget (ImageModel) of 40 MiB is not shown; the most is 32 MiB" in large.stdout
    page.cell("import ipywidgets; mine = ipywidgets.IntSlider()")
    assert "mine is a widget, which answers in the notebook" in page.cell(MAGIC + "mine.value").error["evalue"]
    page.cell("%pounce pull other")
    assert "Change it in a %%pounce cell" in page.cell("other.value = 4").error["evalue"]


LIBRARIES = {
    "plotly": ("AnyModel", """
import plotly.graph_objects as go
shown = go.FigureWidget(data=[go.Scatter(y=[1, 2, 3], uid="one")])
shown.data[0].on_click(lambda trace, points, _: print("clicked", points.point_inds))
""", [{"method": "update", "buffer_paths": [], "state": {"_js2py_pointsCallback": {
        "event_type": "plotly_click", "points": {"trace_indexes": [0], "point_indexes": [1], "xs": [1], "ys": [2]},
        "device_state": None, "selector": None}}}], "clicked [1]\n"),
    "anywidget": ("AnyModel", """
import anywidget, traitlets
class Counter(anywidget.AnyWidget):
    _esm = "export default {}"
    count = traitlets.Int().tag(sync=True)
shown = Counter()
shown.observe(lambda change: print("counted", change.new), "count")
shown.on_msg(lambda _, content, buffers: print("told", content))
""", [{"method": "custom", "content": "hello"}, {"method": "update", "state": {"count": 2}, "buffer_paths": []}], "told hello\ncounted 2\n"),
    "ipympl": ("MPLCanvasModel", """
import matplotlib.pyplot as plt
%matplotlib widget
figure, axes = plt.subplots(figsize=(2, 1))
axes.plot([3, 1, 2])
figure.canvas.mpl_connect("button_press_event", lambda event: print("pressed", event.button))
shown = figure.canvas
""", [{"method": "custom", "content": {"type": "button_press", "x": 50, "y": 50, "button": 0, "buttons": 1, "modifiers": [], "guiEvent": {}}},
      {"method": "custom", "content": {"type": "draw"}}], "pressed 1\n"),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_widgets_of_other_libraries_answer_as_in_a_plain_kernel(there, library):
    pytest.importorskip(library)
    model, source, events, printed = LIBRARIES[library]
    shown = []
    for page, magic in there.both:
        page.number_anew()
        made = page.cell(f"{magic}{source}display(shown)")
        opened = [each for each in made.of("comm_open") if each["data"]["state"].get("_model_name") == model]
        page.comms["shown"] = opened[-1]["comm_id"]
        shown.append([page.seen(page.send("shown", each)) for each in events])
    (plain, text), (remote, remote_text) = ((
        [each for event in one for each in event if each[0] != "stream"],  # a plain kernel prints a moment later
        "".join(each[2] for event in one for each in event if each[0] == "stream")) for one in shown)

    assert remote == plain and remote_text == text == printed


def test_a_widget_answers_again_when_its_variables_are_restored(there):
    page = there.remote
    alone = page.cell(MAGIC + "display(ipywidgets.IntText())", alone="IntTextModel")
    assert alone.of("display_data")
    page.cell(MAGIC + "slider.value = 1")
    released = page.cell("%pounce release")
    inert = {each["comm_id"]: each["data"]["state"] for each in released.of("comm_msg")}
    assert inert[page.comms["slider"]]["disabled"] and "a cell that reads slider restores it" in inert[page.comms["slider"]]["tooltip"]
    assert "run the cell that made it again" in inert[page.comms["alone"]]["tooltip"]

    back = page.cell(MAGIC + "slider.value")  # `moved` reads what no cell names: factor, moves
    state = [each["data"]["state"] for each in back.of("comm_msg") if each["comm_id"] == page.comms["slider"]]
    assert (state[-1]["disabled"], state[-1]["value"]) == (False, 1)
    assert page.ended(page.move("slider", 8)).stdout == "moved to 16\n"
    assert page.ended(page.click("text")).messages  # not restored: no cell has read it
    assert page.cell(MAGIC + "latest").value == "8"


def test_a_worker_that_dies_in_a_callback_is_named(there):
    page = there.remote
    page.cell(MAGIC + "killer = Button()\nkiller.on_click(lambda _: os._exit(3))", killer="ButtonModel")

    died = page.ended(page.click("killer"))
    assert "exit code 3" in died.stream("stderr"), died
    assert "has gone" in page.ended(page.click("killer")).stream("stdout")
