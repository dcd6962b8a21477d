#!/usr/bin/env python3
"""What an endpoint of pounce.serve adds: to the model's own time for a request, and to the start of a worker for the first one.

    tests/bench/serving.py [--requests 1000] [--rounds 5] [--model-ms 0] [--launcher local] [OPTION=VALUE...]

Floors of the same run: a server that answers at once over HTTP, with the same code and no worker; the same call of a client; and a
client's first call of the same function, which starts a worker. A process of its own makes the requests, one after another on one
connection. Options are those of Client.options.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

import pounce
from pounce._worker.serving import Answer
from pounce.serving.connection import Connection
from pounce.serving.listener import Listener

CALLER = r"""
import json, socket, sys, time
port, requests, token = int(sys.argv[1]), int(sys.argv[2]), sys.stdin.readline().strip()
connection = socket.create_connection(("127.0.0.1", port))
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
request = (f"POST /invocations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
           "Content-Length: 6\r\n\r\n[1, 2]").encode()
times = []
for _ in range(requests):
    start = time.perf_counter()
    connection.sendall(request)
    answer = connection.recv(65536)
    times.append(time.perf_counter() - start)
    assert answer.startswith(b"HTTP/1.1 200"), answer
print(json.dumps(times))
"""


def model(seconds: float) -> Any:
    def predict(numbers: list[int]) -> list[int]:
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            pass
        return [2 * number for number in numbers]

    return predict


def timed(port: int, token: str, requests: int) -> list[float]:
    """Seconds of each request, from the first byte out to the last in."""
    words = [sys.executable, "-c", CALLER, str(port), str(requests)]
    done = subprocess.run(words, input=token + "\n", capture_output=True, text=True, check=True)
    return [float(each) for each in json.loads(done.stdout)]


def port_of(endpoint: pounce.Endpoint) -> int:
    return int(endpoint.url.rpartition(":")[2])


def http_alone(requests: int) -> list[float]:
    listener = Listener(lambda each, knows: Connection(each, "t", lambda *_: Answer(200, "application/json", b"[2, 4]"), knows))
    try:
        return timed(listener.port, "t", requests)
    finally:
        listener.close()


def latencies(words: Any) -> dict[str, list[float]]:
    """Per contender, what a request took over the model's own time."""
    seconds, found = words.model_ms / 1000, {}
    found["HTTP alone, no worker"] = http_alone(words.requests)
    with pounce.Client(launcher=words.launcher) as client:
        view, function = client.options(**words.options), model(seconds)
        view.submit(function, [1, 2]).result()
        found["a call of a client"] = []
        for _ in range(words.requests):
            start = time.perf_counter()
            view.submit(function, [1, 2]).result()
            found["a call of a client"].append(time.perf_counter() - start - seconds)
    with pounce.serve(model(seconds), **words.options) as endpoint:
        endpoint.start()
        timed(port_of(endpoint), endpoint.token, 50)
        found["a request of an endpoint"] = [each - seconds for each in timed(port_of(endpoint), endpoint.token, words.requests)]
    return found


def starts(words: Any) -> dict[str, list[float]]:
    """The first request of an endpoint without a worker, and what a client's first call takes, in turn."""
    found: dict[str, list[float]] = {"a client's first call": [], "an endpoint's first request": []}
    for _ in range(words.rounds):
        start = time.perf_counter()
        with pounce.Client(launcher=words.launcher) as client:
            client.options(**words.options).submit(model(0), [1, 2]).result()
            found["a client's first call"].append(time.perf_counter() - start)
        with pounce.serve(model(0), **words.options) as endpoint:
            found["an endpoint's first request"] += timed(port_of(endpoint), endpoint.token, 1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model-ms", type=float, default=0.0)
    parser.add_argument("--launcher")
    parser.add_argument("options", nargs="*", help="gpus=1")
    words = parser.parse_args()
    words.options = {name: int(value) if value.isdigit() else value for name, _, value in (each.partition("=") for each in words.options)}
    if words.launcher == "local" and "POUNCE_CONFIG" not in os.environ:
        parser.error("an endpoint takes its launcher from pounced's configuration: set POUNCE_CONFIG to one with it")
    measured = latencies(words)
    for name, each in measured.items():
        ordered = sorted(each)
        print(f"{name:28} {statistics.median(each) * 1e3:6.2f} ms over the model's own, 95 % {ordered[len(ordered) * 95 // 100] * 1e3:.2f}", file=sys.stderr)
    cold = starts(words)
    for name, each in cold.items():
        print(f"{name:28} {statistics.median(each):6.2f} s ({min(each):.2f} to {max(each):.2f})", file=sys.stderr)
    print(json.dumps({"added_ms": statistics.median(measured["a request of an endpoint"]) * 1e3, "goal_ms": 2.0,
                      "from_zero_over_cold_s": statistics.median(cold["an endpoint's first request"]) - statistics.median(cold["a client's first call"]),
                      "goal_s": 0.3}))


if __name__ == "__main__":
    main()
