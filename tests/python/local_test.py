"""The whole of pounce with the local launcher: client, pounced, supervisor and worker as real processes."""

from __future__ import annotations

import os
import signal

import pytest


def test_a_function_runs_elsewhere_and_its_result_comes_back(home):
    run = home.run("""
        with pounce.Client() as client:
            here = os.getpid()
            there = client.submit(os.getpid).result(60)
            report(elsewhere=here != there, main=client.submit(lambda: __name__).result(60), cwd=client.submit(os.getcwd).result(60))
    """)

    assert run.reports == {"elsewhere": True, "main": "__main__", "cwd": str(home.folder)}


def test_nothing_is_leased_until_there_is_work(home):
    run = home.run("""
        client = pounce.Client()
        report(before=len(client.queue()))
        client.submit(pow, 2, 10).result(60)
        report(during=len(client.queue()))
    """)

    assert run.reports == {"before": 0, "during": 1}


def test_output_is_shown_live_and_in_order(home):
    script = home.start("""
        def talk(go_on):
            import sys, time, os, pathlib
            print("first")
            print("aside", file=sys.stderr)
            print("no newline", end="", flush=True)
            while not pathlib.Path(go_on).exists(): time.sleep(0.01)
            os.system("echo from a child")
            print("last")
        client = pounce.Client()
        client.submit(talk, os.getcwd() + "/go").result(60)
        print("after the result")
    """)

    script.until(lambda s: "no newline" in s.stdout and "aside" in s.stderr, "output while the function runs")
    (home.folder / "go").touch()

    lines = script.ended().stdout.splitlines()
    assert lines == ["first", "no newlinefrom a child", "last", "after the result"]


def test_output_keeps_its_order_while_other_threads_of_the_kernel_are_busy(home):
    """The notifier thread showed what came next before the waiting thread had shown what it held."""
    run = home.run("""
        import io, threading
        over = threading.Event()
        def compute():
            while not over.is_set(): sum(range(1000))
        def count():
            for n in range(8000):
                print(n, flush=True)
                sum(range(10_000))
        busy = [threading.Thread(target=compute) for _ in range(2)]
        for thread in busy: thread.start()
        client = pounce.Client()
        shown, sys.stdout = sys.stdout, io.StringIO()
        client.submit(count).result()
        text, sys.stdout = sys.stdout.getvalue(), shown
        over.set()
        report(in_order=[int(line) for line in text.split()] == list(range(8000)))
        client.close()
    """)

    assert run.reports == {"in_order": True}


def test_output_comes_when_nobody_waits(home):
    script = home.start("""
        client = pounce.Client()
        future = client.submit(print, "hello from there")
        while not os.path.exists("stop"): time.sleep(0.01)
        report(done=future.done())
    """)

    script.until(lambda s: "hello from there" in s.stdout, "output")
    (home.folder / "stop").touch()

    assert script.ended().reports == {"done": True}


def test_an_exception_is_the_functions_own_with_its_traceback(home):
    run = home.run("""
        import traceback
        class MyError(Exception):
            def __init__(self, a, b): super().__init__(a, b); self.b = b
        def inner(x): raise MyError(x, "b")
        def outer(x): inner(x)
        client = pounce.Client()
        try:
            client.submit(outer, "a").result(60)
        except MyError as e:
            report(args=e.args, b=e.b, frames=[f.name for f in traceback.extract_tb(e.__traceback__)][-2:], notes=e.__notes__)
        report(again=client.submit(pow, 2, 5).result(60))
    """)

    assert run.reports["args"] == ["a", "b"] and run.reports["b"] == "b"
    assert run.reports["frames"] == ["outer", "inner"]
    assert "raised on" in run.reports["notes"][0]
    assert run.reports["again"] == 32


def test_arrays_arrive_writable_on_both_sides_whatever_their_size(home):
    run = home.run("""
        import numpy as np
        def change(a):
            a += 1
            return a
        client = pounce.Client()
        for name, n in dict(small=10, large=3_000_000).items():
            mine = np.zeros(n)
            theirs = client.submit(change, mine).result(60)
            theirs[0] = 7
            report(**{name: [float(mine.sum()), float(theirs[1]), theirs.shape[0], bool(theirs.flags.writeable)]})
        f = client.submit(lambda a: a.flags.f_contiguous, np.asfortranarray(np.zeros((2000, 1000))))
        report(fortran=bool(f.result(60)))
    """)

    assert run.reports == {"small": [0.0, 1.0, 10, True], "large": [0.0, 1.0, 3_000_000, True], "fortran": True}


