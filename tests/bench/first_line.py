"""The first line of a task that needs a large package and much data, on a new worker: with imports ahead, without, and the parts alone.

    tests/bench/first_line.py [--mib 256] [--rounds 5] [--package torch] [--launcher local] [OPTION=VALUE...]

The array was scattered before there is a worker. All contenders take turns in each round. Options are those of Client.options.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pounce


def by_name(package: str) -> Any:
    """A function whose code has the import statement in it."""
    names: dict[str, Any] = {}
    exec(f"def first(x):\n    import {package}\n    return float(x.sum())", names)
    return names["first"]


def cold(imports: str, words: Any, array: Any, function: Any) -> tuple[float, dict[str, float]]:
    with pounce.Client(launcher=words.launcher, imports=imports) as client:
        data = client.scatter(array)
        start = time.perf_counter()
        future = client.options(**words.options).submit(function, data)
        assert future.result() == array.sum()
        return time.perf_counter() - start, future.timings()


def alone(words: Any, array: Any) -> dict[str, float]:
    """Each part without the others."""
    with pounce.Client(launcher=words.launcher, imports="no") as client:
        view = client.options(**words.options)
        start = time.perf_counter()
        view.submit(pow, 2, 3).result()
        worker = time.perf_counter() - start
        start = time.perf_counter()
        view.submit(lambda x: float(x.sum()), array).result()
        data = time.perf_counter() - start
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {words.package}"], check=True)
    return {"a new worker": worker, "the data": data, "the import": time.perf_counter() - start}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--package", default="torch")
    parser.add_argument("--launcher", default="local")
    parser.add_argument("options", nargs="*", help="gpus=1")
    words = parser.parse_args()
    words.options = dict(pair.split("=", 1) for pair in words.options)
    words.options = {name: int(value) if value.isdigit() else value for name, value in words.options.items()}
    array = np.ones(words.mib << 17)
    measured: dict[str, list[float]] = {}
    for round_ in range(words.rounds):
        array[0] = round_  # other content: nothing of an earlier round's is taken for it
        found = alone(words, array)
        for imports in ("ahead", "no"):
            took, timings = cold(imports, words, array, by_name(words.package))
            found[f"all, imports={imports!r}"] = took
            found[f"  of it import, {imports!r}"] = timings["import"]
        for name, seconds in found.items():
            measured.setdefault(name, []).append(seconds)
    for name, each in measured.items():
        print(f"{name:28} {statistics.median(each):.2f} s ({min(each):.2f} to {max(each):.2f})", file=sys.stderr)
    longest = [max(row) for row in zip(*(measured[name] for name in ("a new worker", "the data", "the import")), strict=True)]
    ratios = [all_ / part for all_, part in zip(measured["all, imports='ahead'"], longest, strict=True)]
    print(f"over the longest part: {statistics.median(ratios):.2f}", file=sys.stderr)
    print(json.dumps({"mib": words.mib, "package": words.package, "over_the_longest_part": ratios, **measured}))


if __name__ == "__main__":
    main()
