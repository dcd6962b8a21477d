"""A GPU that fails under a task, end to end: by a library that stands in for the driver's, in a job that is made of its variables alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from fake_driver import FakeDriver

JOB = {"SLURM_JOB_ID": "7", "SLURMD_NODENAME": "g1", "SLURM_CPUS_ON_NODE": "1", "SLURM_MEM_PER_NODE": "4096", "SLURM_JOB_NUM_NODES": "1",
       "CUDA_VISIBLE_DEVICES": "0,1"}

# The first run of the task breaks the GPU that it has; a second one finds the file.
PROGRAM = """
        client = pounce.Client(here=True, gpus=1)
        def work(folder):
            import os, time
            gpu = os.environ["CUDA_VISIBLE_DEVICES"]
            if os.path.exists(f"{folder}/ran"):
                return gpu
            open(f"{folder}/ran", "w").close()
            with open(f"{folder}/new", "w") as file:
                file.write("79")
            os.rename(f"{folder}/new", f"{folder}/xid-{gpu}")
            while True:
                time.sleep(0.05)
"""


@pytest.fixture
def driver(home) -> FakeDriver:
    driver = FakeDriver(home.folder)
    home.environment.update(JOB, **driver.environment)
    home.config.unlink()
    del home.environment["POUNCE_CONFIG"]
    return driver


def ctl(home, *words: str) -> str:
    program = shutil.which("pouncectl", path=os.environ.get("POUNCE_PROGRAMS") or sysconfig.get_path("scripts"))
    done = subprocess.run([program, *words], env=home.environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def test_a_task_with_retries_goes_on_with_another_lease(home, driver):
    reports = home.run(PROGRAM + f"""
        report(gpu=client.submit(work, {str(driver.folder)!r}, retries=1).result(60))
        client.close()
    """).reports
    assert reports["gpu"] == "1"  # the first had GPU 0, which nobody gets any more


def test_a_task_without_retries_ends_with_what_failed_and_the_node_is_told(home, driver):
    script = home.start(PROGRAM + f"""
        report(error=error_of(client.submit(work, {str(driver.folder)!r}).result))
        report(after=client.submit(pow, 2, 3).result(60))
        signal.pause()
    """).until(lambda script: "after" in script.reports, "the next call")
    error = script.reports["error"]
    assert error["type"] == "DeviceFailed" and "Xid 79" in error["text"], error
    assert error["context"]["gpu"] in ("GPU-first", "GPU-second") and error["context"]["xid"] == "79"

    (node,) = json.loads(ctl(home, "nodes", "--json"))["nodes"]
    assert node["node"] and node["avoided_until_s"] > 0 and "Xid 79" in node["trouble"] and node["slurm"] is None
    assert "is avoided for another" in ctl(home, "status")
    assert "avoided" in ctl(home, "nodes")
    script.process.kill()


def test_a_report_tells_of_the_gpus_and_of_each_task(home, driver):
    reports = home.run("""
        client = pounce.Client(here=True, gpus=1)
        def work():
            import time
            time.sleep(2.5)
        future = client.submit(work)
        future.result(60)
        (lease,) = client.leases()
        deadline = time.monotonic() + 20
        while not ((one := lease.report()) and one.tasks) and time.monotonic() < deadline:
            time.sleep(0.05)
        report(gpus=one.gpus, tasks=one.tasks, id=future.id)
        client.close()
    """).reports
    (gpu,) = reports["gpus"]
    assert gpu[:3] == ["GPU-first", "Fake GPU", ""] and gpu[3] == 80 * 1024
    assert reports["tasks"] == [[reports["id"], 0.9, 3 * 1024]]