def test_large_pickles_that_are_not_arrays_travel(home):
    run = home.run("""
        client = pounce.Client()
        numbers = list(range(500_000))
        report(back=client.submit(lambda x: x[::-1], numbers).result(60) == numbers[::-1])
        report(text=len(client.submit(lambda s: s + s, "x" * 3_000_000).result(60)))
    """)

    assert run.reports == {"back": True, "text": 6_000_000}


def test_scattered_data_is_sent_once_and_arrives_at_any_depth(home):
    run = home.run("""
        import numpy as np
        client = pounce.Client()
        data = np.arange(2_000_000.0)
        ref = client.scatter(data)
        same = client.scatter(data.copy())
        report(same=ref == same, size=ref.nbytes > 16_000_000)
        sums = [client.submit(lambda x, more: float(x.sum() + more["deep"][0][0]), ref, more={"deep": [ref]}) for _ in range(3)]
        report(sums=[s.result(60) for s in sums] == [float(data.sum())] * 3)
        client.submit(lambda x: x.fill(0), ref).result(60)
        report(isolated=client.submit(lambda x: float(x[5]), ref).result(60))
        first = client.submit(lambda x: None, ref); first.result(60)
        report(sent_again=first.timings()["send"] > 1.0)
    """)

    assert run.reports == {"same": True, "size": True, "sums": True, "isolated": 5.0, "sent_again": False}


def test_functions_with_much_data_in_them_travel(home):
    run = home.run("""
        import numpy as np
        weights = np.ones(1_000_000)
        client = pounce.Client()
        report(total=client.submit(lambda: float(weights.sum())).result(60))
        weights[:] = 2
        report(changed=client.submit(lambda: float(weights.sum())).result(60))
    """)

    assert run.reports == {"total": 1e6, "changed": 2e6}


def test_a_redefined_function_is_the_new_one(home):
    run = home.run("""
        client = pounce.Client()
        k = 1
        def f(): return k
        report(first=client.submit(f).result(60))
        k = 2
        report(second=client.submit(f).result(60))
        def f(): return "new"
        report(third=client.submit(f).result(60))
    """)

    assert run.reports == {"first": 1, "second": 2, "third": "new"}


def test_what_cannot_be_pickled_is_named_and_nothing_is_leased(home):
    run = home.run("""
        import threading
        lock = threading.Lock()
        client = pounce.Client()
        report(function=error_of(lambda: client.submit(lambda: lock)))
        report(argument=error_of(lambda: client.submit(print, 1, {"x": [lock]})))
        report(jobs=len(client.queue()))
        def make(): import threading; return threading.Lock()
        report(result=error_of(lambda: client.submit(make).result(60)))
    """)

    assert run.reports["function"]["type"] == "NotPicklable" and "global lock" in run.reports["function"]["text"]
    assert "argument 1 of print['x'][0]" in run.reports["argument"]["text"]
    assert run.reports["jobs"] == 0
    assert run.reports["result"]["type"] == "ResultNotPicklable" and "lock" in run.reports["result"]["text"]


def test_what_waits_is_cancelled_at_once_and_what_runs_is_interrupted(home):
    run = home.run("""
        def wait():
            import time
            try:
                open("begun", "w").close()
                while True: time.sleep(0.01)
            except KeyboardInterrupt:
                print("interrupted there", flush=True)
                raise
        client = pounce.Client()
        running = client.submit(wait)
        waiting = client.submit(wait)
        while not os.path.exists("begun"): time.sleep(0.01)
        report(state=[running.running(), waiting.running()])
        report(queued=waiting.cancel())
        report(by_future=running.cancel())
        client.cancel(running)
        report(why=error_of(lambda: running.result(60))["type"], again=client.submit(pow, 2, 5).result(60))
    """)

    assert run.reports == {"state": [True, False], "queued": True, "by_future": False, "why": "Cancelled", "again": 32}
    assert "interrupted there" in run.stdout


