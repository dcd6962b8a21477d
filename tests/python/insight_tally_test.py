"""Every sum of the past against truths that were made another way: read from Slurm, and read from the store."""

from __future__ import annotations

import dataclasses

import pytest
from insight_past import DAY, END, MELBOURNE, FakeAccounting, assert_same, past, truths
from pounce.insight.answer import Question, answer
from pounce.insight.collector import Collector
from pounce.insight.jobs import Job, complete
from pounce.insight.projects import project_rule
from pounce.insight.spans import Calendar
from pounce.insight.store import create
from pounce.insight.tally import Tally

KEYS = [(), ("class", "user", "mode"), ("account",), ("project",), ("gpu", "partition"), ("node",), ("node", "gpu"), ("day",), ("week",),
        ("weekday",), ("hour",), ("day", "hour"), ("week", "user"), ("day", "node"), ("weekday", "hour", "class"), ("user", "hour")]
FROM = END - 7 * DAY - 12_345
SPANS = {"mid-day to now": (FROM, END), "whole days": (None, None), "within a day": (END - 9000, END - 100)}


@pytest.fixture(scope="module")
def rows():
    return past(200)


@pytest.fixture(scope="module")
def store(rows, tmp_path_factory):
    store = create(tmp_path_factory.mktemp("insight") / "usage.sqlite", MELBOURNE)
    Collector(store, FakeAccounting(rows)).run(END - 12 * DAY)
    yield store
    store.close()


def span_of(name: str) -> tuple[int, int]:
    calendar = Calendar(MELBOURNE)
    return SPANS[name] if SPANS[name][0] else (calendar.day_of(FROM), calendar.day_of(END - DAY))


def no_slurm():
    raise AssertionError("the store has all of it")


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("keys", KEYS, ids=",".join)
def test_sums_are_right_to_the_second(rows, store, keys, span):
    question = Question(keys, *span_of(span))
    expected = truths(rows, keys, question.from_s, question.to_s, zone=MELBOURNE)
    assert len(expected) >= (1 if span == "within a day" else len(keys))

    for one in (store, None):
        source = no_slurm if one else lambda: FakeAccounting(rows)
        found = answer(question, Calendar(MELBOURNE), project_rule("account"), one, source)
        assert_same(found.groups, expected)


@pytest.mark.parametrize("keys", [("mode",), ("day", "user"), ("hour",)], ids=",".join)
def test_a_store_that_has_half_of_the_span_is_completed_from_slurm(rows, tmp_path, keys):
    rows = [dataclasses.replace(job, energy_j=-1) for job in rows]  # Slurm has a job's energy when it has ended
    store = create(tmp_path / "usage.sqlite", MELBOURNE)
    middle = END - 3 * DAY - 777
    earlier = [job for job in rows if job.submit_s < middle]
    Collector(store, FakeAccounting([job if 0 < job.end_s < middle else still(job, middle) for job in earlier], middle)).run(END - 5 * DAY)

    found = answer(Question(keys, FROM, END), Calendar(MELBOURNE), project_rule(""), store, lambda: FakeAccounting(rows))

    assert_same(found.groups, truths(rows, keys, FROM, END, zone=MELBOURNE))
    assert found.kept and found.kept.until_s == middle


def still(job: Job, now_s: int) -> Job:
    """The same job as it was seen at an earlier moment."""
    return dataclasses.replace(job, end_s=0, start_s=job.start_s if job.start_s < now_s else 0)


@pytest.mark.parametrize("keys", [(), ("user", "mode"), ("node",), ("project", "gpu")], ids=",".join)
def test_whole_months_come_from_their_own_sums(keys, tmp_path):
    rows = past(150, days=110, seed=4)
    store = create(tmp_path / "usage.sqlite", MELBOURNE)
    Collector(store, FakeAccounting(rows)).run(END - 120 * DAY)
    months = Calendar(MELBOURNE).starts("month", END - 100 * DAY, END)
    for table in ("day_use", "node_day_use"):  # it would be seen if they were read
        assert store.connection.execute(f"DELETE FROM {table} WHERE time >= ? AND time < ?", (months[1], months[-1])).rowcount > 50

    for begin, end in ((END - 100 * DAY, END), (months[1], months[3]), (months[1] - DAY, months[-1] + 5)):
        found = answer(Question(keys, begin, end), Calendar(MELBOURNE), project_rule(""), store, no_slurm)
        assert_same(found.groups, truths(rows, keys, begin, end, zone=MELBOURNE))


def test_the_jobs_of_some_users_alone_can_be_summed(rows, store):
    found = answer(Question(("day",), *span_of("mid-day to now"), frozenset({"bob", "who"})), Calendar(MELBOURNE), project_rule(""), store, no_slurm)

    theirs = [job for job in rows if job.user == "bob"]
    assert_same(found.groups, truths(theirs, ("day",), *span_of("mid-day to now"), zone=MELBOURNE))


def test_the_parts_of_a_job_add_up_to_it_exactly():
    job = complete(Job(job=1, submit_s=0, start_s=1_000_007, end_s=1_500_003, gpus=7, cpus=3, nodes="a[1-3]", gpu_use_permille=333,
                       energy_j=987_654_321), 2_000_000, {}, lambda *_: None)
    whole = Tally((), 0, 2_000_000, Calendar(), project_rule(""))
    whole.add(job, 0, 2_000_000)
    for keys in (("day",), ("hour",), ("node", "day")):
        parts = Tally(keys, 0, 2_000_000, Calendar(), project_rule(""))
        for cut in range(0, 2_000_000, 77_777):
            parts.add(job, cut, min(cut + 77_777, 2_000_000))
        total, once = parts.total(), whole.total()
        assert (total.gpu_s, total.cpu_s, total.known_s, total.energy_j) == (once.gpu_s, once.cpu_s, once.known_s, once.energy_j)
        if "node" not in keys:
            assert total.busy_ms == once.busy_ms
