"""The real pounce-worker with a real interpreter, under a daemon and a client made of plain pyzmq (fake_daemon.py)."""

from __future__ import annotations

import json
import os
import pickle
import secrets
import signal
import sys
import time
from pathlib import Path

import cloudpickle
import pytest
import zmq
from fake_daemon import LEASE, FakeClient, FakeDaemon, RealWorker, pack
from zmq.utils.monitor import recv_monitor_message

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as a notebook's functions: this file is not on the workers
SLURM = {"SLURM_JOB_ID": "77", "SLURM_RESTART_COUNT": "2", "SLURMD_NODENAME": "g9", "SLURM_JOB_GPUS": "0,1",
         "SLURM_NTASKS": "2", "CUDA_VISIBLE_DEVICES": "0,1"}
MIB = 1 << 20


class World:
    """One daemon, one worker, one attached client."""

    def __init__(self, folder: Path, *options: str, **more):
        (folder / "state").mkdir()
        self.daemon = FakeDaemon(folder / "state")
        self.worker = RealWorker(self.daemon, folder, *options, **more)
        try:
            up = self.daemon.ready()
            self.client = FakeClient(self.daemon).connect(up["endpoint"], up["key"])
        except BaseException:
            self.close()
            raise

    def again(self, epoch: int) -> FakeClient:
        up = self.daemon.ready(epoch)
        self.client = FakeClient(self.daemon).connect(up["endpoint"], up["key"])
        return self.client

    def end(self):
        self.daemon.say(pack("end_worker", lease=LEASE, reason="test"))
        self.daemon.wait(lambda: self.worker.process.poll() is not None, "the end of the worker")
        assert self.worker.process.returncode == 0

    def close(self):
        try:
            self.worker.stop()
        finally:
            self.daemon.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("shared"), **SLURM)
    yield world
    world.close()


@pytest.fixture
def client(shared) -> FakeClient:
    return shared.client


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    yield world
    world.close()


# ---- where user code runs -------------------------------------------------------------------------------------------


def test_user_code_runs_as_main_in_the_main_thread_of_an_ordinary_process(client, shared):
    def look():
        import multiprocessing
        import os
        import sys
        import threading

        main = sys.modules["__main__"]
        return {
            "main thread": threading.current_thread() is threading.main_thread(),
            "threads": threading.active_count(),
            "daemonic": multiprocessing.current_process().daemon,
            "name": main.__name__,
            "file": getattr(main, "__file__", None),
            "argv": sys.argv,
            "path": sys.path[0],
            "cwd": os.getcwd(),
        }

    where = str(shared.worker.directory)
    assert client.result(client.submit(look)) == {
        "main thread": True, "threads": 1, "daemonic": False, "name": "__main__", "file": None, "argv": [""],
        "path": where, "cwd": where,
    }


def test_nothing_heavy_is_imported_before_the_first_task(world):
    def modules():
        import sys

        return [name for name in ("numpy", "torch", "asyncio", "IPython", "json", "tblib") if name in sys.modules]

    assert world.client.result(world.client.submit(modules)) == []


def test_user_code_sees_neither_slurm_nor_pounce_in_its_environment(client):
    def environment():
        import os

        return dict(os.environ)

    seen = client.result(client.submit(environment))
    assert [name for name in seen if name.startswith(("SLURM", "POUNCE", "PYTHONSAFEPATH"))] == []
    assert seen["CUDA_VISIBLE_DEVICES"] == "0,1"


def test_the_supervisor_announces_job_incarnation_node_and_devices(shared):
    up = shared.daemon.all("worker_up")[0]
    assert (up["lease"], up["job"], up["restart"], up["node"], up["devices"]) == (LEASE, 77, 2, "g9", "GPU 0,1")
    hello = shared.daemon.hellos[0]
    assert (hello["role"], hello["proof"], hello["lease"]) == ("worker", "key_file", LEASE)


def test_attached_tells_versions_and_place(client):
    attached, _ = client.all("attached")[0]
    assert attached["python"] == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert (attached["node"], attached["devices"]) == ("g9", "GPU 0,1")


