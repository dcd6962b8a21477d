"""The real pounce-worker: deaths of its interpreter, forks, the end, and nobody there."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import cloudpickle
import pytest
from fake_daemon import LEASE, FakeClient, FakeDaemon, RealWorker, in_its_run, pack
from worker_world import MIB, World

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as a notebook's functions: this file is not on the workers


# ---- death and restart ----------------------------------------------------------------------------------------------


# A client that had not heard of the requeue took the new interpreter for the dead one that it knew (simulator, seed 1441).
def test_an_interpreter_of_a_requeued_job_comes_after_all_of_the_run_before(client):
    up = client.daemon.ready()

    assert up["epoch"] == 2_000_000  # SLURM_RESTART_COUNT is 2


def crash(world, function, epoch: int = 0) -> dict:
    task = world.client.submit(function)
    down = world.daemon.wait_for("interpreter_down", epoch + 1)
    assert down["restarting"] and in_its_run(down["epoch"]) == epoch
    assert down["error"]["context"]["running"] == task
    return down["error"]


def test_each_kind_of_death_is_told_and_the_interpreter_comes_back(world):
    def leave():
        import os

        print("last words")
        os._exit(3)

    error = crash(world, leave)
    assert (error["code"], error["context"]["exit_code"]) == ("worker_crashed", "3")
    assert error["context"]["last_lines"].endswith("last words")

    world.again(1)
    error = crash(world, lambda: __import__("os").kill(__import__("os").getpid(), 9), 1)
    assert (error["code"], error["context"]["signal"], error["context"]["signal_name"]) == ("worker_crashed", "9", "SIGKILL")

    world.again(2)
    error = crash(world, lambda: __import__("ctypes").string_at(0), 2)
    assert error["context"]["signal_name"] == "SIGSEGV"
    assert "Segmentation fault" in error["context"]["last_lines"] and "string_at" in error["context"]["last_lines"]

    client = world.again(3)
    assert client.result(client.submit(lambda: "alive")) == "alive"


# One that printed 150 MB filled the home with its log.
def test_a_task_that_prints_much_leaves_a_bounded_log_and_its_last_words(world):
    def shout():
        import os

        for _ in range(20):
            os.write(1, (b"x" * 99 + b"\n") * 10_000)
        print("last words")
        os._exit(3)

    error = crash(world, shout)

    assert error["context"]["last_lines"].endswith("x\nlast words")
    assert world.worker.log.stat().st_size < 10 * MIB


def test_a_crash_report_tells_started_tasks_from_those_that_never_started(world):
    done = world.client.submit(lambda: "done")
    world.client.outcome(done)
    acknowledged = world.client.submit(lambda: "acknowledged")
    world.client.outcome(acknowledged)
    world.client.say(pack("ack", tasks=[acknowledged]))
    world.client.outcome(done)
    gate = world.client.submit(lambda: __import__("time").sleep(600))
    world.client.wait_for("started", task=gate)
    waiting = world.client.submit(lambda: "never")
    world.client.say(pack("query", tasks=[waiting]))
    world.client.wait_for("query_is")
    pid = world.client.all("attached")[0][0]["pid"]
    os.kill(pid, signal.SIGKILL)
    down = world.daemon.wait_for("interpreter_down")
    assert down["error"]["context"]["running"] == gate
    assert set(down["started"]) == {done, gate}


def test_an_admitted_client_is_introduced_to_the_next_interpreter_too(world):
    session, key = world.client.session, world.client.key
    crash(world, lambda: __import__("os")._exit(1))
    up = world.daemon.ready(1)
    again = FakeClient.__new__(FakeClient)
    again.daemon, again.session, again.key, again.heard = world.daemon, session, key, []
    again.connect(up["endpoint"], up["key"])
    assert again.result(again.submit(lambda: 5)) == 5


def test_helpers_of_a_dead_interpreter_are_ended_before_the_next_starts(world):
    def spawn_and_leave():
        import os
        import subprocess

        print(subprocess.Popen(["sleep", "600"], start_new_session=True).pid, flush=True)
        os._exit(1)

    error = crash(world, spawn_and_leave)
    helper = int(error["context"]["last_lines"].split()[-1])
    world.daemon.ready(1)
    assert helper not in world.worker.tree()
    assert not _runs(helper)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_an_interpreter_that_cannot_start_ends_the_job_and_says_why(tmp_path):
    (tmp_path / "state").mkdir()
    daemon = FakeDaemon(tmp_path / "state")
    worker = RealWorker(daemon, tmp_path, interpreter=["/bin/sh", "-c", "echo no such environment >&2; exit 7", "sh"])
    try:
        daemon.wait(lambda: worker.process.poll() is not None, "the end")
        downs = daemon.all("interpreter_down")
        assert [down["restarting"] for down in downs] == [True] * (len(downs) - 1) + [False]
        assert downs[-1]["error"]["cause"]["code"] == "did_not_start"
        assert downs[-1]["error"]["context"]["exit_code"] == "7"
        assert "no such environment" in downs[-1]["error"]["context"]["last_lines"]
    finally:
        worker.stop()
        daemon.close()


def test_an_interpreter_that_is_not_there_ends_the_job_at_once_and_says_which(tmp_path):
    (tmp_path / "state").mkdir()
    daemon = FakeDaemon(tmp_path / "state")
    worker = RealWorker(daemon, tmp_path, interpreter=["/nowhere/python"])
    try:
        daemon.wait(lambda: worker.process.poll() is not None, "the end")
        (down,) = daemon.all("interpreter_down")
        assert not down["restarting"]
        cause = down["error"]["cause"]
        assert cause["code"] == "did_not_start" and cause["said"].startswith("/nowhere/python")
        assert down["error"]["context"]["exit_code"] == "127"
        assert "No such file or directory" in down["error"]["context"]["last_lines"]
    finally:
        worker.stop()
        daemon.close()


# ---- fork -----------------------------------------------------------------------------------------------------------


def test_a_forked_child_that_returns_from_the_function_answers_nothing(client):
    def fork():
        import os

        child = os.fork()
        if child:
            os.waitpid(child, 0)
        return "parent" if child else "child"

    task = client.submit(fork)
    assert client.result(task) == "parent"
    assert client.result(client.submit(lambda: "next")) == "next"
    assert len(client.all("outcome", task=task)) == 1


def test_multiprocessing_works_and_its_children_print(client):
    def pool():
        import multiprocessing

        with multiprocessing.get_context("fork").Pool(3) as pool:
            return pool.map(abs, range(-5, 0))

    def child_prints():
        import multiprocessing

        child = multiprocessing.get_context("fork").Process(target=print, args=("from the child",))
        child.start()
        child.join()
        return child.exitcode

    assert client.result(client.submit(pool)) == [5, 4, 3, 2, 1]
    task = client.submit(child_prints)
    assert client.result(task) == 0
    assert client.printed(task) == "from the child\n"


EPOCHS = 200 if os.environ.get("POUNCE_LONG_RUN") else 40  # of four forks each, while another thread prints


def test_many_epochs_of_a_data_loader_with_four_workers_under_load(client):
    pytest.importorskip("torch")

    def epochs(count):
        import threading

        import torch
        from torch.utils.data import DataLoader, TensorDataset

        over = threading.Event()
        load = threading.Thread(target=lambda: [print("load") for _ in iter(lambda: over.wait(0.0005), True)])
        load.start()
        try:
            loader = DataLoader(TensorDataset(torch.arange(8.0)), batch_size=8, num_workers=4)
            return sum(float(batch.sum()) for _ in range(count) for (batch,) in loader)
        finally:
            over.set()
            load.join()

    task = client.submit(epochs, EPOCHS)
    deadline = time.monotonic() + 240
    while not client.all("outcome", task=task) and time.monotonic() < deadline:
        client.say(pack("beat", answer=False, sent_ns=1, clock_ns=0))
        client.daemon.turn(1)
        client.turn(20)
    assert client.result(task) == EPOCHS * 28.0


# ---- the end, and nobody there --------------------------------------------------------------------------------------


def make_daemon(path) -> int:
    """A grandchild in a session of its own, as a program that daemonises itself."""
    import os
    import time

    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            with open(path, "w") as file:
                file.write(str(os.getpid()))
            os.rename(path, path + ".done")
            time.sleep(600)
        os._exit(0)
    os.wait()
    while not os.path.exists(path + ".done"):
        time.sleep(0.005)
    with open(path + ".done") as file:
        return int(file.read())


def test_the_end_takes_the_whole_process_tree_along(world, tmp_path):
    grandchild = world.client.result(world.client.submit(make_daemon, str(tmp_path / "pid")))
    assert _runs(grandchild) and grandchild in world.worker.tree()
    world.end()
    assert not _runs(grandchild)


def test_an_orderly_end_runs_atexit_and_says_no_crash(world):
    def register():
        import atexit

        atexit.register(print, "atexit ran")

    world.client.outcome(world.client.submit(register))
    world.end()
    assert "atexit ran" in world.worker.log.read_text()
    assert world.daemon.all("interpreter_down") == []


def test_the_end_interrupts_a_task_and_kills_one_that_will_not_stop(world):
    def stubborn():
        import signal
        import time

        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("deaf")
        time.sleep(600)

    task = world.client.submit(stubborn)
    world.client.wait(lambda: world.client.printed(task) == "deaf\n", "its deafness")
    start = time.monotonic()
    world.end()
    assert time.monotonic() - start < 10


def test_a_broken_pipe_does_not_end_the_supervisor(world):
    """A munged that hung up under load ended it, and the lease with it, by SIGPIPE."""
    world.worker.process.send_signal(signal.SIGPIPE)
    assert world.client.result(world.client.submit(lambda: "alive")) == "alive"
    status = world.client.result(world.client.submit(lambda: open("/proc/self/status").read()))
    ignored = int(next(line for line in status.splitlines() if line.startswith("SigIgn")).split()[1], 16)
    assert ignored & 1 << signal.SIGPIPE - 1  # Python's own choice, as in a terminal
    assert world.worker.process.poll() is None


def test_slurms_warning_signals_end_nothing_and_term_ends_all(world):
    world.worker.process.send_signal(signal.SIGUSR1)
    world.worker.process.send_signal(signal.SIGUSR2)
    assert world.client.result(world.client.submit(lambda: "alive")) == "alive"
    world.worker.process.send_signal(signal.SIGTERM)
    world.daemon.wait(lambda: world.worker.process.poll() is not None, "the end")
    assert world.worker.tree() == []


def test_a_task_that_the_end_interrupts_tells_nothing_of_an_interrupt(world):
    """scancel during a task once reached the caller as a KeyboardInterrupt; why the job ended is pounced's to tell."""
    task = world.client.submit(lambda: print("here") or __import__("time").sleep(600))
    world.client.wait(lambda: world.client.printed(task) == "here\n", "the task's start")
    world.worker.process.send_signal(signal.SIGTERM)
    world.client.wait(lambda: world.worker.process.poll() is not None, "the end")
    assert world.client.all("outcome", task=task) == []


