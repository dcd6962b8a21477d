"""Tasks with a name: they outlive their kernel, and a later one has their result."""

from __future__ import annotations

import errno
import os
import signal
import stat
from pathlib import Path
from types import SimpleNamespace

import pounce
import pytest
from pounce._engine import detached

SUBMIT = """
    def work(go_on, value):
        import pathlib, time
        print("at work", flush=True)
        while not pathlib.Path(go_on).exists(): time.sleep(0.01)
        print("at the end")
        if isinstance(value, Exception): raise value
        return value
    client = pounce.Client()
    future = client.options(name="train-7").submit(work, os.getcwd() + "/go", {value})
    while future.state != "running" or "at work\\n" not in future.log(): time.sleep(0.02)
    report(submitted=True)
    {then}
"""

ATTACH = """
    client = pounce.Client()
    future = client.attach("train-7")
    report(state=future.state)
    report(**error_of(lambda: report(value=repr(future.result(60)))) or {})
    report(log=future.log(), repr=repr(future))
"""

QUEUE_EMPTY = """
    client = pounce.Client()
    while len(client.queue()): time.sleep(0.1)
    report(state=client.attach("train-7").state)
"""


def submit(home, value="41 + 1", then="time.sleep(1000)"):
    return home.start(SUBMIT.format(value=value, then=then)).until(lambda s: "submitted" in s.reports, "the task runs")


def folder(home) -> Path:
    (found,) = home.folder.glob(".local/state/pounce/*/results/train-7")
    return found


def test_a_killed_kernels_task_goes_on_gives_its_lease_back_and_a_later_kernel_has_the_result(home):
    kernel = submit(home)
    kernel.process.send_signal(signal.SIGKILL)
    kernel.ended(-signal.SIGKILL)

    (home.folder / "go").touch()
    empty = home.run(QUEUE_EMPTY)
    later = home.run(ATTACH)

    assert empty.reports == {"state": "done"}  # the lease has gone although nobody had fetched anything
    assert later.reports["value"] == "42" and later.reports["log"] == "at work\nat the end\n"


def test_a_closed_clients_task_goes_on_while_a_later_kernel_waits_for_it(home):
    submit(home, then="client.close(); report(told=error_of(future.result))").ended()

    later = home.start(ATTACH).until(lambda s: s.reports.get("state") == "running", "attached while it runs")
    (home.folder / "go").touch()

    assert later.ended().reports["value"] == "42"
    assert "at the end" in later.stdout.split("REPORT")[1]  # live, while it waited


def test_a_closed_clients_future_says_how_the_task_is_found_again(home):
    kernel = submit(home, then="client.close(); report(**error_of(future.result))").ended()

    assert kernel.reports["type"] == "ClientClosed" and "attach('train-7')" in kernel.reports["text"]
    home.run("pounce.Client().attach('train-7').cancel()")


def test_a_task_that_prints_without_end_leaves_a_bounded_log_and_its_last_words(home):
    """It filled the home's quota."""
    run = home.run("""
        def work():
            for number in range(200_000):
                print(number, "x" * 90)
            print("the last words")
        future = pounce.Client().options(name="train-7").submit(work)
        future.result(60)
        report(begins=future.log()[:40], last=future.log()[-15:])
    """)

    (log,) = folder(home).glob("*.log")
    assert log.stat().st_size < 8 << 20
    assert run.reports["begins"].startswith("pounce: removed_bytes=") and run.reports["last"] == "the last words\n"
    assert run.stdout.count("\n199999 x") == 1  # shown to who waits, and once


def test_pounced_may_be_killed_meanwhile(home):
    kernel = submit(home)
    kernel.process.send_signal(signal.SIGKILL)
    os.kill(home.endpoint()["pid"], signal.SIGKILL)
    (home.folder / "go").touch()

    assert home.run(ATTACH).reports["value"] == "42"


def test_an_exception_is_kept_with_its_traceback(home):
    submit(home, value="ValueError('no')").process.kill()
    (home.folder / "go").touch()

    later = home.run(ATTACH)

    assert later.reports["type"] == "ValueError" and later.reports["text"] == "no"