def test_a_module_in_the_notebooks_directory_can_be_imported_and_pounce_py_there_does_no_harm(tmp_path):
    (tmp_path / "notebook").mkdir()
    (tmp_path / "notebook" / "mine.py").write_text("answer = 42\n")
    (tmp_path / "notebook" / "pounce.py").write_text("raise SystemExit('not ours')\n")
    world = World(tmp_path)
    try:
        assert world.client.result(world.client.submit(lambda: __import__("mine").answer)) == 42
    finally:
        world.close()


def test_user_programs_inherit_none_of_our_descriptors(client):
    def descriptors():
        import subprocess

        return subprocess.run(["ls", "-l", "/proc/self/fd"], close_fds=False, capture_output=True, text=True).stdout

    listing = client.result(client.submit(descriptors))
    assert "socket:" not in listing and "memfd:pounce" not in listing


# ---- outcomes -------------------------------------------------------------------------------------------------------


def test_a_function_is_sent_once_and_called_with_other_arguments(client):
    power = client.send_function(lambda base, exponent=2: base**exponent)
    tasks = [client.submit_known(power, n) for n in range(50)] + [client.submit_known(power, 2, exponent=10)]
    assert [client.result(task) for task in tasks] == [n * n for n in range(50)] + [1024]


def test_stamps_of_an_outcome_follow_each_other_on_the_workers_clock(client):
    before = time.monotonic_ns()
    header, _ = client.outcome(client.submit(lambda: __import__("time").sleep(0.05)))
    stamps = [before, *(header[name] for name in ("received_ns", "run_start_ns", "run_end_ns", "sent_ns")), time.monotonic_ns()]
    assert stamps == sorted(stamps)
    assert header["run_end_ns"] - header["run_start_ns"] >= 50_000_000


def test_an_exception_travels_with_its_type_its_words_and_its_traceback(client):
    def outer():
        def inner():
            raise LookupError("nothing there")

        inner()

    header, frames = client.outcome(client.submit(outer))
    assert (header["ok"], header["error"]["code"], header["error"]["text"]) == (False, "task_raised", "LookupError: nothing there")
    assert "in inner" in header["error"]["context"]["traceback"]
    error = pickle.loads(frames[0])
    assert type(error) is LookupError
    names = []
    trace = error.__traceback__
    while trace:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert names == ["outer", "inner"]


def test_an_exception_that_cannot_be_pickled_travels_as_words(client):
    def fail():
        import threading

        raise RuntimeError("holds a lock", threading.Lock())

    header, frames = client.outcome(client.submit(fail))
    assert frames[0] == b""
    assert header["error"]["context"]["type"] == "RuntimeError" and "holds a lock" in header["error"]["text"]


def test_an_exception_whose_constructor_wants_more_than_its_arguments_travels_as_words(client):
    def fail():
        class Picky(Exception):
            def __init__(self, one, two):
                super().__init__(one)

        raise Picky("first", "second")

    header, _ = client.outcome(client.submit(fail))
    assert header["error"]["code"] == "task_raised" and "first" in header["error"]["text"]


def test_a_result_that_cannot_be_pickled_is_an_error_that_names_its_type(client):
    error = client.error(client.submit(lambda: __import__("threading").Lock()))
    assert error["code"] == "result_not_picklable"
    assert "_thread.lock" in error["text"]


def test_arguments_that_cannot_be_unpickled_here_fail_the_task_with_the_reason(client):
    function = client.send_function(lambda value: value)
    task = secrets.token_hex(16)
    client.say(pack("task", task=task, function=function, objects=[], attempt=0), b"cno_such_module\nthing\n.")
    error = client.error(task)
    assert error["code"] == "task_raised"
    assert "no_such_module" in error["text"] and "arguments" in error["text"]


def test_system_exit_ends_the_task_and_not_the_worker(client):
    error = client.error(client.submit(lambda: __import__("sys").exit(5)))
    assert (error["code"], error["context"]["type"]) == ("task_raised", "SystemExit")
    assert client.result(client.submit(lambda: "alive")) == "alive"


def test_a_very_deep_recursion_is_an_error_of_bounded_size(client):
    def deep(n):
        return deep(n + 1)

    def start():
        return deep(0)

    start.__globals__["deep"] = deep
    header, _ = client.outcome(client.submit(start))
    assert header["error"]["context"]["type"] == "RecursionError"
    assert len(json.dumps(header)) < 64 * 1024


# ---- output ---------------------------------------------------------------------------------------------------------