def test_an_idle_worker_leaves_when_asked_to_if_it_is_idle(world):
    world.daemon.say(pack("end_worker", lease=LEASE, cause={"code": "idle"}, only_if_idle=True))
    world.daemon.wait(lambda: world.worker.process.poll() is not None, "the end of the worker")
    assert world.worker.process.returncode == 0
    assert [down["error"]["code"] for down in world.daemon.all("interpreter_down")] == ["lease_ended"]


def test_a_worker_with_a_task_stays_when_asked_to_leave_if_idle_and_says_so(world, tmp_path):
    def held(gate):
        import os
        import time
        while not os.path.exists(gate):
            time.sleep(0.01)
        return "done"

    task = world.client.submit(held, str(tmp_path / "gate"))
    world.daemon.wait(lambda: any(beat["running"] for beat in world.daemon.all("worker_beat")), "word of its task")
    said = len(world.daemon.all("worker_beat"))
    world.daemon.say(pack("end_worker", lease=LEASE, cause={"code": "idle"}, only_if_idle=True))
    world.daemon.wait(lambda: any(beat["running"] for beat in world.daemon.all("worker_beat")[said:]), "word of it again")
    (tmp_path / "gate").touch()
    assert world.client.result(task) == "done"
    assert world.client.result(world.client.submit(lambda: "and another")) == "and another"


