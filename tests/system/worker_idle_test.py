"""The real pounce-worker between two tasks: what its interpreter does there, and what it tells of its variables."""

from __future__ import annotations

import sys

import cloudpickle
import idle_world
import pytest
from fake_daemon import pack
from idle_world import IdleWorld, told

for module in (sys.modules[__name__], idle_world):
    cloudpickle.register_pickle_by_value(module)  # as a notebook's functions: these files are not on the workers


@pytest.fixture
def world(tmp_path):
    world = IdleWorld(tmp_path)
    yield world
    world.close()


def note():
    import builtins

    builtins.calls.append("idle")


def until_wanted():
    import builtins
    import time

    from pounce._worker import interpreter

    open("in_idle", "w").close()
    while not interpreter.core.wanted():
        time.sleep(0.001)
    builtins.calls.append("wanted")


# ---- when it is called -----------------------------------------------------------------------------------------------


def test_idle_is_called_once_after_each_task(world):
    world.between(note)

    assert world.calls() == ["idle"]
    assert world.calls() == ["idle", "idle"]


def test_idle_is_called_after_each_task_also_where_another_waits(world, tmp_path):
    def held(gate):
        import os
        import time

        while not os.path.exists(gate):
            time.sleep(0.001)

    world.between(note)
    world.client.submit(held, str(tmp_path / "gate"))
    tasks = [world.client.submit(lambda: list(__import__("builtins").calls)) for _ in range(3)]
    world.client.wait_for("started")
    (tmp_path / "gate").touch()

    assert [len(world.client.result(task)) for task in tasks] == [2, 3, 4]  # after the one that set it, the held one, and each of these


def test_a_task_that_comes_while_idle_runs_is_said_to_wait_and_starts_when_it_returns(world):
    world.between(until_wanted)
    world.in_idle()

    assert world.calls() == ["wanted"]


def test_idle_is_called_again_after_as_many_seconds_as_it_said(world):
    def three_times():
        import builtins

        builtins.calls.append("idle")
        if len(builtins.calls) == 3:
            open("in_idle", "w").close()
        return 0.01 if len(builtins.calls) < 3 else None

    world.between(three_times)
    world.in_idle()

    assert world.calls() == ["idle"] * 3


def test_a_task_comes_before_the_next_call_and_drops_its_time(world):
    def much_later():
        import builtins

        builtins.calls.append("idle")
        return 600

    world.between(much_later)

    assert world.calls() == ["idle"]
    assert world.calls() == ["idle", "idle"]


@pytest.mark.parametrize("bad", ["1 / 0", "'soon'", "exit()", "float('nan')"])
def test_an_idle_that_raises_or_answers_nonsense_ends_no_worker(world, bad):
    world.between(lambda: eval(bad))

    assert world.client.result(world.client.submit(lambda: "alive")) == "alive"
    assert world.daemon.all("interpreter_down") == []


def test_what_idle_raises_stands_in_the_leases_log(world):
    world.between(lambda: 1 / 0)
    world.client.result(world.client.submit(lambda: "alive"))

    assert "ZeroDivisionError" in world.log()


def test_a_cancel_of_a_task_that_waits_does_not_interrupt_idle(world, tmp_path):
    def until_the_gate(gate):
        import builtins
        import os
        import time

        open("in_idle", "w").close()
        while not os.path.exists(gate):
            time.sleep(0.001)
        builtins.calls.append("undisturbed")

    gate = str(tmp_path / "gate")
    world.between(lambda: until_the_gate(gate))
    world.in_idle()
    task = world.client.submit(lambda: "never")
    world.client.say(pack("cancel_task", task=task, grace_ms=5000))
    world.client.outcome(task)
    (tmp_path / "gate").touch()

    assert world.calls() == ["undisturbed"]


# ---- what it tells of its variables ----------------------------------------------------------------------------------


def test_each_change_of_its_state_is_told_at_once(world):
    world.between(told("saving", "unsaved", "saving", "saved"))
    world.daemon.wait(lambda: "unsaved" in world.states() and world.states()[-1] == "saved", "the last state")

    assert world.states()[-4:] == ["saving", "unsaved", "saving", "saved"]  # perhaps a beat came before


def test_a_worker_that_saves_is_busy(world):
    world.between(told("saving"))
    world.says("saving")

    assert world.daemon.all("worker_beat")[-1]["running"] == 1


def test_a_worker_that_saves_stays_when_asked_to_leave_if_idle_and_says_so(world):
    world.between(told("saving"))
    world.says("saving")
    heard = len(world.daemon.all("worker_beat"))
    world.order_end(only_if_idle=True)
    world.daemon.wait(lambda: len(world.daemon.all("worker_beat")) > heard, "a beat")

    assert world.client.result(world.client.submit(lambda: "alive")) == "alive"
    assert not any(beat["leaving"] for beat in world.daemon.all("worker_beat"))


def test_a_word_that_is_no_state_is_refused(world):
    def wrong():
        from pounce._worker import interpreter

        interpreter.core.tell_state("parked")

    error = world.client.error(world.client.submit(wrong))

    assert error["text"] == "ValueError: not a state of the variables: parked"


def test_the_next_interpreter_has_saved_all_that_it_has(world):
    world.between(told("unsaved"))
    world.says("unsaved")
    world.client.submit(lambda: __import__("os")._exit(3))
    world.again(1)

    world.says("saved")
