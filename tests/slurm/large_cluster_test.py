"""A cluster with many nodes and a long queue: what each question may cost there, counted. The figures of a larger one are in
docs/performance.md."""

from __future__ import annotations

import json
import os

import pytest
from large_cluster import LargeCluster
from large_questions import Questions
from login_node import own_cluster_number

NODES, JOBS, IDLE_S = 500, 5000, 40

pytestmark = pytest.mark.skipif(not os.environ.get("POUNCE_LONG_RUN"), reason="takes minutes, most of them to fill the queue: tests/run --long runs it")


@pytest.fixture(scope="module")
def asked():
    """Every question, asked once, with what it cost."""
    if os.geteuid() != 0:
        pytest.skip("only root can start the disposable Slurm and its namespaces")
    with own_cluster_number() as number:
        cluster = LargeCluster(number, NODES, JOBS)
        cluster.up()
        try:
            cluster.fill()
            assert cluster.length() >= JOBS * 0.9
            questions = Questions(cluster, IDLE_S)
            try:
                questions.run()
            finally:
                questions.close()
            yield questions.rows
        finally:
            cluster.down()


def counts(row: dict) -> dict[str, int]:
    return {kind: count for kind, (count, _) in row["rpcs"].items()}


@pytest.mark.timeout(1200)
def test_own_jobs_are_one_request_whatever_else_waits(asked):
    asks = counts(asked["pouncectl queue"])
    assert asks["REQUEST_JOB_USER_INFO"] == 1
    assert sum(asks.values()) <= 4  # a look for the idle lease may come at the same time


def test_a_call_on_a_worker_that_is_there_asks_slurm_nothing(asked):
    assert counts(asked["call"]).get("REQUEST_JOB_INFO", 0) == 0
    assert asked["call"]["seconds"] < 0.1


def test_a_start_reads_the_whole_queue_once_at_most(asked):
    assert counts(asked["start"]).get("REQUEST_JOB_INFO", 0) <= 1
    assert sum(counts(asked["start"]).values()) <= 20


def test_top_tells_how_much_waits_in_one_line_for_each_class(asked):
    told = json.loads(asked["pouncectl top --json"]["told"])
    assert sum(queue["jobs"] for queue in told["waiting"]) >= JOBS * 0.9
    assert counts(asked["pouncectl top --json"])["REQUEST_JOB_INFO"] <= 2  # one may be a look for the idle lease
    assert asked["pouncectl top --json"]["answer_kb"] < 100


@pytest.mark.parametrize("question", ["pouncectl classes", "pouncectl why", "choices", "pouncectl queue while one waits", "pouncectl status"])
def test_a_question_is_a_few_requests_and_a_few_seconds(asked, question):
    assert sum(counts(asked[question]).values()) <= 10
    assert asked[question]["seconds"] < 5


def test_when_the_next_in_line_starts_is_told_soon(asked):
    assert asked["next"]["why"][1] != "None"
    assert asked["next"]["seconds"] < 30


@pytest.mark.parametrize("while_", ["idle", "one waits"])
def test_an_idle_or_waiting_lease_is_less_than_a_request_a_second(asked, while_):
    assert counts(asked[while_]).get("REQUEST_JOB_INFO", 0) <= IDLE_S / 4 + 1
    assert sum(counts(asked[while_]).values()) < IDLE_S


def test_pounced_stays_small_and_its_helper_in_proportion_to_the_queue(asked):
    last = asked["one waits"]
    assert last["pounced_mib"][1] < 40
    assert last["pounce_slurm_mib"][1] < 60 + JOBS * 0.006