def test_a_task_that_comes_while_the_worker_ends_is_told_that_it_ends(world, tmp_path):
    def slow_to_end(gate):
        import os
        import time
        print("here")
        try:
            time.sleep(600)
        except KeyboardInterrupt:
            while not os.path.exists(gate):
                time.sleep(0.01)

    first = world.client.submit(slow_to_end, str(tmp_path / "gate"))
    world.client.wait(lambda: world.client.printed(first) == "here\n", "the task's start")
    world.daemon.say(pack("end_worker", lease=LEASE, cause={"code": "idle"}))
    world.client.wait(lambda: "ending" in world.worker.log.read_text(), "the supervisor's end")
    late = world.client.submit(lambda: 1)
    answer, _ = world.client.wait_for("query_is")
    (tmp_path / "gate").touch()
    assert (answer["tasks"], answer["states"]) == ([late], ["ending"])


def test_the_interpreter_dies_with_its_supervisor(world):
    pid = world.client.all("attached")[0][0]["pid"]
    world.worker.process.kill()
    world.worker.process.wait()
    world.daemon.wait(lambda: not _runs(pid), "the interpreter's end")


def test_a_restarted_daemon_is_found_and_hears_of_the_running_interpreter(tmp_path):
    world = World(tmp_path)
    try:
        gate, before = tmp_path / "gate", world.daemon.ready()
        task = world.client.submit(lambda path: [__import__("time").sleep(0.005) for _ in iter(lambda: __import__("os").path.exists(path), True)] and "done", str(gate))
        world.client.wait_for("started", task=task)
        world.daemon.handshake.close()
        world.daemon.control.close()
        successor = FakeDaemon(world.daemon.folder)
        up = successor.wait_for("worker_up")
        assert (up["interpreter_ready"], in_its_run(up["epoch"])) == (True, 0)
        assert (up["endpoint"], up["key"]) == (before["endpoint"], before["key"])
        assert up["clients"] == [world.client.session], "whom only the earlier one knew"
        gate.touch()
        client = world.client
        client.daemon = successor
        assert client.result(task) == "done"
        successor.close()
    finally:
        world.close()