def test_output_comes_while_the_task_still_runs(client, shared, tmp_path):
    gate = tmp_path / "gate"

    def wait_for(path):
        import os
        import time

        print("no newline yet", end="")
        while not os.path.exists(path):
            time.sleep(0.005)
        print(" and the end")

    task = client.submit(wait_for, str(gate))
    client.wait(lambda: client.printed(task) == "no newline yet", "the first words")
    assert client.all("outcome", task=task) == []
    gate.touch()
    client.outcome(task)
    assert client.printed(task) == "no newline yet and the end\n"


def test_all_output_comes_before_the_outcome(client):
    def talk(lines):
        import sys

        for number in range(lines):
            print(number)
            print("to stderr", number, file=sys.stderr)

    task = client.submit(talk, 20_000)
    client.outcome(task)
    kinds = [json.loads(frames[0])["type"] for frames in client.heard if json.loads(frames[0]).get("task") == task]
    assert kinds[-1] == "outcome"
    assert client.printed(task) == "".join(f"{n}\n" for n in range(20_000))
    assert client.printed(task, "stderr") == "".join(f"to stderr {n}\n" for n in range(20_000))


def test_output_of_c_code_and_of_other_programs_is_forwarded(client):
    def talk():
        import ctypes
        import os
        import subprocess

        ctypes.CDLL(None).printf(b"from C %d\n", 1)
        subprocess.run(["sh", "-c", "echo from a program; echo and its errors >&2"], check=True)
        os.write(2, b"raw\n")

    task = client.submit(talk)
    client.outcome(task)
    assert "from C 1\n" in client.printed(task) and "from a program\n" in client.printed(task)
    assert client.printed(task, "stderr") == "and its errors\nraw\n"


def test_output_goes_to_the_leases_log_too(client, shared):
    client.outcome(client.submit(lambda: print("for the log")))
    assert "for the log\n" in shared.worker.log.read_text()


def test_ten_thousand_prints_make_few_messages(client):
    def talk():
        for _ in range(10_000):
            print("x")

    task = client.submit(talk)
    client.outcome(task)
    assert len(client.printed(task)) == 20_000
    assert len(client.all("output", task=task)) < 200


# ---- cancel ---------------------------------------------------------------------------------------------------------


def test_cancel_interrupts_a_running_task_and_the_worker_goes_on(client):
    for busy in (lambda: __import__("time").sleep(600), lambda: [0 for _ in iter(int, 1)]):
        task = client.submit(busy)
        client.wait_for("started", task=task)
        client.say(pack("cancel_task", task=task))
        assert client.error(task)["code"] == "cancelled"
        assert client.result(client.submit(lambda: "alive")) == "alive"


def test_cancel_lets_finally_blocks_run(client):
    def tidy():
        import time

        try:
            time.sleep(600)
        finally:
            print("tidied")

    task = client.submit(tidy)
    client.wait_for("started", task=task)
    client.say(pack("cancel_task", task=task))
    client.outcome(task)
    assert client.printed(task) == "tidied\n"


def test_a_queued_task_is_cancelled_without_running(client, tmp_path):
    mark = tmp_path / "ran"
    first = client.submit(lambda: __import__("time").sleep(600))
    client.wait_for("started", task=first)
    second = client.submit(lambda path: open(path, "w").close(), str(mark))
    client.say(pack("cancel_task", task=second))
    assert client.error(second)["code"] == "cancelled"
    client.say(pack("cancel_task", task=first))
    client.outcome(first)
    assert not mark.exists()


def test_a_keyboard_interrupt_that_nobody_asked_for_is_the_tasks_own_error(client):
    def interrupt():
        raise KeyboardInterrupt

    error = client.error(client.submit(interrupt))
    assert (error["code"], error["context"]["type"]) == ("task_raised", "KeyboardInterrupt")


def test_a_late_cancel_never_strikes_the_next_task(client):
    short, next_one = client.send_function(lambda: None), client.send_function(lambda: sum(range(2000)))
    followers = []
    for _ in range(300):
        task = client.submit_known(short)
        client.say(pack("cancel_task", task=task))
        followers.append(client.submit_known(next_one))
    assert {client.result(task) for task in followers} == {1999000}