def test_stopping_a_wait_cancels_the_task(home):
    script = home.start("""
        def wait(mark):
            import time, pathlib
            pathlib.Path(mark).touch()
            try:
                while True: time.sleep(0.01)
            finally:
                pathlib.Path(mark).unlink()
        client = pounce.Client()
        future = client.submit(wait, os.getcwd() + "/mark")
        began = None
        try:
            future.result()
        except KeyboardInterrupt:
            report(stopped=True)
        report(why=error_of(lambda: future.result(60))["type"])
        report(again=client.submit(pow, 2, 5).result(60))
    """)
    mark = home.folder / "mark"
    script.until(lambda _: mark.exists(), "the function runs")

    script.process.send_signal(signal.SIGINT)

    assert script.ended().reports == {"stopped": True, "why": "Cancelled", "again": 32}
    assert not mark.exists()


def test_a_wait_in_the_queue_can_be_stopped_too(home):
    home.config.write_text('{"launcher": "local", "stand_in_gpus": 0}')
    script = home.start("""
        client = pounce.Client()
        first = client.submit(time.sleep, 1000)
        while not first.running(): time.sleep(0.01)
        report(waiting=True)
        try:
            client.submit(pow, 2, 5).result()
        except KeyboardInterrupt:
            report(stopped=True)
        client.cancel(first)
    """)
    script.until(lambda s: "waiting" in s.reports, "the second task waits")

    script.process.send_signal(signal.SIGINT)

    assert script.ended().reports["stopped"] is True


DEATHS = {
    "os._exit": ("import os; os._exit(7)", "7"),
    "SIGKILL": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
    "SIGSEGV": ("import ctypes; print('last words\\n', end='', flush=True); ctypes.string_at(0)", "SIGSEGV"),
}


@pytest.mark.parametrize("how", DEATHS)
def test_a_worker_that_dies_is_told_and_the_next_task_has_a_new_one(home, how):
    statement, word = DEATHS[how]

    run = home.run(f"""
        def die():
            {statement}
        client = pounce.Client()
        report(error=error_of(lambda: client.submit(die).result(60)))
        report(again=client.submit(pow, 2, 5).result(60))
    """)

    error = run.reports["error"]
    assert error["type"] == "WorkerCrashed" and word in error["text"], error
    if how == "SIGSEGV":
        assert "last words" in error["context"]["last_lines"]
    assert run.reports["again"] == 32


def test_retries_run_a_lost_task_again_and_nothing_else_does(home):
    run = home.run("""
        def die_once(mark):
            import os, pathlib
            mark = pathlib.Path(mark)
            if not mark.exists():
                mark.touch()
                os._exit(3)
            return "second time"
        client = pounce.Client()
        report(retried=client.submit(die_once, os.getcwd() + "/a", retries=1).result(60))
        report(not_retried=error_of(lambda: client.submit(die_once, os.getcwd() + "/b").result(60))["type"])
    """)

    assert run.reports == {"retried": "second time", "not_retried": "WorkerCrashed"}


def test_a_task_goes_on_while_pounced_is_killed_and_its_result_arrives(home):
    script = home.start("""
        def slow(go_on):
            import time, pathlib
            while not pathlib.Path(go_on).exists(): time.sleep(0.01)
            return "done"
        client = pounce.Client()
        future = client.submit(slow, os.getcwd() + "/go")
        while not future.running(): time.sleep(0.01)
        report(running=True)
        report(result=future.result(60))
        report(next=client.submit(pow, 2, 5).result(60), jobs=len(client.queue()))
    """)
    script.until(lambda s: "running" in s.reports, "the task runs")
    import os

    os.kill(home.endpoint()["pid"], signal.SIGKILL)
    (home.folder / "go").touch()

    assert script.ended().reports == {"running": True, "result": "done", "next": 32, "jobs": 1}


def test_a_forked_child_is_told_and_the_parent_goes_on(home):
    run = home.run("""
        client = pounce.Client()
        report(before=client.submit(pow, 2, 3).result(60))
        pid = os.fork()
        if pid == 0:
            report(child=error_of(lambda: client.submit(pow, 2, 4))["type"])
            del client
            os._exit(0)
        report(status=os.waitpid(pid, 0)[1])
        report(after=client.submit(pow, 2, 5).result(60))
    """)

    assert run.reports == {"before": 8, "child": "Forked", "status": 0, "after": 32}


