"""A worker's GPUs, by a library that stands in for their driver's: what its supervisor tells of them, whom it refuses, and when it ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import cloudpickle
import pytest
from fake_daemon import FakeDaemon, RealWorker
from worker_world import SLURM, World

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from fake_driver import FakeDriver

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # this file is not on the workers

ONE = {**SLURM, "SLURM_JOB_GPUS": "1", "CUDA_VISIBLE_DEVICES": "1"}


@pytest.fixture
def driver(tmp_path) -> FakeDriver:
    return FakeDriver(tmp_path)


@pytest.fixture
def start(tmp_path, driver):
    """A world of these variables, whose worker has that driver."""
    worlds = []

    def start(*options: str, **variables):
        worlds.append(World(tmp_path, *options, **{**SLURM, **driver.environment, **variables}))
        return worlds[-1]

    yield start
    for world in worlds:
        world.close()


@pytest.fixture
def refused(tmp_path, driver):
    """What a supervisor says whose worker is let near nobody, and its exit status."""
    (tmp_path / "state").mkdir()
    daemon = FakeDaemon(tmp_path / "state")
    workers = []

    def refused(**more) -> dict:
        workers.append(RealWorker(daemon, tmp_path, **{**SLURM, **driver.environment, **more}))
        down = daemon.wait_for("interpreter_down")
        daemon.wait(lambda: workers[-1].process.poll() is not None, "the end of the worker")
        assert workers[-1].process.returncode == 0
        assert not [up for up in daemon.all("interpreter_up") + daemon.all("worker_up") if up.get("interpreter_ready", True)]
        return down

    yield refused
    for worker in workers:
        worker.stop()
    daemon.close()


def pause(gate: str) -> str:
    import os
    import time

    open(gate, "w").close()
    while os.path.exists(gate):
        time.sleep(0.01)
    return "gone on"


def begin(world, folder: Path) -> tuple[str, Path]:
    """A task that runs until its file is removed."""
    gate = folder / "gate"
    task = world.client.submit(pause, str(gate))
    world.client.wait(gate.exists, "the task")
    return task, gate


def test_what_the_driver_tells_is_told(start):
    told = start().daemon.wait_for("worker_gpus")

    first, second = told["gpus"]
    assert (told["node"], told["gpu_direct_storage"]) == ("g9", "yes" if os.path.exists("/proc/driver/nvidia-fs") else "no")
    assert (first["uuid"], first["model"], first["driver"], first["memory_mib"]) == ("GPU-first", "Fake GPU", "580.65.06", 80 * 1024)
    assert (first["numa_node"], first["nvlink"], first["uncorrected_errors"]) == (1, ["GPU-second"], 0)
    assert (second["uuid"], second["uncorrected_errors"]) == ("GPU-second", 2)


def test_what_a_task_did_on_the_gpus_is_told_when_it_has_ended(start, tmp_path):
    world = start(**ONE)
    task, gate = begin(world, tmp_path)
    beats = world.daemon.all("worker_beat")
    world.daemon.wait_for("worker_beat", len(beats) + 12)  # more than two seconds: the supervisor has seen what runs, and its GPU since
    gate.unlink()

    told = world.daemon.wait(lambda: [one for one in world.daemon.all("worker_gpus") if one.get("tasks")], "its use")[-1]

    assert told["tasks"] == [{"task": task, "gpu_percent": 30, "gpu_memory_peak_mib": 5 * 1024}]


def test_a_gpu_that_falls_off_ends_the_worker_and_its_task(start, driver, tmp_path):
    world = start()
    task, _ = begin(world, tmp_path)

    driver.report(1, 79)

    down = world.daemon.wait_for("interpreter_down")
    assert (down["error"]["code"], down["restarting"]) == ("device_failed", False)
    context = down["error"]["context"]
    assert (context["gpu"], context["xid"], context["node"], context["running"]) == ("GPU-second", "79", "g9", task)
    assert "Xid 79" in down["error"]["text"]
    before = world.daemon.heard[:world.daemon.heard.index(down)]
    told = [message for message in before if message["type"] == "worker_gpus"][-1]  # so that the next lease is asked for elsewhere
    assert ["failed" in gpu for gpu in told["gpus"]] == [False, True]
    world.daemon.wait(lambda: world.worker.process.poll() is not None, "the end of the worker")
    assert world.worker.process.returncode == 0 and world.worker.tree() == []


def test_a_gpu_that_is_gone_ends_a_worker_without_a_task_too(start, driver):
    world = start()
    driver.lose(0)
    assert world.daemon.wait_for("interpreter_down")["error"]["context"]["gpu"] == "GPU-first"


def test_what_a_program_did_wrong_ends_nothing(start, driver, tmp_path):
    world = start()
    task, gate = begin(world, tmp_path)
    driver.report(0, 31)
    world.daemon.wait(lambda: not (driver.folder / "xid-0").exists(), "the driver's report")
    gate.unlink()
    assert world.client.result(task) == "gone on"
    assert world.daemon.all("interpreter_down") == []


def wrapped(folder: Path, line: str) -> tuple[str, ...]:
    """An interpreter that a site's script starts."""
    script = folder / "python"
    script.write_text(f'#!/bin/sh\n{line}\nexec {sys.executable} "$@"\n')
    script.chmod(0o755)
    return (str(script),)


