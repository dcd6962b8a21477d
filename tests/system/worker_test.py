"""The real pounce-worker with a real interpreter: where user code runs, its outcomes, its output, its cancel."""

from __future__ import annotations

import json
import os
import secrets
import signal
import stat
import sys
import time

import cloudpickle
from fake_daemon import LEASE, pack
from pounce._common import exceptions
from worker_world import World

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as a notebook's functions: this file is not on the workers


# ---- where user code runs -------------------------------------------------------------------------------------------


def test_user_code_runs_as_main_in_the_main_thread_of_an_ordinary_process(client, shared):
    def look():
        import multiprocessing
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

        return [name for name in ("numpy", "torch", "asyncio", "IPython", "json") if name in sys.modules]

    assert world.client.result(world.client.submit(modules)) == []


def test_user_code_sees_its_job_and_nothing_of_a_launch_or_of_pounce_in_its_environment(client):
    def environment():

        return dict(os.environ)

    seen = client.result(client.submit(environment))
    assert stat.S_ISFIFO(os.stat(seen.pop("POUNCE_REPORT")).st_mode)  # the one of pounce's own that programs read (docs/reports.md)
    assert {name: value for name, value in seen.items() if name.startswith(("SLURM", "POUNCE", "PYTHONSAFEPATH"))} == {
        "SLURM_JOB_ID": "77", "SLURMD_NODENAME": "g9", "POUNCE_WORKER_JOB": "77"}
    assert seen["CUDA_VISIBLE_DEVICES"] == "0,1"


def test_the_supervisor_announces_job_job_identity_node_and_devices(shared):
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
    error = exceptions.loads(frames[0])
    assert type(error) is LookupError
    names = []
    trace = error.__traceback__
    while trace:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert names == ["outer", "inner"]


def test_an_exception_whose_class_cannot_be_pickled_travels_as_words(client):
    def fail():
        import threading

        class Holding(RuntimeError):
            lock = threading.Lock()

        raise Holding("holds a lock")

    header, frames = client.outcome(client.submit(fail))
    assert frames[0] == b""
    assert "Holding" in header["error"]["context"]["type"] and "holds a lock" in header["error"]["text"]


def test_an_exception_whose_constructor_wants_more_than_its_arguments_travels_as_itself(client):
    def fail():
        class Picky(Exception):
            def __init__(self, one, two):
                super().__init__(one)

        raise Picky("first", "second")

    header, frames = client.outcome(client.submit(fail))
    error = exceptions.loads(frames[0])
    assert header["error"]["code"] == "task_raised" and "first" in header["error"]["text"]
    assert (type(error).__name__, error.args) == ("Picky", ("first",))


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
