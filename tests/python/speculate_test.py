"""A map with speculate=True: which chunk is late, whose end counts, and that a slow or lost worker keeps nobody waiting."""

from __future__ import annotations

import concurrent.futures

import pounce
import pytest
from pounce import _core
from pounce._common import exceptions, serialize
from pounce._engine.task import Task
from pounce._map.late_chunks import ENDED_PART, LEAST_S, TIMES_USUAL, LateChunks
from pounce._map.speculative_map import ChunkWatch
from pounce._map.task_runs import TaskRuns

# ---- which chunk is late -------------------------------------------------------------------------------------------------


def chunks(sizes, ended=()):
    """Chunks of so many items that began at 0, of which some have ended after so many seconds each."""
    late = LateChunks()
    for number, items in enumerate(sizes):
        late.sent(number, items)
        late.began(number, 0.0)
    for number, seconds in ended:
        late.ended(number, seconds)
    return late


def test_a_chunk_is_late_when_it_has_run_for_clearly_longer_than_the_others_took():
    late = chunks([10] * 4, [(0, 10.0), (1, 12.0), (2, 100.0)])

    assert late.latest(TIMES_USUAL * 12.0) is None
    assert late.latest(TIMES_USUAL * 12.0 + 0.1) == 3


def test_none_is_late_before_most_have_ended():
    assert ENDED_PART == 0.75
    assert chunks([1] * 8, [(n, 1.0) for n in range(5)]).latest(1000.0) is None
    assert chunks([1] * 8, [(n, 1.0) for n in range(6)]).latest(1000.0) is not None


def test_chunks_of_other_sizes_are_compared_by_the_time_of_an_item():
    late = chunks([1, 1, 1, 20], [(0, 1.0), (1, 1.0), (2, 1.0)])

    assert late.latest(29.0) is None and late.latest(31.0) == 3


def test_a_short_chunk_is_not_late():
    late = chunks([1] * 4, [(n, 0.001) for n in range(3)])

    assert late.latest(LEAST_S) is None and late.latest(LEAST_S + 0.1) == 3


def test_a_chunk_is_copied_once_and_the_next_one_is_the_next_latest():
    late = chunks([4, 1, *[1] * 8], [(n, 2.0) for n in range(2, 10)])
    assert late.latest(100.0) == 1
    late.copied(1)

    assert late.latest(100.0) == 0
    late.copied(0)
    assert late.latest(100.0) is None


def test_chunks_that_failed_say_nothing_of_the_time():
    assert chunks([1] * 4, [(n, None) for n in range(3)]).latest(1000.0) is None


def test_a_chunk_that_waits_is_not_late():
    late = chunks([1] * 3, [(n, 1.0) for n in range(3)])
    late.sent(3, 1)

    assert late.latest(1000.0) is None


# ---- the watch -----------------------------------------------------------------------------------------------------------


class Workers:
    """A session whose workers are what the test says."""

    def __init__(self):
        self.free, self.states, self.core = 0, {}, self

    def state(self, task):
        return self.states.get(task.name)

    def free_workers(self, resources):
        assert resources == pounce._core.Resources()
        return self.free


class Runs:
    def __init__(self, name):
        self.task, self.copies = Task(name, pounce._engine.options.Options()), 0

    def copy(self):
        self.copies += 1
        return True


def test_a_late_chunk_is_copied_when_a_worker_is_free_and_not_again():
    workers = Workers()
    watch, runs, futures = ChunkWatch(workers), [Runs(str(n)) for n in range(4)], [concurrent.futures.Future() for _ in range(4)]
    for future, each in zip(futures, runs, strict=True):
        watch.sent(future, each, 1)
    workers.states = {"3": "running"}
    watch.look(0.0)
    for future in futures[:3]:
        future.set_result((1.0, [0], None))

    watch.look(100.0)
    assert runs[3].copies == 0
    workers.free = 1
    watch.look(100.0)
    watch.look(200.0)

    assert [each.copies for each in runs] == [0, 0, 0, 1]