def test_a_process_pool_of_the_kernel_does_not_disturb_the_client(home):
    run = home.run("""
        import multiprocessing
        client = pounce.Client()
        client.submit(pow, 2, 3).result(60)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            report(pool=pool.map(abs, [-1, -2]))
        report(after=client.submit(pow, 2, 5).result(60))
    """)

    assert run.reports == {"pool": [1, 2], "after": 32}


def test_a_worker_may_fork_processes_of_its_own(home):
    run = home.run("""
        def pool():
            import multiprocessing
            with multiprocessing.get_context("fork").Pool(2) as pool:
                return pool.map(abs, range(-100, 0))
        client = pounce.Client()
        report(sum=sum(client.submit(pool).result(60)), again=sum(client.submit(pool).result(60)))
    """)

    assert run.reports == {"sum": 5050, "again": 5050}


@pytest.mark.skipif(not os.environ.get("POUNCE_LONG_RUN"),
                    reason="takes a minute, and tests/system/worker_life_test.py has 40 epochs: tests/run --long runs it")
@pytest.mark.timeout(300)
def test_a_data_loader_forks_its_workers_two_hundred_times_under_load(home):
    pytest.importorskip("torch")

    run = home.run("""
        import threading
        def train(epochs):
            import torch
            data = torch.utils.data.TensorDataset(torch.arange(32.0))
            loader = torch.utils.data.DataLoader(data, batch_size=32, num_workers=4)
            return [float(batch.sum()) for _ in range(epochs) for (batch,) in loader]
        client = pounce.Client()
        load = [client.submit(bytes, 4_000_000) for _ in range(50)]
        busy = threading.Thread(target=lambda: [future.result(150) for future in load])
        busy.start()
        other = pounce.Client()  # keeps this kernel's and the worker's I/O threads busy while the loader forks
        sums = client.submit(train, 200)
        while not sums.done():
            other.submit(pow, 2, 3).result(60)
            client.scatter(os.urandom(2_000_000))
        report(count=len(sums.result()), right=set(sums.result()) == {496.0})
        busy.join()
    """, seconds=240)

    assert run.reports == {"count": 200, "right": True}


def test_a_scattered_loader_with_sixteen_workers_gives_the_very_float_that_it_gives_here(home):
    pytest.importorskip("torch")

    run = home.run("""
        import torch
        torch.set_num_threads(1)
        data = torch.utils.data.TensorDataset(torch.rand(640, 8, generator=torch.Generator().manual_seed(1)))
        loader = torch.utils.data.DataLoader(data, batch_size=20, num_workers=16, multiprocessing_context="fork")
        def loss(loader):
            torch.set_num_threads(1)
            return sum(float(x.exp().sum()) for (x,) in loader)
        client = pounce.Client()
        there = client.submit(loss, client.scatter(loader)).result(80)
        report(there=there.hex(), here=loss(loader).hex())
    """)

    assert run.reports["there"] == run.reports["here"]


def test_scattered_data_never_passes_through_pounced(home):
    run = home.run("""
        import numpy
        def peak():
            return next(int(line.split()[1]) for line in open(f"/proc/{pounced_pid()}/status") if line.startswith("VmHWM"))
        client = pounce.Client()
        client.submit(pow, 2, 3).result(60)
        before = peak()
        size = client.submit(len, client.scatter(numpy.ones(2**30, dtype=numpy.uint8))).result(80)
        report(size=size, grown_kb=peak() - before)
    """)

    assert run.reports["size"] == 2**30 and run.reports["grown_kb"] < 2000


def test_futures_can_be_awaited_and_waited_for_together(home):
    run = home.run("""
        import asyncio, concurrent.futures
        client = pounce.Client()
        async def main():
            return await asyncio.gather(*[client.submit(pow, 2, n) for n in range(5)])
        report(awaited=asyncio.run(main()))
        futures = [client.submit(pow, 3, n) for n in range(5)]
        report(completed=sorted(f.result() for f in concurrent.futures.as_completed(futures, timeout=60)))
        called = []
        future = client.submit(pow, 2, 6)
        future.add_done_callback(lambda f: called.append(f.result()))
        concurrent.futures.wait([future], timeout=60)
        while not called: time.sleep(0.01)
        report(called=called)
    """)

    assert run.reports == {"awaited": [1, 2, 4, 8, 16], "completed": [1, 3, 9, 27, 81], "called": [64]}