@pytest.mark.parametrize("line, words", [
    ("export CUDA_VISIBLE_DEVICES=0", "GPU-first is not in it"), ("unset CUDA_VISIBLE_DEVICES", "GPU-first is not in it"),
    ("export CUDA_VISIBLE_DEVICES=", "GPU-second is not seen")])
def test_an_interpreter_that_sees_other_gpus_is_let_near_nobody(refused, tmp_path, line, words):
    down = refused(**ONE, interpreter=wrapped(tmp_path, line))
    assert (down["error"]["code"], down["restarting"]) == ("device_unavailable", False)
    assert words in down["error"]["text"] and down["error"]["context"]["node"] == "g9"


def test_one_that_names_the_same_gpus_otherwise_serves(start, tmp_path):
    world = start(interpreter=wrapped(tmp_path, "export CUDA_VISIBLE_DEVICES=1,0"))
    assert world.client.result(world.client.submit(pow, 2, 3)) == 8


def test_each_of_several_workers_has_its_own_of_a_job_whose_gpus_count_from_nought(start):
    daemon = start(SLURM_JOB_GPUS="2,3", CUDA_VISIBLE_DEVICES="0,1", workers=2).daemon
    daemon.wait_for("worker_gpus", 2)
    told = {one["worker"]: [gpu["uuid"] for gpu in one["gpus"]] for one in daemon.all("worker_gpus")}
    assert told == {0: ["GPU-first"], 1: ["GPU-second"]} and daemon.all("interpreter_down") == []


def test_a_gpu_that_was_gone_before_ends_the_worker(refused, driver):
    driver.lose(1)
    error = refused(**ONE)["error"]
    assert (error["code"], error["context"]["gpu"]) == ("device_failed", "1")


def test_gpus_that_slurm_did_not_give_refuse_the_worker_before_it_starts(refused):
    down = refused(SLURM_JOB_GPUS="1", CUDA_VISIBLE_DEVICES="0,1")
    assert (down["error"]["code"], down["restarting"]) == ("device_unavailable", False)
    assert "(0,1)" in down["error"]["text"] and "(1)" in down["error"]["text"]


@pytest.mark.parametrize("trouble", ["no driver", "a driver that hangs"])
@pytest.mark.parametrize("line", ["", "export CUDA_VISIBLE_DEVICES=0"])
def test_where_nothing_is_known_nothing_is_refused(start, driver, tmp_path, trouble, line):
    if trouble == "no driver":
        (driver.folder / "libnvidia-ml.so.1").unlink()
    else:
        driver.hang()
    world = start(**ONE, interpreter=wrapped(tmp_path, line))
    assert world.client.result(world.client.submit(pow, 2, 3)) == 8
    assert world.daemon.all("worker_gpus") == []
    world.end()
