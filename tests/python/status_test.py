"""What a waiting user reads, and the table of the queue."""

from __future__ import annotations

import pytest
from pounce import _core
from pounce._engine import status_line
from pounce._engine.options import Options
from pounce._engine.pools import pool_of
from pounce._engine.status_line import StatusLine, output
from pounce._tables.queue import Queue, Row

QUEUED = _core.LeaseStatus(state="queued", reason="waiting for a GPU", job=17, class_="cheetah", slurm_reason="Resources")
STARTING = _core.LeaseStatus(state="starting", job=17, node="g1", devices="gpu:a100:1(IDX:0)", class_="cheetah")


@pytest.fixture
def shown(capsys, monkeypatch):
    """A terminal: what its line was, one after the other."""
    monkeypatch.setattr(status_line, "is_terminal", lambda: True)
    return lambda: [each.rstrip("\n") for each in capsys.readouterr().err.split("\r\x1b[2K")][1:]


def test_a_terminal_overwrites_its_line_until_a_summary(shown):
    line = StatusLine(waited_s=3)

    for state, lease in [("waiting", None), ("waiting", QUEUED), ("waiting", STARTING), ("running", STARTING)]:
        line.update(state, lease)
    line.finish()

    assert shown() == [
        "pounce: asking for a lease · 3 s",
        "pounce: queued (waiting for a GPU) · job 17 · 3 s",
        "pounce: starting · job 17 · g1, gpu:a100:1(IDX:0) · 3 s",
        "pounce: running on g1, gpu:a100:1(IDX:0) after 3 s",
    ]


def test_a_program_without_a_terminal_gets_no_line(capsys):
    """Its standard error got one for each change of state, which programs that compare it took for their own."""
    line = StatusLine(waited_s=3)

    line.update("waiting", QUEUED)
    line.finish()

    assert capsys.readouterr().err == ""


def test_a_notice_is_a_line_of_a_file(capsys):
    output().end("pounce: the worker was given back")

    assert capsys.readouterr().err == "pounce: the worker was given back\n"


def test_a_pool_is_shown_as_a_whole(shown):
    line = StatusLine(waited_s=3)
    asked = Options().changed(workers="0:16").resources
    there = [STARTING._replace(state=state, node=node) for state, node in [("idle", "g1"), ("busy", "g1"), ("busy", "g2")]]

    line.update("waiting", QUEUED, pool=pool_of([*there, QUEUED, QUEUED], asked))
    line.update("running", STARTING, pool=pool_of(there, asked))

    assert shown() == [
        "pounce: 3 of 16 workers, 2 nodes, 2 wait: waiting for a GPU · 3 s",
        "pounce: running on 3 of 16 workers, 2 nodes after 3 s",
    ]


def test_a_call_that_ends_without_having_been_seen_to_run_says_how_long_it_waited(shown):
    line = StatusLine(waited_s=3)

    line.update("waiting", QUEUED)
    line.finish()

    assert shown()[-1] == "pounce: waited 3 s"


def test_nothing_is_said_of_a_wait_of_less_than_a_second(shown):
    line = StatusLine(waited_s=0.5)

    again = line.update("waiting", QUEUED)
    line.finish()

    assert 0 < again <= 0.5 and shown() == []


def test_nothing_is_said_of_a_task_that_had_a_worker_at_once(shown):
    line = StatusLine(waited_s=1)

    line.update("running", STARTING)
    line.finish()

    assert shown() == []


@pytest.fixture
def row():
    return Row(job=17, class_="cheetah", state="RUNNING", node="g1", devices="gpu:a100:1", submit_time=1, start_time=2)


def test_a_queue_is_a_list_of_rows(row):
    queue = Queue([row], "slurm")

    assert len(queue) == 1 and queue[0].class_ == "cheetah" and list(queue) == [row]


def test_a_queue_shows_itself_as_a_table(row):
    text = repr(Queue([row], "slurm"))

    head, line = text.splitlines()
    assert head.split() == ["job", "class", "state", "reason", "node", "devices", "since"]
    assert line.split()[:4] == ["17", "cheetah", "RUNNING", "g1"]


def test_a_job_that_waits_says_why_in_plain_words(row):
    text = repr(Queue([row._replace(state="PENDING", reason="Priority", why="other jobs go first")], "slurm"))

    assert "other jobs go first" in text and "Priority" not in text


def test_a_table_in_a_page_is_escaped(row):
    page = Queue([row._replace(reason="<b>")], "slurm")._repr_html_()

    assert "&lt;b&gt;" in page and page.count("<tr>") == 2


def test_an_empty_queue_says_so():
    assert repr(Queue([], "slurm")) == "no jobs in the queue"
    assert repr(Queue([], "local")) == "no worker processes"
