"""What is said of when a waiting job starts, scored against what came: a scripted queue of known lengths on a real Slurm."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
from faults import measured

LEARNED = 16  # jobs before the scored ones: of them pounce learns how long such jobs run
BURST, BURSTS = 20, 2

# Four have room at a time. The next ones come when the last have all started, so that each of them has to wait.
QUEUE = """
    import pounce
    def work(seconds):
        import time
        time.sleep(seconds)
    client = pounce.Client()
    number = 0
    for burst, lengths in enumerate({bursts!r}):
        if burst == 1:
            report(learned=[future.result(100) for future in futures[:-4]] is not None)
        futures = []
        for seconds in lengths:
            number += 1
            view = client.options(memory=f"{{60_000 + number}}MB", time="3min")
            futures.append(view.submit(work, seconds))
        while not all(future.running() or future.done() for future in futures):
            time.sleep(0.05)
    report(ended=[future.result(100) for future in futures] is not None)
    client.close()
"""


@pytest.fixture
def alice(quiet_cluster, login_node, make_user):
    return make_user("alice", login_node(quiet_cluster), poll_max_s=2, idle_release_s=0.5)


def state_folder(alice) -> Path:
    return Path(alice.endpoint()["log"]).parent


def test_each_wait_is_scored_in_a_file_of_the_users_alone(alice):
    run = alice.python(QUEUE.format(bursts=[[1] * 4, [2] * 8]))
    run.reported("ended", 120)

    score = json.loads(alice.run("pouncectl", "eta-score", "--json"))
    assert score["waits"] >= 1, score  # one that started before the first look at the queue has no estimate to be scored
    assert (state_folder(alice) / "waits.jsonl").stat().st_mode & 0o777 == 0o600
    assert "in the interval" in alice.run("pouncectl", "eta-score")


@pytest.mark.skipif(not os.environ.get("POUNCE_LONG_RUN"), reason="measures for two minutes what a busy machine changes: tests/run --long runs it")
def test_starts_are_foretold_better_than_any_constant_and_the_intervals_hold(alice):
    lengths = random.Random(6)
    bursts = [[round(lengths.uniform(1, 8), 1) for _ in range(count)] for count in (LEARNED, *[BURST] * BURSTS)]
    run = alice.python(QUEUE.format(bursts=bursts))
    run.reported("learned", 120)
    waits = state_folder(alice) / "waits.jsonl"
    waits.unlink(missing_ok=True)

    run.reported("ended", 280)

    score = json.loads(alice.run("pouncectl", "eta-score", "--json"))
    measured("estimates of a start", score["median_error_s"])
    print("MEASURED", score)
    print(waits.read_text())
    assert score["waits"] >= 30, score  # the others started before the first look at the queue
    assert score["coverage"] >= 0.7, score
    assert score["median_width_s"] <= score["median_wait_s"], score
    assert score["median_error_s"] < score["constant_error_s"], score