def test_a_worker_believes_no_daemon_that_is_not_its_own_ones_successor(tmp_path):
    """Whoever could write the endpoint file was believed, and ran what they liked as its user."""
    world = World(tmp_path)
    try:
        world.daemon.handshake.close()
        world.daemon.control.close()
        (tmp_path / "elsewhere").mkdir()
        impostor = FakeDaemon(tmp_path / "elsewhere")
        (impostor.folder / "endpoint").rename(world.daemon.folder / "endpoint")
        impostor.wait(lambda: "no other pounced is believed" in world.worker.log.read_text(), "its distrust")
        assert impostor.hellos == []
        successor = FakeDaemon(world.daemon.folder)
        assert successor.wait_for("worker_up")["interpreter_ready"]
        assert impostor.hellos == []
        impostor.close()
        successor.close()
    finally:
        world.close()


def test_the_watchdog_ends_an_idle_job_when_nobody_is_heard(tmp_path):
    world = World(tmp_path, "--watchdog-idle-s", "1", "--watchdog-busy-s", "600")
    try:
        world.client.socket.close()
        world.daemon.answer_beats = False
        world.daemon.wait(lambda: world.worker.process.poll() is not None, "the end")
        assert "neither pounced nor any client" in world.worker.log.read_text()
    finally:
        world.close()


def test_the_watchdog_waits_longer_for_a_running_task(tmp_path):
    world = World(tmp_path, "--watchdog-idle-s", "1", "--watchdog-busy-s", "3")
    try:
        task = world.client.submit(lambda: __import__("time").sleep(600))
        world.client.wait_for("started", task=task)
        world.daemon.wait(lambda: any(beat["running"] for beat in world.daemon.all("worker_beat")), "its activity")
        start = time.monotonic()
        world.client.socket.close()
        world.daemon.answer_beats = False
        world.daemon.wait(lambda: world.worker.process.poll() is not None, "the end")
        assert time.monotonic() - start > 2
    finally:
        world.close()


def test_the_watchdog_sleeps_while_a_client_alone_is_heard(tmp_path):
    world = World(tmp_path, "--watchdog-idle-s", "1", "--watchdog-busy-s", "1")
    try:
        world.daemon.answer_beats = False
        until = time.monotonic() + 4
        while time.monotonic() < until:
            assert world.client.result(world.client.submit(lambda: 1)) == 1
            world.client.turn(50)
        assert world.worker.process.poll() is None
    finally:
        world.close()