def test_cancel_works_after_a_task_that_ignored_sigint(client):
    def deaf():
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)

    client.outcome(client.submit(deaf))
    task = client.submit(lambda: __import__("time").sleep(600))
    client.wait_for("started", task=task)
    client.say(pack("cancel_task", task=task))
    assert client.error(task)["code"] == "cancelled"


def test_receipt_beats_and_cancel_go_on_while_python_holds_the_gil(client, tmp_path):
    gate = tmp_path / "gate"

    def hold_the_gil(path):
        import ctypes
        import os

        libc = ctypes.PyDLL(None)  # calls without releasing the GIL
        for _ in range(3000):
            libc.usleep(10_000)
            if libc.access(os.fsencode(path), 0) == 0:
                return "seen"

    task = client.submit(hold_the_gil, str(gate))
    client.wait_for("started", task=task)
    for number in range(1, 4):
        client.say(pack("beat", answer=False, sent_ns=number, clock_ns=0))
        answer, _ = client.wait_for("beat", sent_ns=number)
        assert answer["answer"] and answer["clock_ns"] > 0
    assert client.all("outcome", task=task) == []
    gate.touch()
    assert client.result(task) == "seen"


# ---- bulk data ------------------------------------------------------------------------------------------------------


def send_object(client: FakeClient, value, pickle_follows: bool = False) -> str:
    buffers = []
    data = pickle.dumps(value, 5, buffer_callback=buffers.append)
    parts = [bytes(buffer.raw()) for buffer in buffers]
    if pickle_follows:
        parts, data = [data, *parts], b""
    identity = secrets.token_hex(16)
    client.say(pack("object", object=identity, buffers=[len(part) for part in parts], pickle_follows=pickle_follows), data)
    for number, part in enumerate(parts):
        for offset in range(0, len(part), MIB):
            client.say(pack("chunk", of=identity, buffer=number, offset=offset), part[offset : offset + MIB])
    client.wait_for("have", object=identity)
    return identity


# ((<the value of the object at place 0>,), {}) as the client's serialize.py writes a Ref.
REF_AS_ARGUMENT = b"(cpounce.ref\n_held\n(K\x00tRt}\x86."


def submit_with_object(client: FakeClient, function, identity: str) -> str:
    task, function = secrets.token_hex(16), client.send_function(function)
    client.say(pack("task", task=task, function=function, objects=[identity], attempt=0), REF_AS_ARGUMENT)
    return task


def received(client: FakeClient, task: str):
    """The value of an outcome whose buffers came as chunks."""
    header, frames = client.outcome(task)
    assert header["ok"], header["error"]
    sizes = header["buffers"]

    def chunks():
        return client.all("chunk", of=task)

    client.wait(lambda: sum(len(frames[0]) for _, frames in chunks()) >= sum(sizes), "all chunks")
    buffers = [bytearray(size) for size in sizes]
    for chunk, (data,) in chunks():
        assert len(data) <= MIB
        buffers[chunk["buffer"]][chunk["offset"] : chunk["offset"] + len(data)] = data
    if header["pickle_follows"]:
        return pickle.loads(buffers[0], buffers=buffers[1:])
    return pickle.loads(frames[0], buffers=[*frames[1:], *buffers])


def test_an_object_arrives_whole_and_is_kept_for_the_next_task(client):
    numpy = pytest.importorskip("numpy")
    data = numpy.arange(3 * MIB, dtype=numpy.uint8) ^ 0x5A
    identity = send_object(client, {"data": data, "name": "x"})
    for _ in range(2):
        task = submit_with_object(client, lambda value: (value["name"], int(value["data"].sum()), value["data"].nbytes), identity)
        assert client.result(task) == ("x", int(data.sum()), data.nbytes)


@pytest.mark.parametrize("size", [1000, 4 * MIB], ids=["small", "large"])
def test_a_task_may_write_to_an_object_and_no_other_task_sees_it(client, size):
    numpy = pytest.importorskip("numpy")
    identity = send_object(client, numpy.zeros(size, dtype=numpy.uint8))

    def spoil(array):
        before = int(array.sum())
        array[:] = 7
        return array.flags.writeable, before, int(array[-1])

    assert [client.result(submit_with_object(client, spoil, identity)) for _ in range(3)] == [(True, 0, 7)] * 3


