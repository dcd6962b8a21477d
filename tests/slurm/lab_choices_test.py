"""A cell that waits, in JupyterLab: its choices are buttons, a click is taken while it waits, and the browser and the site's program tell of it."""

from __future__ import annotations

import json

import pytest
from choices_test import held_by_bob, no_a100  # noqa: F401  bob has all large GPUs
from lab import SECONDS, Lab
from login_node import ROOT, wait_until

PICTURES = ROOT / "build" / "logs"
# The estimates depend on how long bob's jobs of other tests ran.
FIRST = """\
import pounce
import pounce.cell.waits.alternatives as shown
shown.LONG_S = 0  # each wait is long"""
TRAIN = """\
%%pounce --gpu a100
import os, time
while not os.path.exists("enough"):
    time.sleep(0.05)
os.environ["CUDA_VISIBLE_DEVICES"]"""
BEHIND = """\
%%pounce --gpu a100:2 --on large
print("six by", 7)"""
BATCH = """\
%%pounce --gpu a100:3 --on larger
6 * 7"""
# Notes what the browser shows, and how often it was asked whether it may.
WATCHED = """
const Real = window.Notification;
window.told = [];
window.asked = 0;
window.Notification = class extends Real {
  constructor(title, options) {
    super(title, options);
    window.told.push([title, options.body]);
  }
  static requestPermission() {
    window.asked += 1;
    return Real.requestPermission();
  }
};"""
TELLS = """#!/bin/sh
cat >> {folder}/told
"""


@pytest.fixture
def page(quiet_cluster, login_node, make_user):
    node = login_node(quiet_cluster)
    told = make_user("alice", node).folder
    told.chmod(0o777)  # alice's program writes there
    program = told / "tell"
    program.write_text(TELLS.format(folder=told))
    program.chmod(0o755)
    alice = make_user("alice", node, poll_max_s=2, idle_release_s=1, policy={"notify": str(program)})
    made = Lab(alice, FIRST, TRAIN, BEHIND, BATCH)
    made.told = told / "told"
    PICTURES.mkdir(parents=True, exist_ok=True)
    yield made
    made.browser.picture(PICTURES / "lab-choices.png")  # of a failure too
    made.browser.close()


def button(words: str) -> str:
    return f".pounce-wait button[title*='{words}']"


def titles(browser) -> list[str]:
    return [title for title, _ in browser.script("return window.told")]


def test_a_click_takes_the_smaller_gpu_while_the_cell_waits_and_its_user_is_told(page, no_a100):  # noqa: F811
    browser = page.browser
    browser.script(WATCHED)
    page.ran(0)
    waiting = page.run(1)
    wait_until(lambda: waiting.has(button("--gpu a100_3g.20gb")), SECONDS, "the choices are buttons")
    assert browser.script("return window.asked") == 0, "a page asks only who clicks"
    browser.picture(PICTURES / "choices.png")

    browser.allow("notifications")
    browser.click(button("when it starts, and when it has ended"))
    wait_until(lambda: "You are told by the browser and by the site's program" in waiting.shown, SECONDS, "the kernel has heard that")
    browser.click(button("--gpu a100_3g.20gb"))
    wait_until(lambda: titles(browser) == ["pounce: cell 2 has started"], SECONDS, "the browser notifies")
    assert not waiting.has(".pounce-wait button")
    (page.folder / "enough").touch()
    page.wait(waiting)

    assert "the cell asks for a100_3g.20gb now, as you chose" in waiting.shown
    wait_until(lambda: titles(browser)[1:] == ["pounce: cell 2 is done"], SECONDS, "the browser notifies again")
    lines = wait_until(lambda: page.told.exists() and page.told.read_text().count("\n") > 1 and page.told.read_text(), SECONDS, "the program ran")
    facts = [json.loads(line) for line in lines.splitlines()]
    assert {(each["what"], each["outcome"], each["name"]) for each in facts} == {("started", "running", "cell 2"), ("ended", "done", "cell 2")}

    behind = page.run(2)
    wait_until(lambda: behind.has(button("--bg")), SECONDS, "a cell of another worker has choices too")
    browser.click(button("--bg"))
    page.wait(behind)

    assert "a cell in the background: waiting" in behind.shown

    batch = page.run(3)
    wait_until(lambda: batch.has(button("%pounce batch")), SECONDS, "so has the next one")
    browser.click(button("%pounce batch"))
    page.wait(batch)

    assert "submitted: job" in batch.shown
