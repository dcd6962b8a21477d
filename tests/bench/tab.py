#!/usr/bin/python3
"""What Tab and Shift+Tab on a variable of a worker cost, beside the same variable in a plain kernel.

    tests/bench/tab.py [ROUNDS [LATER]]       prints one line of JSON; fails on no number

In each round both kernels are new: the first Tab loads what completion needs. The later ones are turn about; "busy" are those while
a cell in the background computes in Python on the worker. Milliseconds. Workers are this machine's own processes.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from kernel import Notebook, notebook_at_home

MAGIC = "%%pounce --cpus 1\n"
VARIABLES = "class Net:\n    '''A network.'''\n    def fit(self, epochs, rate=0.1): ...\nnetwork = Net()"
COMPUTES = f"{MAGIC[:-1]} --bg --name job\nimport os\nopen('begun', 'w').close()\nn = 0\nwhile not os.path.exists('enough'): n += 1"


def tab(notebook: Notebook, text: str) -> float:
    start = time.perf_counter()
    found = notebook.completion(text)["matches"]
    assert found == ["fit"], found
    return 1000 * (time.perf_counter() - start)


def shift_tab(notebook: Notebook) -> float:
    start = time.perf_counter()
    assert notebook.inspected("network.fit", 0)["found"]
    return 1000 * (time.perf_counter() - start)


def one_round(later: int) -> dict[str, list[float]]:
    with notebook_at_home("import pounce") as notebook:
        notebook.run(MAGIC + VARIABLES)
        plain = Notebook(notebook.home)
        plain.run(VARIABLES)
        times = {"first tab": [tab(plain, "network.fi")], "first tab, worker": [tab(notebook, MAGIC + "network.fi")]}
        for _ in range(later):
            times.setdefault("tab", []).append(tab(plain, "network.fi"))
            times.setdefault("tab, worker", []).append(tab(notebook, MAGIC + "network.fi"))
            times.setdefault("shift tab", []).append(shift_tab(plain))
            times.setdefault("shift tab, worker", []).append(shift_tab(notebook))
        notebook.run(COMPUTES)
        while not (notebook.home.folder / "begun").exists():
            time.sleep(0.01)
        times["tab, busy worker"] = [tab(notebook, MAGIC + "network.fi") for _ in range(later)]
        (notebook.home.folder / "enough").touch()
        notebook.run("job.result()")
        plain.close()
    return times


def main() -> None:
    rounds, later = (int(given or preset) for given, preset in zip([*sys.argv[1:3], "", ""], ("3", "30")))
    all_times: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, times in one_round(later).items():
            all_times.setdefault(name, []).extend(times)
    print(json.dumps({name: {"median": round(statistics.median(times), 1), "95 %": round(sorted(times)[int(0.95 * len(times))], 1)}
                      for name, times in all_times.items()}))


if __name__ == "__main__":
    main()