def test_an_object_that_a_task_keeps_survives_its_drop_unchanged(client):
    numpy = pytest.importorskip("numpy")
    identity = send_object(client, numpy.full(2 * MIB, 3, dtype=numpy.uint8))

    def keep(array):
        import builtins

        builtins.kept = array

    client.outcome(submit_with_object(client, keep, identity))
    client.say(pack("drop", objects=[identity]))
    send_object(client, numpy.full(2 * MIB, 9, dtype=numpy.uint8))  # would land in the same memory were it given back

    def look():
        import builtins

        return {int(value) for value in set(builtins.kept.tolist())}

    assert client.result(client.submit(look)) == {3}


def test_a_pickle_with_its_data_in_band_may_follow_as_chunks_both_ways(client):
    words = ["word %d" % n for n in range(300_000)]
    identity = send_object(client, words, pickle_follows=True)
    task = submit_with_object(client, lambda value: value[::-1], identity)
    assert received(client, task) == words[::-1]


def test_a_task_whose_object_is_not_here_fails_at_once(client):
    assert client.error(submit_with_object(client, lambda value: value, secrets.token_hex(16)))["code"] == "protocol"


def test_chunks_out_of_order_are_refused_and_the_object_can_be_sent_again(client):
    identity = secrets.token_hex(16)
    for offsets in ((0, MIB), (MIB,)):
        client.say(pack("object", object=identity, buffers=[2 * MIB], pickle_follows=True), b"")
        for offset in offsets[:1]:
            client.say(pack("chunk", of=identity, buffer=0, offset=offset), b"x" * MIB)
    refused, _ = client.wait_for("refused")
    assert refused["error"]["code"] == "protocol" and refused["error"]["context"]["object"] == identity
    assert client.all("have", object=identity) == []


@pytest.mark.parametrize("count", [10, 3 * MIB, 40 * MIB], ids=["inline", "chunked", "many chunks"])
def test_an_array_as_result_arrives_as_it_was(client, count):
    numpy = pytest.importorskip("numpy")

    def make(count):
        import numpy

        return {"first": numpy.arange(5), "large": numpy.arange(count, dtype=numpy.uint8), "last": numpy.arange(3)}

    value = received(client, client.submit(make, count))
    expected = make(count)
    assert all(numpy.array_equal(value[name], expected[name]) for name in expected)


def test_a_result_does_not_change_when_the_next_task_writes_to_what_it_was_made_of(client):
    numpy = pytest.importorskip("numpy")

    def step(view):
        import builtins

        import numpy

        if not hasattr(builtins, "state"):
            builtins.state = numpy.zeros(16 << 20, dtype=numpy.uint8)
        builtins.state += 1
        return builtins.state[10:] if view else builtins.state

    function = client.send_function(step)
    tasks = [client.submit_known(function, n % 2 == 1) for n in range(6)]
    values = [received(client, task) for task in tasks]
    assert [(int(value.min()), int(value.max())) for value in values] == [(n, n) for n in range(1, 7)]
    assert numpy.all(values[0] == 1)


def test_a_result_that_is_nobody_elses_is_not_copied(client):
    pytest.importorskip("numpy")

    def peak_after_making(count):
        import resource

        import numpy

        array = numpy.ones(count, dtype=numpy.uint8)
        return array, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def peak():
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    count = 200 * MIB
    _, while_made = received(client, client.submit(peak_after_making, count))
    after = client.result(client.submit(peak))
    assert (after - while_made) * 1024 < count / 2


def test_a_result_is_released_once_it_is_acknowledged(client):
    pytest.importorskip("numpy")

    def rss():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    before = client.result(client.submit(rss))
    task = client.submit(lambda: __import__("numpy").ones(100 << 20, dtype="u1"))
    received(client, task)
    client.say(pack("ack", tasks=[task]))
    assert client.result(client.submit(rss)) - before < 50 * MIB


def test_a_gigabyte_on_its_way_does_not_delay_an_answer(client):
    pytest.importorskip("numpy")
    task = client.submit(lambda: __import__("numpy").ones(300 << 20, dtype="u1"))
    client.outcome(task)
    client.say(pack("beat", answer=False, sent_ns=991, clock_ns=0))
    client.wait_for("beat", sent_ns=991)
    arrived = sum(len(frames[0]) for _, frames in client.all("chunk", of=task))
    assert arrived < 290 * MIB
    assert int(received(client, task)[-1]) == 1


