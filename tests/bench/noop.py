"""What does a call cost? submit(...).result() of a function that does nothing, on a warm worker, against the floor: a bare
DEALER-ROUTER round trip with CURVE between two processes, in the same minute, turn about.

Usage: noop.py [--rounds 5] [--calls 3000]      POUNCE_BUILD names the build folder with bench_roundtrip
Prints one line of JSON: medians in microseconds, and the ratio of each round. Goal: at most 1.5.
"""

from __future__ import annotations

import argparse
import statistics
import time

import pounce
from bench import floor, own_home, say


def noop():
    pass


def per_call(client: pounce.Client, calls: int) -> float:
    took = []
    for _ in range(calls):
        start = time.perf_counter()
        client.submit(noop).result()
        took.append(time.perf_counter() - start)
    return statistics.median(took) * 1e6


def main() -> None:
    words = argparse.ArgumentParser()
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--calls", type=int, default=3000)
    chosen = words.parse_args()
    with own_home(), pounce.Client() as client:
        per_call(client, 300)  # a lease, and warm caches
        rounds = [(floor("bench_roundtrip", chosen.calls)["p50_us"], per_call(client, chosen.calls)) for _ in range(chosen.rounds)]
    ratios = [call / bare for bare, call in rounds]
    say(bench="noop", floor_us=statistics.median(f for f, _ in rounds), call_us=statistics.median(c for _, c in rounds),
        ratio=statistics.median(ratios), ratios=[round(r, 2) for r in ratios], goal="<= 1.5")


if __name__ == "__main__":
    main()
