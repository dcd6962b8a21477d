"""A call meets the end of its worker's time alive. Instead of waiting for the end the functions say that it has come."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pounce import errors
from pounce._worker import call_limit
from pounce._worker.call_limit import CallLimit

PROGRAM = """
import asyncio, os, pounce, time

def nearly_over():
    from pounce._worker import interpreter
    while pounce.time_left() is None: time.sleep(0.02)
    interpreter.core.interrupt_before_end(pounce.time_left())

def catches():
    try:
        nearly_over()
        while True: pass
    except pounce.WalltimeReached:
        return "what it has"

def tidies(folder):
    try:
        nearly_over()
        time.sleep(1000)
    finally:
        open(folder + "/tidied", "w").close()

def awaits():
    async def main():
        nearly_over()
        await asyncio.sleep(1000)
    asyncio.run(main())

def again(folder):
    with open(folder + "/runs", "a") as file: file.write(f"{os.getpid()}\\n")
    if len(open(folder + "/runs").readlines()) == 1:
        nearly_over()
        time.sleep(1000)
    return os.getpid()

def raises():
    nearly_over()
    time.sleep(1000)

def again_with_a_name(folder):
    with open(folder + "/named-runs", "a") as file: print(os.getpid(), file=file)
    if len(open(folder + "/named-runs").readlines()) == 1:
        try:
            nearly_over()
            time.sleep(1000)
        finally:
            open(folder + "/interrupted", "w").close()
    return os.getpid()

def rank():
    if pounce.rank().rank == 1:
        nearly_over()
        time.sleep(1000)
    return "the other"

def told(what, *arguments):
    try:
        return what(*arguments)
    except BaseException as error:
        return [type(error).__name__, str(error), *getattr(error, "__notes__", [])]

folder = os.getcwd()
with pounce.Client() as client:
    view = client.options(time="10min")
    report(caught=view.submit(catches).result())
    report(raised=told(lambda: view.submit(tidies, folder).result()), tidied=os.path.exists("tidied"))
    report(awaited=told(lambda: view.submit(awaits).result()), after=view.submit(pow, 2, 3).result())
    future = view.submit(again, folder, retries=1)
    while not os.path.exists("runs") or future.why() is None: time.sleep(0.02)
    beside = view.submit(os.getpid)
    waits = [future.done(), beside.done()]
    worker = open("runs").readline().strip()
    os.kill(int(open(f"/proc/{worker}/stat").read().rpartition(")")[2].split()[1]), 9)  # its supervisor: the lease ends
    report(waits=waits, second=future.result(), runs=[int(line) for line in open("runs")], beside=beside.result())
    named = lambda what, *arguments, **more: view.options(name=f"named-{what.__name__}").submit(what, *arguments, **more)
    caught, raised, lost = named(catches), named(raises), named(again_with_a_name, folder, retries=1)
    report(named_caught=caught.result(), named_raised=told(raised.result))
    while not os.path.exists("interrupted"): time.sleep(0.02)
    worker = open("named-runs").readline()
    waiting = lost.done()
    os.kill(int(worker), 9)  # as the end of its lease does
    report(named_waits=waiting, named_second=lost.result(), named_runs=[int(line) for line in open("named-runs")])
    with client.options(time="10min", workers=2).gang() as gang:
        report(gang=told(lambda: gang.run(rank)))
"""


def test_its_function_may_catch_that_tidy_up_or_run_again_elsewhere(home):
    run = home.run(PROGRAM, seconds=180)
    said = run.reports

    assert said["caught"] == "what it has"
    kind, words, *notes = said["raised"]
    assert kind == "WalltimeReached" and "reaches its time limit in" in words and said["tidied"]
    assert any("raised on " in note for note in notes)
    assert said["awaited"][0] == "WalltimeReached" and said["after"] == 8
    first, second = said["runs"]
    assert said["waits"] == [False, False] and said["second"] == second != first and said["beside"] == second
    assert said["named_caught"] == "what it has" and said["named_raised"][0] == "WalltimeReached"
    first, second = said["named_runs"]
    assert said["named_waits"] is False and said["named_second"] == second != first
    assert said["gang"][0] == "WalltimeReached" and "2 ranks, on " in said["gang"][1]  # both: the time of all ends with the lease


def test_a_call_that_goes_on_is_told_of_and_a_cancel_still_ends_it(capsys):
    cancelled = []
    core = SimpleNamespace(limit_reached=lambda: 1, preempted=lambda: False)
    limit = CallLimit(core, "g1", lambda: 12.0, lambda: bool(cancelled))

    limit._interrupted(2, None)  # its arguments are being unpickled
    limit.function_begins(test_a_call_that_goes_on_is_told_of_and_a_cancel_still_ends_it)
    with pytest.raises(errors.WalltimeReached, match="reaches its time limit in 12 s") as raised:
        limit._interrupted(2, None)
    assert limit.is_met_by(raised.value) and not limit.is_met_by(errors.WalltimeReached("of the function's own"))
    limit._interrupted(2, None)
    assert "the call goes on after WalltimeReached: it is cut off in 12 s" in capsys.readouterr().err
    cancelled.append(True)
    with pytest.raises(KeyboardInterrupt):
        limit._interrupted(2, None)


def test_a_call_with_a_name_is_interrupted_in_time_too_and_one_that_runs_again_waits_for_the_end():
    ordered, left = [], [0.4]
    core = SimpleNamespace(interrupt_before_end=lambda *words: ordered.append(words), limit_reached=lambda: 1, preempted=lambda: False)
    limit = CallLimit(core, "g1", lambda: left[0], lambda: False)
    function = test_a_call_with_a_name_is_interrupted_in_time_too_and_one_that_runs_again_waits_for_the_end
    limit.function_begins(function)
    assert ordered == []  # the C++ part does it
    limit.function_begins(function, has_name=True, runs_again=True)
    assert ordered == [(30.0, 0.25)]
    with pytest.raises(errors.WalltimeReached) as raised:
        limit._interrupted(2, None)

    class Ended(BaseException):
        """The worker is gone."""

    def ends(seconds):
        raise Ended

    limit.function_ends()
    with pytest.MonkeyPatch.context() as patched, pytest.raises(Ended):
        patched.setattr(call_limit.time, "sleep", ends)
        limit.is_met_by(raised.value)