def test_many_threads_share_a_client(home):
    run = home.run("""
        from concurrent.futures import ThreadPoolExecutor
        client = pounce.Client()
        def one(n): return client.submit(pow, n, 2).result(60)
        with ThreadPoolExecutor(8) as pool:
            report(right=list(pool.map(one, range(200))) == [n * n for n in range(200)])
    """)

    assert run.reports == {"right": True}


def test_a_result_that_takes_longer_than_the_timeout_still_comes(home):
    run = home.run("""
        client = pounce.Client()
        client.submit(pow, 2, 2).result(60)
        future = client.submit(time.sleep, 1)
        report(first=error_of(lambda: future.result(timeout=0.1))["type"], then=future.result(60))
    """)

    assert run.reports == {"first": "Timeout", "then": None}


TIMED = """
    def nap(seconds):
        import time
        until = time.monotonic() + seconds
        while time.monotonic() < until: pass
    client = pounce.Client()
    for temperature in ("cold", "warm", "warm again", "warm still"):
        start = time.perf_counter()
        future = client.submit(nap, {seconds})
        future.result(60)
        wall = time.perf_counter() - start
        report(**{{temperature: dict(wall=wall, **future.timings())}})
"""


@pytest.mark.parametrize("seconds", [0, 0.1, 2])
def test_the_parts_of_a_call_add_up_to_its_wall_time(home, seconds):
    """But for the time in which somebody else had the processor: the least of what is missing in four calls."""
    run = home.run(TIMED.format(seconds=seconds))

    missing, runs = [], []
    for temperature, parts in run.reports.items():
        wall, peak_memory, imports = parts.pop("wall"), parts.pop("peak_memory"), parts.pop("import")
        assert 0 <= imports <= parts["send"] + parts["run"]
        assert peak_memory > 1_000_000
        assert all(value >= 0 for value in parts.values()), parts
        missing.append(abs(sum(parts.values()) - wall) / max(0.01 * wall, 0.002))
        runs.append(parts["run"])
        assert temperature == "cold" or parts["queue"] == parts["boot"] == 0
    assert min(missing) <= 1 and missing[0] <= 10, run.reports
    assert min(runs) == pytest.approx(seconds, rel=0.05, abs=0.05), run.reports
    assert run.reports["cold"]["boot"] > 0


def test_the_memory_that_a_call_took_is_its_own_and_not_what_an_earlier_one_took(home):
    run = home.run("""
        def take(megabytes):
            return len(bytearray(megabytes << 20))
        def broken(megabytes):
            take(megabytes)
            raise ValueError("no")
        with pounce.Client(launcher="local") as client:
            for name, call in dict(small=(take, 1), large=(take, 300), small_again=(take, 1), failed=(broken, 200)).items():
                future = client.submit(*call)
                future.exception(60)
                report(**{name: future.timings()["peak_memory"] / 2**20})
            kept = client.options(name="kept").submit(take, 300)
            kept.result(60)
            report(kept=kept.timings()["peak_memory"] / 2**20)
            kept.forget()
    """)

    mib = run.reports
    assert 290 < mib["large"] - mib["small"] < 330 and 190 < mib["failed"] - mib["small"] < 230 and mib["kept"] > 300
    assert abs(mib["small_again"] - mib["small"]) < 30


def test_what_a_client_asks_for_is_what_its_tasks_get(home):
    run = home.run("""
        with pounce.Client(gpus=1) as client:
            client.submit(pow, 2, 10).result(60)
            report(devices=[row.devices for row in client.queue()], again=client.options(gpus=1).submit(os.getpid).result(60))
            report(jobs=len(client.queue()))
    """)

    assert run.reports["devices"] == ["CPU standing in"] and run.reports["jobs"] == 1


