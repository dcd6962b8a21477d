"""The real pounce-worker at its end: the time that its interpreter has to save, and the signals that do not cut it short."""

from __future__ import annotations

import os
import signal
import sys
import time

from pathlib import Path

import cloudpickle
import idle_world
import pytest
from fake_daemon import LEASE, FakeDaemon, RealWorker, pack
from idle_world import IdleWorld, told

for module in (sys.modules[__name__], idle_world):
    cloudpickle.register_pickle_by_value(module)  # as a notebook's functions: these files are not on the workers

SAVES_S = 4.5  # longer than any other may take to leave


@pytest.fixture
def world(tmp_path, request):
    world = IdleWorld(tmp_path, *getattr(request, "param", ()))
    yield world
    world.close()


def until_wanted():
    import time

    from pounce._worker import interpreter

    open("in_idle", "w").close()
    while not interpreter.core.wanted():
        time.sleep(0.001)


def saves():
    import time

    time.sleep(SAVES_S)
    print("all is saved", flush=True)


def hangs():
    import time

    time.sleep(600)


def interpreter_of(world) -> int:
    return world.client.result(world.client.submit(os.getpid))


# ---- its time --------------------------------------------------------------------------------------------------------


def test_an_interpreter_that_idles_hears_of_the_end_and_leaves(world):
    world.between(until_wanted, lambda: print("serve() returned", flush=True))
    world.in_idle()
    world.order_end()
    world.gone()

    assert "serve() returned" in world.log()
    assert world.daemon.all("interpreter_down") == []


@pytest.mark.parametrize("only_if_idle", [False, True])
def test_an_interpreter_that_saves_has_time_to_leave(world, only_if_idle):
    world.between(lambda: None, told("saving", then=saves))
    world.order_end(only_if_idle)
    world.gone()

    assert "all is saved" in world.log()
    assert not any(down["error"]["code"] == "worker_crashed" for down in world.daemon.all("interpreter_down"))
    assert world.worker.process.returncode == 0


def test_what_it_saves_while_it_leaves_makes_the_lease_no_busy_one(world):
    world.between(lambda: None, told("saving", then=saves))
    world.order_end(only_if_idle=True)
    world.says("saving")

    assert world.daemon.all("worker_beat")[-1]["running"] == 0
    world.gone()


@pytest.mark.parametrize("world", [("--leave-s", "4")], indirect=True)
def test_an_interpreter_that_saves_for_ever_is_ended_after_its_time(world):
    world.between(lambda: None, told("saving", then=hangs))
    start = time.monotonic()
    world.order_end()
    world.gone()

    assert 4 <= time.monotonic() - start < 10


def test_an_interpreter_that_leaves_without_saving_has_no_more_time_than_before(world):
    world.between(lambda: None, told("unsaved", then=hangs))
    start = time.monotonic()
    world.order_end()
    world.gone()

    assert time.monotonic() - start < 6


# Its cancel came when nothing could be cancelled any more: it would have struck what saves.
def test_no_cancel_strikes_what_the_interpreter_does_at_the_end(world):
    world.between(lambda: None, told("saving", then=saves))
    task = world.client.submit(lambda: print("here", flush=True) or __import__("time").sleep(600))
    world.client.wait(lambda: world.client.printed(task) == "here\n", "the task's start")
    world.order_end()
    world.says("saving")
    world.client.say(pack("cancel_task", task=task, grace_ms=0))
    world.gone()

    assert "all is saved" in world.log()


# ---- only if it is idle ----------------------------------------------------------------------------------------------


# What was on its way to it as it left could not be told from what had begun there.
def test_one_that_leaves_idle_tells_what_it_had_started_before_its_farewell(world):
    task = world.client.submit(lambda: "a result")
    world.client.result(task)
    world.client.acknowledge(task)
    world.order_end(only_if_idle=True)
    world.gone()

    (down,) = world.daemon.all("interpreter_down")
    assert (down["error"]["code"], down["error"]["cause"]["code"]) == ("lease_ended", "idle")
    assert down["started"] == [] and down["error"].get("context", {}) == {}
    assert not down["restarting"]
    kinds = [message["type"] for message in world.daemon.heard if message["type"] == "interpreter_down" or message.get("leaving")]
    assert kinds[0] == "interpreter_down"


# A large result takes a while: it was lost with its worker.
def test_one_whose_outcome_is_on_its_way_stays_until_that_has_arrived(world):
    task = world.client.submit(lambda: "a result")
    world.client.result(task)
    world.order_end(only_if_idle=True)
    world.daemon.wait(lambda: world.running() == 1, "a beat of one that stays")
    world.client.acknowledge(task)
    world.daemon.wait(lambda: world.running() == 0, "a beat of one that is idle")

    assert world.client.result(world.client.submit(lambda: "alive")) == "alive"


# The supervisor took it for the answer, and the end for a crash.
def test_a_task_that_is_over_is_no_answer_to_the_question(tmp_path):
    (tmp_path / "state").mkdir()
    daemon = FakeDaemon(tmp_path / "state")
    worker = RealWorker(daemon, tmp_path, interpreter=(sys.executable, str(Path(__file__).parent / "hasty_interpreter.py")))
    try:
        daemon.ready()
        daemon.say(pack("end_worker", lease=LEASE, cause={"code": "idle"}, only_if_idle=True))
        daemon.wait(lambda: worker.process.poll() is not None, "the end of the worker")

        assert [down["error"]["code"] for down in daemon.all("interpreter_down")] == ["lease_ended"]
        assert not any(beat["running"] for beat in daemon.all("worker_beat"))
    finally:
        worker.stop()
        daemon.close()


# ---- SIGTERM ---------------------------------------------------------------------------------------------------------


# Slurm sends it to every process of the job.
def test_a_sigterm_to_all_processes_leaves_the_time_to_save(world):
    pid = interpreter_of(world)
    world.between(lambda: None, told("saving", then=saves))
    os.kill(pid, signal.SIGTERM)
    world.worker.process.send_signal(signal.SIGTERM)
    world.gone()

    assert "all is saved" in world.log()


def test_a_sigterm_of_a_stranger_ends_no_interpreter(world):
    os.kill(interpreter_of(world), signal.SIGTERM)

    assert world.client.result(world.client.submit(lambda: "alive")) == "alive"


def test_a_sigterm_that_user_code_sends_to_its_own_process_ends_it(world):
    world.client.submit(lambda: __import__("os").kill(__import__("os").getpid(), 15))

    assert world.daemon.wait_for("interpreter_down")["error"]["context"]["signal_name"] == "SIGTERM"


def test_a_forked_child_is_ended_by_sigterm(world):
    def terminated():
        import multiprocessing
        import time

        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,))
        child.start()
        child.terminate()
        child.join()
        return child.exitcode

    assert world.client.result(world.client.submit(terminated)) == -signal.SIGTERM


def test_a_program_that_user_code_starts_has_the_default_sigterm(world):
    def terminated():
        import subprocess

        child = subprocess.Popen(["sleep", "600"])
        child.terminate()
        return child.wait()

    assert world.client.result(world.client.submit(terminated)) == -signal.SIGTERM


def test_a_users_own_handler_of_sigterm_takes_the_place_of_ours(world):
    def handled():
        import os
        import signal
        import time

        heard = []
        signal.signal(signal.SIGTERM, lambda *_: heard.append("own"))
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0)
        return heard

    assert world.client.result(world.client.submit(handled)) == ["own"]
