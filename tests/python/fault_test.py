"""Faults and loads that need no Slurm: a job that is ended from outside, an argument of 3 GiB, a hundred thousand calls cancelled at once."""

from __future__ import annotations

import os
import shutil
import sysconfig
import time

import pytest


@pytest.mark.skipif(not os.environ.get("POUNCE_LONG_RUN"),
                    reason="takes 3 GiB, and tests/python/data_test.py sends more than two: tests/run --long runs it")
def test_an_argument_of_three_gibibytes_arrives(home):
    home.run("""
        import numpy
        data = numpy.zeros(3 * 2**30, dtype=numpy.uint8)
        data[::4096] = 1
        client = pounce.Client()
        size, total = client.submit(lambda given: (given.nbytes, int(given[::4096].sum())), data).result(120)
        report(size=size, total=total)
        client.close()
    """, seconds=150)

    assert home_reports(home) == {"size": 3 * 2**30, "total": 3 * 2**30 // 4096}


def home_reports(home) -> dict:
    return home._scripts[-1].reports


def test_a_hundred_thousand_calls_that_wait_are_cancelled_and_all_end(home):
    home.run("""
        client = pounce.Client()
        def hold(flag):
            while not os.path.exists(flag):
                time.sleep(0.01)
            return "held"
        held = client.submit(hold, os.path.abspath("flag"))
        while not held.running():
            time.sleep(0.01)
        futures = [client.submit(pow, 2, 3) for _ in range(100_000)]
        start = time.monotonic()
        client.cancel(futures)
        ended = sum(future.cancelled() for future in futures)
        seconds = time.monotonic() - start
        open("flag", "w").close()
        report(cancelled=ended, seconds=seconds, held=held.result(60), again=client.submit(pow, 2, 5).result(60))
        client.close()
    """, seconds=150)

    reports = home_reports(home)
    print("MEASURED cancel 100 000:", reports["seconds"])
    # The window may have taken a few ahead: those are interrupted or done, the rest never ran.
    assert reports["cancelled"] >= 99_900
    assert reports["held"] == "held" and reports["again"] == 32


def test_a_call_made_at_once_after_its_job_was_cancelled_runs_at_once(home):
    home.run("""
        client = pounce.Client()
        supervisor = client.submit(os.getppid).result(60)
        future = client.submit(time.sleep, 600)
        while not future.running():
            time.sleep(0.01)
        os.kill(supervisor, signal.SIGKILL)  # to the local launcher what scancel is to Slurm
        told = error_of(lambda: future.result(60))
        again = client.submit(pow, 2, 5).result(40)  # no new job for 60 s, but for new calls
        report(told=told, again=again)
        client.close()
    """)

    reports = home_reports(home)
    assert reports["told"]["type"] == "JobCancelled", reports
    assert reports["again"] == 32


def test_a_task_that_comes_with_the_end_of_its_job_runs_on_the_next_worker(home):
    """It was started with the order to end behind it in the same turn, ran nowhere, and ended as lost with the job."""
    run = home.run("""
        import pathlib
        with pounce.Client() as client:
            supervisor, worker = client.submit(lambda: (os.getppid(), os.getpid())).result(60)
            (log,) = pathlib.Path(os.environ["HOME"]).glob(".local/state/pounce/*/*/leases/*.log")
            os.kill(worker, signal.SIGSTOP)
            os.kill(supervisor, signal.SIGTERM)
            while "the batch system ends the job" not in log.read_text():
                time.sleep(0.01)
            call = client.submit(os.getpid)
            os.kill(worker, signal.SIGCONT)
            report(elsewhere=call.result(60) != worker)
    """)

    assert run.reports == {"elsewhere": True}


def test_a_worker_that_stands_still_when_its_lease_is_released_is_ended_and_its_call_runs_elsewhere(home):
    """It may start the call as well, should it wake before its end: that is what `retries=` allows."""
    run = home.run("""
        import subprocess
        def in_file():
            with open("began", "a") as file:
                file.write("once ")
            return os.getpid()
        def lives(pid):
            try:
                return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] not in "ZX"
            except OSError:
                return False
        with pounce.Client() as client:
            worker = client.submit(os.getpid).result(60)
            (lease,) = client.leases()
            os.kill(worker, signal.SIGSTOP)
            call = client.submit(in_file, retries=1)
            while call._session.state(call._task) != "sent":
                time.sleep(0.01)
            subprocess.run([PROGRAM, "release", "--now", lease.id], check=True)
            released = time.monotonic()
            while call._session.state(call._task) != "waiting":  # until its client is told
                time.sleep(0.01)
            client.submit(pow, 2, 5).result(60)  # no new job for 60 s, but for new calls
            report(elsewhere=call.result(60) != worker)
            while lives(worker) and time.monotonic() < released + 60:
                time.sleep(0.01)
            report(ended=not lives(worker), seconds=time.monotonic() - released, began=open("began").read().split())
    """.replace("PROGRAM", repr(shutil.which("pouncectl", path=os.environ.get("POUNCE_BUILD") or sysconfig.get_path("scripts")))))

    print("MEASURED release --now until the worker that stands still is gone:", run.reports["seconds"])
    assert run.reports["elsewhere"] and run.reports["ended"] and run.reports["began"] == ["once"]


@pytest.mark.parametrize("home", [{"orphan_grace_s": 4, "heartbeat_ms": 1000, "idle_release_s": 300, "daemon_idle_exit_s": 5}], indirect=True)
def test_a_pounced_whose_only_client_was_killed_ends_itself(home):
    """Its worker had nothing to do, and 290 s of its idle time left."""
    run = home.start("""
        client = pounce.Client()
        report(result=client.submit(pow, 2, 3).result())
        signal.pause()
    """).until(lambda script: "result" in script.reports, "its result")
    (endpoint,) = home.folder.glob(".local/state/pounce/*/*/endpoint")

    run.process.kill()
    run.ended(code=-9)
    deadline = time.monotonic() + 60
    while endpoint.exists():  # pounced removes it when it ends by itself
        assert time.monotonic() < deadline, "it did not end"
        time.sleep(0.05)


def test_a_call_with_thousands_of_handles_or_of_small_arrays_runs_and_one_with_too_many_is_told_before_it_is_sent(home):
    run = home.run("""
        import numpy as np
        with pounce.Client() as client:
            handles = [client.scatter(n) for n in range(3000)]
            report(handles=client.submit(lambda *given: sum(given), *handles).result())
            arrays = [np.zeros(3) for _ in range(2000)]
            report(in_one=client.submit(len, arrays).result(), each=client.submit(lambda *given: len(given), *arrays).result())
            report(back=len(client.submit(lambda: [np.zeros(3) for _ in range(12_000)]).result()))
            report(error=error_of(lambda: client.submit(sum, handles * 2 + [client.scatter(-n) for n in range(1, 16_000)])))
            report(after=client.submit(abs, -1).result())
    """)

    reports = run.reports
    assert reports["handles"] == 4_498_500
    assert (reports["in_one"], reports["each"], reports["back"]) == (2000, 2000, 12_000)
    assert reports["error"]["type"] == "TooLarge" and "16384" in reports["error"]["text"]
    assert reports["after"] == 1
