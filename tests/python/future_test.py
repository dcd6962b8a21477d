"""A Future keeps the contract of concurrent.futures, whoever ends it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import weakref

import pounce
import pytest
from pounce import _core
from pounce._common import exceptions, serialize
from pounce._engine.options import Options
from pounce._engine.outcome import CalledBack
from pounce._engine.task import Task
from pounce.future import Future

TIMINGS = _core.Timings(send=0.001, run=0.005, receive=0.001, arrived=1e-9, figures=_core.RunFigures(peak_memory=5_000_000))


class FakeSession:
    """Ends a future when somebody waits for it, as the engine would."""

    def __init__(self):
        self.ends = {}
        self.states = {}
        self.cancelled = []

    def state(self, task):
        return self.states.get(task.id, "waiting")

    def cancel(self, task):
        self.cancelled.append(task)
        task.end(_core.Ended(error=_core.Error("cancelled", "The task was cancelled.")))

    def wait(self, task, timeout, hint):
        if task.id not in self.ends:
            raise pounce.Timeout("not yet")
        self.ends.pop(task.id)()


@pytest.fixture
def session():
    return FakeSession()


@pytest.fixture
def future(session):
    task = Task("f", Options())
    task.id = "task"
    return Future(session, task)


def succeed(future, value):
    data, buffers, _ = serialize.dumps(value)
    future._task.end(_core.Ended(ok=True, pickle=data, buffers=[bytearray(b.raw()) for b in buffers], timings=TIMINGS))


def fail(future, code, text="it went wrong", pickle=b"", **context):
    future._task.end(_core.Ended(error=_core.Error(code, text, context=context), raised=bool(pickle), pickle=pickle, timings=TIMINGS))


def test_the_one_who_waits_gets_the_result(session, future):
    session.ends["task"] = lambda: succeed(future, 42)

    assert future.result(timeout=1) == 42
    assert future.done() and future.exception() is None


def test_a_wait_that_is_over_leaves_the_task_alone(future):
    with pytest.raises(pounce.Timeout):
        future.result(timeout=0)
    with pytest.raises(concurrent.futures.TimeoutError):
        future.exception(timeout=0)
    assert not future.done()


def test_callbacks_and_waits_of_the_standard_library_work(future):
    called = []
    future.add_done_callback(lambda f: called.append(f.result()))

    threading.Thread(target=succeed, args=(future, "done")).start()

    assert concurrent.futures.wait([future], timeout=20).done == {future}
    assert next(concurrent.futures.as_completed([future])) is future
    assert called == ["done"]


def test_it_can_be_awaited(future):
    async def main():
        threading.Thread(target=succeed, args=(future, "awaited")).start()
        return await future

    assert asyncio.run(main()) == "awaited"


def test_cancelling_an_await_cancels_the_task(session, future):
    async def main():
        waiting = asyncio.ensure_future(future_as_task(future))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(main())
    assert session.cancelled == [future._task]


async def future_as_task(future):
    return await future


def test_what_waits_can_be_cancelled(future):
    assert future.cancel() is True
    assert future.cancelled() and future.done()
    with pytest.raises(concurrent.futures.CancelledError):
        future.result()
    with pytest.raises(pounce.Cancelled, match="was cancelled"):
        future.exception()


def test_what_runs_is_not_cancelled_by_the_future(session, future):
    session.states["task"] = "running"

    assert future.running() and future.cancel() is False
    assert session.cancelled == []


def test_the_functions_own_exception_is_raised_with_its_place(future):
    fail(future, "task_raised", pickle=exceptions.dumps(ZeroDivisionError("no")), node="g1", devices="gpu:a100:1")

    with pytest.raises(ZeroDivisionError, match="no") as caught:
        future.result()
    assert caught.value.__notes__ == ["raised on g1, gpu:a100:1"]


def test_an_exception_that_cannot_be_unpickled_is_told_in_words(future):
    fail(future, "task_raised", "MyError: no", pickle=b"not a pickle", node="g1", traceback="Traceback: here")

    with pytest.raises(pounce.TaskRaised, match="on g1: MyError: no\nTraceback: here"):
        future.result()


def test_a_loss_is_its_typed_exception_with_evidence(future):
    future._task.end(_core.Ended(error=_core.Error("worker_crashed", "it went wrong", signal=11), timings=TIMINGS))

    with pytest.raises(pounce.WorkerCrashed) as caught:
        future.result()
    assert caught.value.signal == 11


def test_a_result_that_cannot_be_unpickled_is_an_error_and_not_a_hang(future):
    future._task.end(_core.Ended(ok=True, pickle=b"garbage", timings=TIMINGS))

    with pytest.raises(pounce.TaskRaised, match="could not be unpickled here"):
        future.result()


def test_timings_are_seconds_of_five_parts_the_imports_among_them_and_the_memory(future):
    succeed(future, 1)

    timings = future.timings()

    assert list(timings) == ["queue", "boot", "send", "run", "receive", "import", "peak_memory"]
    assert timings["run"] == 0.005 and timings["queue"] == 0 and timings["peak_memory"] == 5_000_000


def test_timings_of_what_has_not_ended_or_never_ran_are_refused(session, future):
    with pytest.raises(pounce.BadRequest, match="has not ended"):
        future.timings()
    future._task.end(_core.Ended(error=_core.Error("lost", "gone")))
    with pytest.raises(pounce.BadRequest, match="without having run"):
        future.timings()


def test_it_says_how_it_stands(session, future):
    assert repr(future) == "<pounce.Future f waiting>"
    succeed(future, 1)
    assert repr(future) == "<pounce.Future f done>"


def test_a_result_lives_no_longer_than_its_future(session):
    future = Future(session, Task("f", Options()))
    succeed(future, pounce.Timeout("an object like any other"))
    result = weakref.ref(future.result())
    assert result() is not None

    del future

    assert result() is None


# ---- what of a future is made late -----------------------------------------------------------------------------------


def test_a_future_that_ends_before_a_thread_waits_has_no_lock(future):
    succeed(future, "its value")

    assert future.done() and not future.cancelled() and future.result() == "its value"
    assert not {"_condition", "_waiters", "_done_callbacks"} & set(vars(future))


@pytest.mark.parametrize("is_watched_first", [False, True])
def test_a_future_is_one_of_concurrent_futures_whether_it_is_watched_before_or_after_its_end(future, is_watched_first):
    called = []
    watched = concurrent.futures.as_completed([future], timeout=10)
    if is_watched_first:
        future.add_done_callback(called.append)
        threading.Timer(0.02, succeed, (future, 7)).start()
    else:
        succeed(future, 7)
        future.add_done_callback(called.append)

    assert [one.result() for one in watched] == [7]
    assert concurrent.futures.wait([future], 10).done == {future}
    assert called == [future]


def test_threads_that_begin_to_wait_while_a_future_ends_all_wake():
    for _ in range(200):
        future = CalledBack()
        waiting = [threading.Thread(target=future.result, args=(10,), daemon=True) for _ in range(2)]
        for thread in waiting:
            thread.start()
        future.set_result(None)
        for thread in waiting:
            thread.join(5)
        assert not any(thread.is_alive() for thread in waiting)


def test_a_future_ends_once():
    future = CalledBack()
    future.set_result(1)

    with pytest.raises(concurrent.futures.InvalidStateError):
        future.set_result(2)
    with pytest.raises(concurrent.futures.InvalidStateError):
        future.set_exception(ValueError())
    with pytest.raises(AttributeError, match="no attribute 'results'"):
        future.results
    assert not future.cancel() and future.result() == 1