# ---- whose end counts ----------------------------------------------------------------------------------------------------


class Session:
    def __init__(self):
        self.cancelled = []

    def cancel(self, task):
        self.cancelled.append(task.id)


RESULT = _core.Ended(ok=True, pickle=serialize.dumps("the copy's")[0], buffers=[])
OWN = _core.Ended(ok=True, pickle=serialize.dumps("its own")[0], buffers=[])
RAISED = _core.Ended(raised=True, pickle=exceptions.dumps(ValueError("broken")), error=_core.Error("raised", "broken"))
LOST = _core.Ended(error=_core.Error("worker_crashed", "The worker crashed."))
LOST_TOO = _core.Ended(error=_core.Error("node_failed", "The node failed."))
CANCELLED = _core.Ended(error=_core.Error("cancelled", "It was cancelled."))


def copied():
    """A task that runs twice: its session, its future, and its two runs."""
    session, future, sent = Session(), concurrent.futures.Future(), []

    def send(copy):
        copy.id = "copy"
        sent.append(copy)

    task = Task("f")
    runs = TaskRuns(session, task)
    task.settles(future)
    task.id, task.submit_copy = "first", send
    assert runs.copy() and not runs.copy()
    return session, future, task, sent[0]


def test_the_copys_result_is_the_tasks_and_the_first_run_is_cancelled():
    session, future, first, copy = copied()

    copy.end(RESULT)
    first.end(CANCELLED)

    assert future.result(0) == "the copy's" and session.cancelled == ["first"] and first.over


def test_the_first_runs_result_is_the_tasks_and_the_copy_is_cancelled():
    session, future, first, copy = copied()

    first.end(OWN)
    copy.end(RESULT)

    assert future.result(0) == "its own" and session.cancelled == ["copy"]


@pytest.mark.parametrize("which", ["first", "copy"])
def test_what_the_function_raises_in_either_run_is_its_end(which):
    session, future, first, copy = copied()

    (first if which == "first" else copy).end(RAISED)

    assert isinstance(future.exception(0), ValueError) and session.cancelled == ["copy" if which == "first" else "first"]


def test_a_copy_that_is_lost_ends_nothing():
    _, future, first, copy = copied()

    copy.end(LOST)
    assert not future.done()
    first.end(OWN)

    assert future.result(0) == "its own"


def test_a_first_run_that_is_lost_goes_on_as_its_copy():
    session, future, first, copy = copied()

    first.end(LOST)
    assert not future.done() and first.id == copy.id
    copy.end(RESULT)

    assert future.result(0) == "the copy's" and session.cancelled == []


@pytest.mark.parametrize("order", ["first", "copy"])
def test_where_both_are_lost_the_second_loss_is_the_tasks(order):
    _, future, first, copy = copied()

    for run, end in zip((first, copy) if order == "first" else (copy, first), (LOST, LOST_TOO), strict=True):
        run.end(end)

    assert isinstance(future.exception(0), pounce.NodeFailed)


def test_a_task_that_the_user_cancels_ends_with_its_copy():
    session, future, first, _ = copied()

    first.end(CANCELLED)

    assert future.cancelled() and session.cancelled == ["copy"]


def test_a_task_that_has_ended_is_not_copied():
    task, future = Task("f"), concurrent.futures.Future()
    runs = TaskRuns(Session(), task)
    task.settles(future)
    task.submit_copy = lambda copy: pytest.fail("it was sent")
    task.end(OWN)

    assert not runs.copy()


def test_a_copy_that_cannot_be_sent_is_none():
    def refuse(_):
        raise pounce.FileChanged("the file has changed")

    task, future = Task("f"), concurrent.futures.Future()
    runs = TaskRuns(Session(), task)
    task.settles(future)
    task.submit_copy = refuse

    assert not runs.copy()
    task.end(LOST)
    assert isinstance(future.exception(0), pounce.WorkerCrashed)


