"""How fast does data arrive? 1 GiB from scatter() to its use on a worker, against the floor: the same bytes in 1 MB frames,
DEALER to ROUTER with CURVE between two processes, copied into one array; turn about.

Usage: scatter.py [--rounds 5]      POUNCE_BUILD names the build folder with bench_stream
Prints one line of JSON: GB/s and their ratio. Goal: at least 0.8.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy
import pounce
from bench import floor, own_home, say

GIB = 2**30


def once(client: pounce.Client, array: numpy.ndarray, number: int) -> float:
    array[:8] = numpy.frombuffer(number.to_bytes(8, "little"), dtype=numpy.uint8)  # other content: it has to travel
    start = time.perf_counter()
    ref = client.scatter(array)
    assert client.submit(lambda data: (len(data), int(data[0])), ref).result() == (GIB, number % 256)
    return GIB / 1e9 / (time.perf_counter() - start)


def main() -> None:
    words = argparse.ArgumentParser()
    words.add_argument("--rounds", type=int, default=5)
    chosen = words.parse_args()
    array = numpy.ones(GIB, dtype=numpy.uint8)
    with own_home(), pounce.Client() as client:
        once(client, array, 0)  # a lease, numpy imported there, memory touched
        rounds = [(floor("bench_stream", 1)["best_gb_s"], once(client, array, number)) for number in range(1, chosen.rounds + 1)]
    ratios = [rate / bare for bare, rate in rounds]
    say(bench="scatter", floor_gb_s=statistics.median(f for f, _ in rounds), scatter_gb_s=statistics.median(r for _, r in rounds),
        ratio=statistics.median(ratios), ratios=[round(r, 2) for r in ratios], goal=">= 0.8")


if __name__ == "__main__":
    main()