def test_a_stand_in_gpu_is_said_to_be_a_cpu(home):
    run = home.run("""
        def boom(): raise ValueError("no")
        client = pounce.Client()
        try:
            client.options(gpus=1).submit(boom).result(60)
        except ValueError as e:
            report(notes=e.__notes__)
        report(devices=[row.devices for row in client.queue()])
    """)

    assert "CPU standing in" in run.reports["notes"][0]
    assert run.reports["devices"] == ["CPU standing in"]


def test_more_gpus_than_there_are_is_refused_at_once(home):
    run = home.run("""
        client = pounce.Client()
        report(error=error_of(lambda: client.options(gpus=9).submit(pow, 2, 5).result(60)))
    """)

    assert run.reports["error"]["type"] == "Unsatisfiable"


def test_a_cancel_that_comes_with_its_task_ends_it(home):
    """The worker once took that interrupt for a late one of the task before, and ran the task to its end."""
    run = home.run("""
        client = pounce.Client()
        client.submit(pow, 2, 3).result()
        for _ in range(30):
            future = client.submit(time.sleep, 1000)
            client.cancel(future)
            report(error=error_of(lambda: future.result(20)))
            assert future.cancelled()
        report(after=client.submit(pow, 2, 5).result(20))
    """)

    assert run.reports["error"]["type"] == "Cancelled" and run.reports["after"] == 32


def test_a_closed_client_says_so_and_its_tasks_end(home):
    run = home.run("""
        client = pounce.Client()
        future = client.submit(time.sleep, 1000)
        client.close()
        client.close()
        report(task=error_of(lambda: future.result(60))["type"], submit=error_of(lambda: client.submit(pow, 2, 5))["type"])
    """)

    assert run.reports == {"task": "ClientClosed", "submit": "ClientClosed"}


def test_a_program_that_just_ends_gives_its_lease_back(home):
    home.run("""
        client = pounce.Client()
        client.submit(pow, 2, 5).result(60)
    """)

    run = home.run("""
        client = pounce.Client()
        deadline = time.monotonic() + 30
        while len(client.queue()) and time.monotonic() < deadline: time.sleep(0.05)
        report(jobs=len(client.queue()))
    """)

    assert run.reports == {"jobs": 0}


@pytest.mark.parametrize("home", [{"idle_release_s": 1}], indirect=True)
def test_an_idle_lease_is_given_back_and_the_next_task_gets_a_new_one(home):
    run = home.run("""
        client = pounce.Client()
        first = client.submit(os.getpid).result(60)
        deadline = time.monotonic() + 30
        while len(client.queue()) and time.monotonic() < deadline: time.sleep(0.05)
        report(idle=len(client.queue()), fresh=client.submit(os.getpid).result(60) != first)
    """)

    assert run.reports == {"idle": 0, "fresh": True}


@pytest.mark.parametrize("home", [{"idle_release_s": 1}], indirect=True)
def test_scattered_data_is_sent_again_after_a_lease_was_given_back(home):
    run = home.run("""
        import numpy as np
        client = pounce.Client()
        ref = client.scatter(np.ones(1_000_000))
        report(first=client.submit(lambda x: float(x.sum()), ref).result(60))
        deadline = time.monotonic() + 30
        while len(client.queue()) and time.monotonic() < deadline: time.sleep(0.05)
        report(second=client.submit(lambda x: float(x.sum()), ref).result(60))
    """)

    assert run.reports == {"first": 1e6, "second": 1e6}


@pytest.mark.parametrize("home", [{"idle_release_s": 1}], indirect=True)
def test_a_stream_of_short_tasks_keeps_its_lease(home):
    run = home.run("""
        client = pounce.Client()
        first = client.submit(os.getpid).result(60)
        until = time.monotonic() + 5
        same = True
        while time.monotonic() < until:
            same = same and client.submit(os.getpid).result(60) == first
        report(same=same)
    """)

    assert run.reports == {"same": True}


def test_a_pipeline_ends_although_pounced_lives_on(home):
    import subprocess
    import sys

    (home.folder / "first.py").write_text(
        "import pounce\nclient = pounce.Client()\nprint(client.submit(pow, 2, 10).result(60))\nclient.close()\n"
    )

    done = subprocess.run(
        f"{sys.executable} first.py | cat", shell=True, cwd=home.folder, env=home.environment, capture_output=True, timeout=60
    )

    assert done.stdout == b"1024\n"