# ---- with workers --------------------------------------------------------------------------------------------------------

STUCK = """
import pathlib
def wait_for(path):
    deadline = time.monotonic() + 100
    while not path.exists():
        assert time.monotonic() < deadline, f"nobody made {path}"
        time.sleep(0.01)
def is_first(n, here=pathlib.Path.cwd()):
    mark = here / f"run{n}"
    with open(mark, "a") as runs: runs.write(f"{os.getpid()}\\n")
    return len(mark.read_text().split()) == 1
def pids(n): return pathlib.Path(f"run{n}").read_text().split()
"""


@pytest.mark.parametrize("workers", [2, "2:2"])
@pytest.mark.parametrize("stuck", [0, 7])
def test_an_item_whose_worker_does_not_get_on_is_run_on_a_free_one(home, workers, stuck):
    run = home.run(STUCK + f"""
def square(n, here=pathlib.Path.cwd()):
    if is_first(n) and n == {stuck}:
        try: wait_for(here / "never")
        except KeyboardInterrupt:
            (here / "interrupted").touch()
            raise
    return n * n
with pounce.Client(workers={workers!r}) as client:
    report(squares=list(client.map(square, range(8), chunksize=1, speculate=True, timeout=80)))
    report(runs=[len(pids(n)) for n in range(8)], processes=len(set(pids({stuck}))))
    wait_for(pathlib.Path("interrupted"))
    report(after=client.gather([client.submit(pow, 2, n) for n in range(4)], timeout=60))
""", seconds=120)

    assert run.reports["squares"] == [n * n for n in range(8)] and run.reports["after"] == [1, 2, 4, 8]
    assert run.reports["runs"] == [2 if n == stuck else 1 for n in range(8)] and run.reports["processes"] == 2


def test_a_worker_that_is_lost_does_not_fail_the_item_that_another_one_runs_too(home):
    run = home.run(STUCK + """
import threading
def square(n, here=pathlib.Path.cwd()):
    first = is_first(n)
    if n == 7 and first:
        wait_for(here / "again")
        os._exit(7)
    if n == 7:
        (here / "again").touch()
        wait_for(here / "lost")
    return n * n
with pounce.Client(workers=2) as client:
    results, got = client.map(square, range(8), chunksize=1, speculate=True), []
    reader = threading.Thread(target=lambda: got.extend(results))
    reader.start()
    wait_for(pathlib.Path("again"))
    report(other=client.submit(pow, 2, 5).result(60))  # on the worker that was lost: the other one is busy
    pathlib.Path("lost").touch()
    reader.join(60)
    report(got=got)
""", seconds=120)

    assert run.reports == {"other": 32, "got": [n * n for n in range(8)]}


def test_the_copy_has_what_the_item_was_when_it_was_sent(home):
    run = home.run(STUCK + """
def total(numbers, here=pathlib.Path.cwd()):
    if is_first(numbers[0]) and numbers[0] == 5: wait_for(here / "never")
    return sum(numbers)
def source(numbers):
    for n in range(6):
        numbers[:] = [n, 100]
        yield numbers
    numbers[:] = [0, 0]
with pounce.Client(workers=2) as client:
    report(totals=client.gather(client.map(total, source([]), chunksize=1, speculate=True), timeout=80), runs=len(pids(5)))
""", seconds=120)

    assert run.reports == {"totals": [100, 101, 102, 103, 104, 105], "runs": 2}


def test_a_name_and_speculation_are_refused_together(home):
    run = home.run("""
        with pounce.Client() as client:
            report(**error_of(lambda: client.map(abs, [1], name="a", chunksize=1, speculate=True)))
    """)

    assert run.reports["type"] == "BadRequest" and "Leave out one of them" in run.reports["text"]
