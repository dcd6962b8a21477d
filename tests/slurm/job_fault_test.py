"""A job that somebody or something ends: the user is told by whom, and quickly."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from datetime import datetime
from pathlib import Path

from faults import AGAIN, HeldTask, assert_told, measured
from login_node import CLUSTER

LOOKS, LOOK_S = 4, 0.5  # a quarter of poll_min_s: how often pounced asks Slurm after a worker's connection is lost; one is enough here


def as_admin(*words: str) -> None:
    subprocess.run([str(CLUSTER), "run", "--", *words], check=True, stdout=subprocess.DEVNULL)


def test_a_scancel_is_told_at_once(make_user):
    task = HeldTask(make_user())

    start = time.time()
    task.who.run("scancel", task.job()["id"])

    assert_told(task.error(), "JobCancelled", "cancelled")
    measured("scancel until JobCancelled", task.run.reported("told_at") - start)


def test_a_killed_worker_is_told_at_once_and_started_again(make_user):
    task = HeldTask(make_user(), after=AGAIN)
    pid = task.run.reported("worker")

    start = time.time()
    os.kill(pid, signal.SIGKILL)

    assert_told(task.error(), "WorkerCrashed", "SIGKILL")
    assert task.run.reported("again") == 32
    measured("SIGKILL of the worker until WorkerCrashed", task.run.reported("told_at") - start)


def end_in_slurm(cluster: int, job: str) -> float:
    """When slurmctld has heard that the job is over, by its own log, which has milliseconds."""
    env = {**os.environ, "POUNCE_CLUSTER_ID": str(cluster)}
    status = subprocess.run([str(CLUSTER), "status", "--json"], env=env, capture_output=True, text=True, check=True).stdout
    log = Path(json.loads(status)["dir"], "log", "slurmctld.log").read_text()
    (stamp,) = re.findall(rf"^\[([^]]+)\] _job_complete: JobId={job} WTERMSIG", log, re.M)
    return datetime.fromisoformat(stamp).timestamp()


def test_a_killed_supervisor_is_told_with_slurms_word_for_it(make_user):
    """It was noticed after 12 s, and its user told that the worker is unreachable, though Slurm knew the end after one."""
    task = HeldTask(make_user())
    stat = Path(f"/proc/{task.run.reported('worker')}/stat").read_text()
    supervisor, job = int(stat.rpartition(")")[2].split()[1]), task.job()["id"]

    start = time.time()
    os.kill(supervisor, signal.SIGKILL)

    assert_told(task.error(), "LeaseEnded", "signal 9")
    assert "unreachable" not in task.run.output
    told, end = task.run.reported("told_at"), end_in_slurm(task.who.node.cluster_id, job)
    measured("SIGKILL of the supervisor until LeaseEnded", told - start)
    measured("the job's end in Slurm until LeaseEnded", told - end)
    assert told - end < LOOKS * LOOK_S


def test_a_requeue_by_the_admin_ends_the_task_and_leaves_no_job(make_user):
    task = HeldTask(make_user(idle_release_s=2))
    job = task.job()["id"]

    as_admin("scontrol", "update", f"jobid={job}", "requeue=1")
    start = time.time()
    as_admin("scontrol", "requeue", job)

    error = task.error()
    assert_told(error, error["type"])
    assert error["type"] in ("LeaseEnded", "JobCancelled"), error
    measured(f"scontrol requeue until {error['type']}: {error['text']}", task.run.reported("told_at") - start)


def test_a_job_that_reaches_its_walltime_says_so(make_user):
    task = HeldTask(make_user(), options="time=1")

    assert_told(task.error(180), "WalltimeReached", "time limit")