def test_a_large_array_comes_back_writable(home):
    run = home.run("""
        import numpy
        client = pounce.Client()
        submitted = client.options(name="large").submit(lambda: numpy.arange(12_500_000.0))
        submitted.result(60)
        array = client.attach("large").result(60)
        array[0] = 1
        report(size=array.nbytes, end=array[-1], run="run" in submitted.timings())
    """)

    assert run.reports == {"size": 100_000_000, "end": 12_499_999.0, "run": True}


def test_a_worker_that_dies_ends_the_task_with_a_typed_error_that_is_kept(home):
    run = home.run("""
        client = pounce.Client()
        future = client.options(name="train-7").submit(os.kill, 0, signal.SIGKILL)
        report(first=error_of(lambda: future.result(60))["type"])
        later = error_of(client.attach("train-7").result)
        report(later=later["type"], signal=later["context"]["signal"])
    """)

    assert run.reports == {"first": "WorkerCrashed", "later": "WorkerCrashed", "signal": "9"}


def test_a_name_is_given_once_and_free_again_when_it_is_forgotten(home):
    run = home.run("""
        client = pounce.Client()
        view = client.options(name="train-7")
        first = view.submit(pow, 2, 3)
        first.result(60)
        report(taken=error_of(lambda: view.submit(pow, 2, 4)))
        first.forget()
        report(gone=error_of(lambda: client.attach("train-7")), again=view.submit(pow, 2, 5).result(60))
        report(unknown=error_of(lambda: client.attach("tarin-7"))["text"])
    """)

    assert run.reports["taken"]["type"] == "NameTaken" and run.reports["again"] == 32
    assert run.reports["gone"]["type"] == "NoSuchName" and "train-7" in run.reports["unknown"]


def test_cancel_ends_one_that_runs(home):
    kernel = submit(home, then="report(cancelled=future.cancel(), error=error_of(future.result)['type'])").ended()

    assert kernel.reports == {"submitted": True, "cancelled": True, "error": "Cancelled"}


def test_what_is_kept_is_its_owners_alone_and_nothing_else_is_unpickled(home):
    home.run("pounce.Client().options(name='train-7').submit(pow, 2, 10).result(60)")
    kept = list(folder(home).iterdir())
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
    assert stat.S_IMODE(folder(home).stat().st_mode) == 0o700 == stat.S_IMODE(folder(home).parent.stat().st_mode)
    assert not [path for path in kept if path.suffix == ".call"]
    (outcome,) = folder(home).glob("*.outcome")

    outcome.chmod(0o644)
    assert home.run(ATTACH).reports["type"] == "ResultGone"
    outcome.chmod(0o600)
    outcome.write_bytes(outcome.read_bytes()[:-1] + b"x")
    assert home.run(ATTACH).reports["type"] == "ResultGone"


@pytest.mark.parametrize("workers, type_name", [(1, "ResultGone"), (2, "NotShared")])
def test_a_worker_that_cannot_be_given_the_call_runs_nothing(home, workers, type_name):
    run = home.run(f"""
        client = pounce.Client()
        view = client.options(name="train-7", workers={workers})
        future = view.submit(open, os.getcwd() + "/ran", "w")
        import pathlib
        hidden = pathlib.Path(client._session.results, "train-7")
        hidden.rename(hidden.with_name(".hidden"))
        report(**error_of(lambda: future.result(60)))
    """)

    assert run.reports["type"] == type_name
    assert not (home.folder / "ran").exists()


def test_bad_names_and_many_tasks_of_one_name_are_refused_at_once(home):
    run = home.run("""
        client = pounce.Client()
        calls = [lambda: client.options(name="../x"), lambda: client.options(name=7), lambda: client.attach(".x"),
                 lambda: client.options(name="x").map(abs, [1]), lambda: pounce.Client(name="x"),
                 lambda: client.options(name="x").submit(len, client.scatter([1]))]
        report(types=[error_of(call)["type"] for call in calls])
    """)

    assert run.reports == {"types": ["BadRequest"] * 6}


def test_a_results_folder_whose_disk_is_full_is_named_and_nothing_is_left_in_it(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(detached.result_store, "write_call", full)

    with pytest.raises(pounce.DaemonUnavailable) as told:
        detached.submit(SimpleNamespace(results=str(tmp_path)), "train-7", [b""], None, 0)

    assert str(told.value).startswith(f"{tmp_path} cannot be written: No space left on device. Make room there, or")
    assert list(tmp_path.iterdir()) == []
