#!/usr/bin/python3
"""What a move of a slider takes until its callback's output is back, beside the same slider in a plain kernel.

    tests/bench/slider.py [MOVES]       prints one line of JSON; fails on no number

The two are moved turn about: one's callback prints, the other's draws a figure. Then 100 moves come in two seconds to a callback of
0.1 s: "behind" is how long after the last of them it is handled, "ran" how often the callback ran. Workers are this machine's own processes.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from conftest import made_home
from kernel import Notebook
from widgets_page import Page

MADE = """
import time
import ipywidgets, matplotlib.pyplot as plt, numpy as np
prints, draws, slow = (ipywidgets.IntSlider(max=1000) for _ in range(3))
prints.observe(lambda change: print(change.new), "value")
def drawn(change):
    plt.figure(figsize=(5, 2)); plt.plot(np.sin(np.arange(400) * change.new)); plt.show()
draws.observe(drawn, "value")
ran = []
def sleeps(change):
    time.sleep(0.1)
    ran.append(change.new)
slow.observe(sleeps, "value")
"""


def moved(page: Page, name: str, value: int, kind: str) -> float:
    start = time.perf_counter()
    message = page.move(name, value)
    page.until(message, lambda shown: shown.of(kind))
    took = time.perf_counter() - start
    page.ended(message)
    return 1000 * took


def flooded(page: Page, magic: str) -> dict[str, float]:
    for value in range(1, 101):
        message = page.move("slow", value)
        time.sleep(0.02)
    start = time.perf_counter()
    page.ended(message)
    return {"behind": round(time.perf_counter() - start, 2), "ran": int(page.cell(f"{magic}len(ran)").value)}


def main() -> None:
    moves = int(sys.argv[1]) if sys.argv[1:] else 40
    with made_home() as plain_home, made_home(idle_release_s=600) as home:
        pages = [("plain", Page(Notebook(plain_home)), ""), ("worker", Page(Notebook(home)), "%%pounce --cpus 1\n")]
        pages[1][1].cell("%load_ext pounce")
        for _, page, magic in pages:
            opened = page.cell(magic + MADE).of("comm_open")
            sliders = [each["comm_id"] for each in opened if each["data"]["state"].get("_model_name") == "IntSliderModel"]
            page.comms.update(zip(("prints", "draws", "slow"), sliders))
        times: dict[str, list[float]] = {}
        for slider, kind in (("prints", "stream"), ("draws", "display_data")):
            for value in range(1, moves + 6):
                for name, page, _ in pages:
                    took = moved(page, slider, value, kind)
                    if value > 5:  # the first of each loads what it needs
                        times.setdefault(f"{slider}, {name}", []).append(took)
        found = {name: {"median": round(statistics.median(each), 1), "95 %": round(sorted(each)[int(0.95 * len(each))], 1)}
                 for name, each in times.items()}
        print(json.dumps(found | {f"flooded, {name}": flooded(page, magic) for name, page, magic in pages}))
        for _, page, _ in pages:
            page.notebook.close()


if __name__ == "__main__":
    main()