# ---- delivery -------------------------------------------------------------------------------------------------------


def test_a_task_sent_twice_runs_once_and_its_outcome_is_sent_again(client, tmp_path):
    count = tmp_path / "count"

    def once(path):
        with open(path, "a") as file:
            file.write("x")

    function, task = client.send_function(once), secrets.token_hex(16)
    client.submit_known(function, str(count), task=task)
    client.outcome(task)
    client.submit_known(function, str(count), task=task)
    client.wait(lambda: len(client.all("outcome", task=task)) == 2, "the outcome again")
    client.say(pack("ack", tasks=[task]))
    client.submit_known(function, str(count), task=task)
    client.outcome(client.submit(lambda: None))
    assert count.read_text() == "x"


def test_outcomes_are_kept_for_a_client_that_lost_its_connection(world, tmp_path):
    gate, up = tmp_path / "gate", world.daemon.ready()

    def wait_for(path):
        import os
        import time

        while not os.path.exists(path):
            time.sleep(0.005)
        return "kept"

    lost = world.client
    running = lost.submit(wait_for, str(gate))
    lost.wait_for("started", task=running)
    queued = lost.submit(lambda: "queued")
    done_before = secrets.token_hex(16)
    lost.socket.close()
    gate.touch()

    again = FakeClient(world.daemon, lost.session)
    again.key = lost.key
    world.daemon.say(pack("admit", lease=LEASE, session=again.session, key=again.key.text))
    again.connect(up["endpoint"], up["key"])
    again.say(pack("query", tasks=[running, queued, done_before]))
    answer, _ = again.wait_for("query_is")
    assert answer["states"][2] == "unknown" and "unknown" not in answer["states"][:2]
    assert again.result(running) == "kept"
    assert again.result(queued) == "queued"


def test_a_session_sees_and_cancels_only_its_own_tasks(world):
    up, first = world.daemon.ready(), world.client
    second = FakeClient(world.daemon).connect(up["endpoint"], up["key"])
    task = first.submit(lambda: print("mine") or __import__("time").sleep(600))
    first.wait_for("started", task=task)
    first.wait(lambda: first.printed(task), "its output")
    second.say(pack("cancel_task", task=task))
    second.say(pack("query", tasks=[task]))
    answer, _ = second.wait_for("query_is")
    assert answer["states"] == ["unknown"]
    assert second.all("output") == [] and first.all("outcome", task=task) == []


def test_a_dismissed_session_loses_its_tasks_and_its_admission(world):
    up, first = world.daemon.ready(), world.client
    second = FakeClient(world.daemon).connect(up["endpoint"], up["key"])
    running = first.submit(lambda: __import__("time").sleep(600))
    first.wait_for("started", task=running)
    world.daemon.say(pack("dismiss", lease=LEASE, session=first.session, reason="its kernel is gone"))
    assert second.result(second.submit(lambda: "next")) == "next"
    first.say(pack("query", tasks=[running]))
    second.say(pack("beat", answer=False, sent_ns=5, clock_ns=0))
    second.wait_for("beat", sent_ns=5)
    first.turn()
    assert first.all("query_is") == [] and first.all("outcome") == []


def test_a_key_that_was_not_admitted_gets_nowhere(world):
    up = world.daemon.ready()
    stranger = FakeClient(world.daemon)
    admitted = stranger.key
    stranger.key = type(admitted)()  # another one
    stranger.open(up["endpoint"], up["key"])
    stranger.attach()

    def refused():
        return stranger.events.poll(0) and recv_monitor_message(stranger.events)["event"] == zmq.EVENT_HANDSHAKE_FAILED_AUTH

    stranger.wait(refused, "the refusal of the handshake")
    assert stranger.heard == []
    assert world.client.result(world.client.submit(lambda: 1)) == 1


@pytest.mark.parametrize(("version", "named"), [({"python": "3.2"}, "Python 3.2"), ({"pounce": "9.9.9"}, "9.9.9")])
def test_other_versions_are_refused_by_name(world, version, named):
    up = world.daemon.ready()
    other = FakeClient(world.daemon).connect(up["endpoint"], up["key"], until="refused", **version)
    refused, _ = other.all("refused")[0]
    assert refused["error"]["code"] == "version_mismatch" and named in refused["error"]["text"]


