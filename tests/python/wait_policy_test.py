"""What a task that waits shall do instead, decided beforehand: the words, and when each is due."""

from __future__ import annotations

import pounce
import pytest
from conftest import resources
from pounce import _core
from pounce._engine.options import Options
from pounce._engine.wait_policy import Plan, Step, parsed
from pounce.cell.options_line import parse_cell

QUEUED = _core.LeaseStatus(state="queued", reason="everything that fits is in use", slurm_reason="Resources")
NEW = _core.LeaseStatus(state="queued")
STARTING = _core.LeaseStatus(state="starting", node="g1")


class Clock:
    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr("time.monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def test_steps_are_what_to_ask_for_and_when():
    steps = parsed("a100_3g.20gb, class=lion@90s, cpu@5min, cancel@1h")

    assert [(step.what, step.after_s) for step in steps] == [("a100_3g.20gb", None), ("class=lion", 90), ("cpu", 300), ("cancel", 3600)]
    asks = Options().changed(gpus="a100:2", cpus=4)
    assert [asks.changed(**step.changes()) for step in (*steps[:3], *parsed("2"))] == [
        resources(gpus=1, gpu_type="a100_3g.20gb", cpus=4), resources(class_="lion", gpus=2, gpu_type="a100", cpus=4), resources(cpus=4),
        resources(gpus=2, cpus=4)]


@pytest.mark.parametrize("words, cause", [
    ("gpu?", "'gpu\\?' is no step"),
    ("cpu@soon", "'soon' is no time"),
    ("cpu@", "'' is no time"),
    ("class=", "'class=' is no step"),
    ("0", "'0' is no step"),
    ("cancel, cpu", "nothing comes after cancel"),
    ("cpu@5min, a100@1min", "waits less"),
    ([], "at least one step"),
    ([3], "a text, not 3"),
])
def test_what_is_no_step_is_refused_with_what_would_be_one(words, cause):
    with pytest.raises(pounce.BadRequest, match=cause) as refused:
        Options().changed(wait_policy=words)
    assert refused.value.remedy


def test_a_cell_says_it_with_or_once_for_each():
    asked = parse_cell("--gpu 1 --or a100_3g.20gb --or=cpu@5min --bg")

    assert asked.instead == parsed("a100_3g.20gb, cpu@5min") and asked.background
    assert asked.target == parse_cell("--gpu 1").target  # the same worker as without


def test_a_step_without_a_time_is_due_when_slurm_has_looked_and_found_no_room(clock):
    plan = Plan(parsed("cpu"))

    assert plan.due(None) is None and plan.due(QUEUED) is None
    clock.now += 2.1
    assert plan.due(NEW) is None
    assert plan.due(STARTING) is None
    assert plan.due(QUEUED) == Step("cpu", None, "cpu")
    assert plan.due(QUEUED) is None and plan.look_in() is None


def test_a_step_with_a_time_is_due_then_whatever_slurm_says_unless_its_job_runs(clock):
    plan = Plan(parsed("cpu@5min"))

    clock.now += 299
    assert plan.due(QUEUED) is None and plan.look_in() == pytest.approx(1)
    clock.now += 2
    assert plan.due(STARTING) is None
    assert plan.due(NEW) == Step("cpu", 300, "cpu@5min")


def test_the_next_step_comes_when_what_was_asked_for_instead_waits_too(clock):
    plan = Plan(parsed("a100, cpu"))

    clock.now += 3
    assert plan.due(QUEUED).what == "a100"
    assert plan.due(QUEUED) is None
    clock.now += 3
    assert plan.due(QUEUED).what == "cpu"


def test_a_task_that_does_not_wait_stays_what_it_is_and_one_with_a_name_has_no_policy(home):
    done = home.run("""
        import pounce
        with pounce.Client(launcher="local") as client:
            future = client.options(wait_policy="cancel@1h").submit(pow, 2, 10)
            report(result=future.result(), moved=future.move(cpus=2), choices=future.choices())
            for wrong in (lambda: client.options(name="one", wait_policy="cpu").submit(pow, 2, 10), lambda: future.move(name="x")):
                try:
                    wrong()
                except pounce.BadRequest as error:
                    report(**{error.text.split()[0]: error.text})
    """)

    assert done.reports["result"] == 1024 and done.reports["moved"] is False and done.reports["choices"] == []
    assert "waits without this kernel" in done.reports["a"] and "is no resource" in done.reports["move"]


def test_a_task_that_waits_for_a_busy_worker_moves_to_one_of_its_own(home):
    done = home.run("""
        import pounce, os, time
        def hold(flag):
            while not os.path.exists(flag):
                time.sleep(0.02)
        with pounce.Client(launcher="local") as client:
            first = client.submit(hold, "flag")
            while not first.running():
                time.sleep(0.02)
            by_hand = client.submit(pow, 2, 9)
            assert by_hand.lease.id == first.lease.id
            report(moved=by_hand.move(cpus=2), nine=by_hand.result(60), leases=len(client.leases()))
            open("flag", "w").close()
    """)

    assert done.reports["moved"] is True and done.reports["nine"] == 512 and done.reports["leases"] == 2
