"""%%pounce in JupyterLab, seen and clicked in a browser."""

from __future__ import annotations

import contextlib
import re

import pytest
from browser import ESCAPE, SHIFT, TAB
from lab import PICTURES, Lab, Notebook7
from login_node import wait_until

TRAINING = """\
%%pounce --gpu 1
from tqdm.notebook import tqdm
import time

losses = []
for epoch in tqdm(range(1000), desc="training"):
    losses.append(1 / (1 + epoch))
    time.sleep(0.05)"""
TEXT_BAR = """\
%%pounce --gpu 1
from tqdm import tqdm
import time

for batch in tqdm(range(80), desc="evaluating"):
    time.sleep(0.05)"""
AFTERWARDS = """\
%%pounce --gpu 1
import matplotlib.pyplot as plt

plt.figure(figsize=(5, 1.6))
plt.plot(losses)
"still there:", len(losses) > 20"""
NETWORK = """\
%%pounce --gpu 1
class Net:
    \"\"\"A network of one layer.\"\"\"
    weights, weight_decay = [0.0], 1e-4

def train_it(epochs: int, rate: float = 0.1):
    \"\"\"Trains the network for some epochs.\"\"\"

network = Net()"""


@pytest.fixture
def notebook7(make_user):
    if not Notebook7.program.exists():
        pytest.fail(f"{Notebook7.program} is not there; packaging/lab-environment makes it")
    made = Notebook7(make_user(), "import pounce", TRAINING, AFTERWARDS)
    PICTURES.mkdir(parents=True, exist_ok=True)
    yield made
    made.browser.picture(PICTURES / "notebook7.png")  # of a failure too
    made.browser.close()


def steps(shown: str) -> int:
    """How far the bar is: 12 of ``12/1000 [``; -1 where there is none yet."""
    found = re.findall(r"(\d+)/\d+\s*\[", shown)
    return int(found[-1]) if found else -1


def seen_to_move(cell) -> None:
    first = wait_until(lambda: max(0, steps(cell.shown)), 120, "the bar has begun")
    wait_until(lambda: steps(cell.shown) > first + 20, 60, "the bar has moved")
    assert cell.prompt == "[*]:"


@pytest.mark.xdist_group("lab")
def test_a_bar_moves_and_the_stop_button_keeps_the_workers_variables(page):
    page.open_new("bars", "import pounce", TRAINING, TEXT_BAR, AFTERWARDS, NETWORK, "network.wei", "train_it(5)")
    page.ran(0)

    training = page.run(1)
    seen_to_move(training)
    page.click("notebook:interrupt-kernel")
    page.wait(training)
    assert "KeyboardInterrupt" in training.shown and training.has(".jupyter-widgets")

    text = page.run(2)
    seen_to_move(text)
    page.wait(text)
    assert "80/80" in text.shown

    after = page.ran(3)
    assert after.has("img") and "('still there:', True)" in after.shown
    looks_from_the_notebook(page)


def looks_from_the_notebook(page: Lab) -> None:
    """Tab and Shift+Tab in cells of the notebook, on what the last cell leaves on the worker."""
    page.ran(4)
    completer = answer_to(page, 5, (TAB,), ".jp-Completer", "weights")
    assert "weight_decay" in completer
    page.browser.picture(PICTURES / "completion.png")
    page.browser.press(ESCAPE)

    tooltip = answer_to(page, 6, (SHIFT, TAB), ".jp-Tooltip", "Trains the network for some epochs.")
    assert "rate: float = 0.1" in tooltip.replace("\xa0", " ")
    page.browser.picture(PICTURES / "inspection.png")


def answer_to(page: Lab, cell: int, keys: tuple[str, ...], selector: str, words: str) -> str:
    """What comes up when the keys are pressed behind that cell's text. They are pressed again where nothing has come, as a
    user does: on a busy machine the answer comes later than the page waits for it."""
    def pressed() -> str:
        page.put_cursor_behind(cell)
        page.browser.press(*keys)
        with contextlib.suppress(AssertionError):
            wait_until(lambda: words in page.text_of(selector), 5, "it comes up")
        return page.text_of(selector)

    return wait_until(lambda: text if words in (text := pressed()) else "", 90, f"{selector} shows {words!r}")


def test_notebook_7_shows_a_bar_that_moves_and_what_a_cell_has_left(notebook7):
    page = notebook7
    page.ran(0)

    training = page.run(1)
    seen_to_move(training)
    page.click("notebook:interrupt-kernel")
    page.wait(training)

    assert "KeyboardInterrupt" in training.shown
    after = page.ran(2)
    assert after.has("img") and "('still there:', True)" in after.shown