# ---- death and restart ----------------------------------------------------------------------------------------------


def crash(world, function, epoch: int = 0) -> dict:
    task = world.client.submit(function)
    down = world.daemon.wait_for("interpreter_down", epoch + 1)
    assert down["restarting"] and down["epoch"] == epoch
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
    context = world.daemon.wait_for("interpreter_down")["error"]["context"]
    assert context["running"] == gate
    assert set(context["started"].split(",")) == {done, gate}


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
        assert "did not start" in downs[-1]["error"]["text"]
        assert downs[-1]["error"]["context"]["exit_code"] == "7"
        assert "no such environment" in downs[-1]["error"]["context"]["last_lines"]
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


def test_two_hundred_epochs_of_a_data_loader_with_four_workers_under_load(client):
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

    task = client.submit(epochs, 200)
    deadline = time.monotonic() + 240
    while not client.all("outcome", task=task) and time.monotonic() < deadline:
        client.say(pack("beat", answer=False, sent_ns=1, clock_ns=0))
        client.daemon.turn(1)
        client.turn(20)
    assert client.result(task) == 200 * 28.0


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
    world.daemon.say(pack("end_worker", lease=LEASE, reason="idle", only_if_idle=True))
    world.daemon.wait(lambda: world.worker.process.poll() is not None, "the end of the worker")
    assert world.worker.process.returncode == 0
    assert world.daemon.all("interpreter_down") == []


def test_a_worker_with_a_task_stays_when_asked_to_leave_if_idle_and_says_so(world):
    task = world.client.submit(lambda: __import__("time").sleep(1) or "done")
    world.daemon.say(pack("end_worker", lease=LEASE, reason="idle", only_if_idle=True))
    world.daemon.wait(lambda: any(beat["running"] for beat in world.daemon.all("worker_beat")), "word of its task")
    assert world.client.result(task) == "done"
    assert world.client.result(world.client.submit(lambda: "and another")) == "and another"


def test_a_task_that_comes_while_the_worker_ends_is_told_to_have_never_arrived(world):
    def slow_to_end():
        import time
        print("here")
        try:
            time.sleep(600)
        except KeyboardInterrupt:
            time.sleep(1)

    first = world.client.submit(slow_to_end)
    world.client.wait(lambda: world.client.printed(first) == "here\n", "the task's start")
    world.daemon.say(pack("end_worker", lease=LEASE, reason="test"))
    world.client.wait(lambda: "ending" in world.worker.log.read_text(), "the supervisor's end")
    late = world.client.submit(lambda: 1)
    answer, _ = world.client.wait_for("query_is")
    assert (answer["tasks"], answer["states"]) == ([late], ["unknown"])


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
        world.daemon.door.close()
        world.daemon.hall.close()
        successor = FakeDaemon(world.daemon.folder)
        up = successor.wait_for("worker_up")
        assert (up["interpreter_ready"], up["epoch"]) == (True, 0)
        assert (up["endpoint"], up["key"]) == (before["endpoint"], before["key"])
        gate.touch()
        client = world.client
        client.daemon = successor
        assert client.result(task) == "done"
        successor.close()
    finally:
        world.close()


def test_the_dead_man_ends_an_idle_job_when_nobody_is_heard(tmp_path):
    world = World(tmp_path, "--dead-man-idle-s", "1", "--dead-man-busy-s", "600")
    try:
        world.client.socket.close()
        world.daemon.answer_beats = False
        world.daemon.wait(lambda: world.worker.process.poll() is not None, "the end")
        assert "neither pounced nor any client" in world.worker.log.read_text()
    finally:
        world.close()


def test_the_dead_man_waits_longer_for_a_running_task(tmp_path):
    world = World(tmp_path, "--dead-man-idle-s", "1", "--dead-man-busy-s", "3")
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


def test_the_dead_man_sleeps_while_a_client_alone_is_heard(tmp_path):
    world = World(tmp_path, "--dead-man-idle-s", "1", "--dead-man-busy-s", "1")
    try:
        world.daemon.answer_beats = False
        until = time.monotonic() + 4
        while time.monotonic() < until:
            assert world.client.result(world.client.submit(lambda: 1)) == 1
            world.client.turn(50)
        assert world.worker.process.poll() is None
    finally:
        world.close()
