"""Cancelling: what runs and what will not stop."""

from __future__ import annotations

import pytest

PRELUDE = """
        def after_mark(do, mark):
            import pathlib
            pathlib.Path(mark).touch()
            return do()
        def running(do, **how):
            if os.path.exists("mark"): os.unlink("mark")
            future = client.submit(after_mark, do, os.path.abspath("mark"), **how)
            while not os.path.exists("mark"): time.sleep(0.01)
            return future
"""

STOPS_BY_ITSELF = {
    "it sleeps": "import time; time.sleep(1000)",
    "it computes": "sum(1 for _ in iter(int, 1))",
    "it waits for a child": "import subprocess; subprocess.run(['sleep', '1000'])",
    # Python 3.11 raises a RuntimeError then.
    "it makes a class": "import time; type('C', (), {'x': type('X', (), {'__set_name__': lambda *_: time.sleep(1000)})()})",
    # As when the signal comes just before the call: Python has noted it, and the call goes on.
    "its call goes on after the signal": "import signal; signal.siginterrupt(signal.SIGINT, False); os.read(os.pipe()[0], 1)",
}


@pytest.mark.parametrize("how", STOPS_BY_ITSELF)
def test_a_running_task_is_interrupted_and_its_worker_stays(home, how):
    run = home.run(PRELUDE + f"""
        def task():
            {STOPS_BY_ITSELF[how]}
        client = pounce.Client()
        there = client.submit(os.getpid).result(60)
        future = running(task)
        start = time.monotonic()
        client.cancel(future)
        report(error=error_of(lambda: future.result(60))["type"], seconds=time.monotonic() - start, cancelled=future.cancelled())
        report(same=client.submit(os.getpid).result(60) == there)
    """)

    assert run.reports["error"] == "Cancelled" and run.reports["cancelled"] and run.reports["same"]
    assert run.reports["seconds"] < 4, "before its grace is over"


# An interrupt that comes before the call has begun must not end it either.
DOES_NOT_STOP = {
    "a loop in C that keeps the GIL": """while True:
                try: sum(range(10**13))
                except KeyboardInterrupt: pass""",
    "a call in C that blocks": """import ctypes
            while True:
                try:
                    lock, libc = ctypes.create_string_buffer(64), ctypes.CDLL(None)
                    while not libc.pthread_mutex_lock(lock): pass
                except KeyboardInterrupt: pass""",
    "a function that swallows the interrupt": """import time
            while True:
                try: time.sleep(1000)
                except KeyboardInterrupt: print("no", flush=True)""",
}


@pytest.mark.parametrize("how", DOES_NOT_STOP)
def test_a_task_that_does_not_stop_ends_with_its_python_and_the_next_goes_on(home, how):
    run = home.run(PRELUDE + f"""
        def task():
            {DOES_NOT_STOP[how]}
        client = pounce.Client(cancel_grace=0.5)
        there = client.submit(os.getpid).result(60)
        client.submit(__import__, "ctypes").result(60)
        future = running(task, retries=3)
        others = [client.submit(pow, 2, n) for n in range(5)]
        client.cancel(future)
        report(error=error_of(lambda: future.result(60)), cancelled=future.cancelled())
        report(others=client.gather(others, timeout=60), jobs=len(client.queue()))
        report(new=client.submit(os.getpid).result(60) != there)
    """)

    assert run.reports["error"]["type"] == "Cancelled" and run.reports["cancelled"]
    assert run.reports["others"] == [1, 2, 4, 8, 16] and run.reports["jobs"] == 1 and run.reports["new"]


@pytest.mark.parametrize("home", [{"crash_limit": 2}], indirect=True)
def test_workers_that_were_killed_for_a_cancel_are_no_crashes(home):
    run = home.run(PRELUDE + """
        def task():
            sum(range(10**13))
        client = pounce.Client()
        for _ in range(3):
            future = running(task)
            client.cancel(future, grace=0)
            report(error=error_of(lambda: future.result(60))["type"])
        report(after=client.submit(pow, 2, 5).result(60), jobs=[job.job for job in client.queue()])
    """)

    assert run.reports["error"] == "Cancelled" and run.reports["after"] == 32


def test_a_task_may_take_its_time_to_save_and_its_result_counts(home):
    script = home.start("""
        def task(folder):
            import time, pathlib
            try:
                pathlib.Path(folder, "mark").touch()
                time.sleep(1000)
            except KeyboardInterrupt:
                pathlib.Path(folder, "saving").touch()
                while not pathlib.Path(folder, "saved").exists(): time.sleep(0.01)
                return "saved"
        client = pounce.Client(cancel_grace=0)
        future = client.submit(task, os.getcwd())
        while not os.path.exists("mark"): time.sleep(0.01)
        client.cancel(future, grace="10min")
        report(result=future.result(80))
    """)
    script.until(lambda _: (home.folder / "saving").exists(), "it saves")
    (home.folder / "saved").touch()

    assert script.ended().reports == {"result": "saved"}


def test_a_grace_that_is_none_is_refused(home):
    run = home.run("""
        client = pounce.Client()
        for grace in (-1, "soon", [], float("nan")):
            report(error=error_of(lambda: client.cancel([], grace=grace))["type"])
            assert error_of(lambda: pounce.Client(cancel_grace=grace))["type"] == "BadRequest"
    """)

    assert run.reports == {"error": "BadRequest"}


def test_what_came_together_with_a_print_that_was_interrupted_is_not_lost(home):
    run = home.run("""
        import pickle
        from pounce import _core
        client = pounce.Client()
        future = client.submit(time.sleep, 600)
        out = sys.stdout
        class Pressed:
            def write(self, text): sys.stdout = out; raise KeyboardInterrupt
            def flush(self): pass
        sys.stdout = Pressed()
        news = [_core.Printed(future._task.id, text=b"text"), _core.Ended(future._task.id, ok=True, pickle=pickle.dumps(7))]
        client._session._events.extend(news)
        report(pressed=error_of(client._session.handle)["type"])
        client._session.handle()
        report(result=future.result(0))
        client.close()
    """)

    assert run.reports == {"pressed": "KeyboardInterrupt", "result": 7}
