"""Why something waits, as an object and as a sentence."""

from __future__ import annotations

import pytest
from pounce import _core
from pounce._engine.wait import Eta, Limit, Wait, about, wait_of

LIMITED = _core.LeaseStatus(lease="aa", state="queued", reason="a limit of class lion is reached", job=17, class_="lion",
                            slurm_reason="QOSMaxJobsPerUserLimit", limit=_core.LimitUse("job", 4, 4, 1))


def test_a_limit_comes_with_its_numbers():
    wait = wait_of(LIMITED)

    assert wait.limit == Limit("job", 4, 4, 1) and wait.class_ == "lion" and wait.slurm_reason == "QOSMaxJobsPerUserLimit"
    assert wait.ahead is None and wait.start is None


def test_a_place_in_line_and_a_start_are_known_only_of_what_is_queued():
    queued = wait_of(LIMITED._replace(start_estimate=1_700_000_000, slurm_reason="Priority", ahead=3, limit=None,
                                      eta=_core.Eta(1_700_000_300, 1_700_000_100, 1_700_000_900, "of 9 jobs")))
    starting = wait_of(_core.LeaseStatus(state="starting", job=17, node="g1", start_estimate=1_700_000_000, ahead=3))

    assert (queued.ahead, queued.start) == (3, 1_700_000_000.0)
    assert queued.eta == Eta(1_700_000_300, 1_700_000_100, 1_700_000_900, "of 9 jobs")
    assert (starting.ahead, starting.start, starting.eta) == (None, None, None)


def test_before_pounced_has_answered_it_asks():
    assert str(wait_of(None)) == "asking (for a lease)"


def test_the_sentence_says_when_it_is_expected_to_start(monkeypatch):
    monkeypatch.setattr("time.time", lambda: 1000.0)

    assert str(Wait("queued", "other jobs go first", job=7, start=1590)) == (
        "queued (other jobs go first) · job 7 · Slurm expects it to start in about 10 min")


@pytest.mark.parametrize(
    "seconds, words",
    [(-50, "any moment"), (59, "any moment"), (100, "in about 2 min"), (560, "in about 9 min"), (33 * 60, "in about 35 min"), (5000, "in about 1 h 30 min"),
     (7300, "in about 2 h"), (20 * 3600, "in about 20 h"), (50 * 3600, "in about 2 d 2 h")],
)
def test_an_estimate_is_as_coarse_as_it_is(seconds, words):
    assert about(seconds) == words


def test_an_estimate_is_told_with_its_interval(monkeypatch):
    monkeypatch.setattr("time.time", lambda: 1000.0)
    wide, soon = Eta(1900, 1020, 4600, ""), Eta(1010, 1001, 1030, "")

    assert str(wide) == "in about 15 min (now to 1 h)"
    assert str(soon) == "any moment"
    assert str(Wait("queued", "other jobs go first", job=7, start=1590, eta=wide)).endswith("job 7 · starts in about 15 min (now to 1 h)")
