"""``client.get_executor()`` and its futures, held to what the standard library promises of its own."""

from __future__ import annotations


def test_futures_tell_their_callbacks_once_in_order_and_survive_a_failing_one(home):
    run = home.run("""
        import threading
        told = []
        with pounce.Client() as client, client.get_executor() as executor:
            future = executor.submit(pow, 2, 5)
            for n in range(3):
                future.add_done_callback(lambda f, n=n: told.append((n, f.result(), f is future)))
            future.add_done_callback(lambda f: 1 / 0)
            future.add_done_callback(lambda f: told.append("after the failing one"))
            future.result(60)
            while len(told) < 4: time.sleep(0.01)
            future.add_done_callback(lambda f: told.append("at once"))
            report(told=told)
            failed = executor.submit(int, "x")
            report(error=type(failed.exception(60)).__name__, done=failed.done(), cancel=failed.cancel(), running=failed.running())
    """)

    assert run.reports["told"] == [[0, 32, True], [1, 32, True], [2, 32, True], "after the failing one", "at once"]
    assert run.reports["error"] == "ValueError" and run.reports["done"] and not run.reports["cancel"] and not run.reports["running"]
    assert "ZeroDivisionError" in run.stderr


def test_a_future_cannot_be_ended_twice(home):
    run = home.run("""
        from concurrent.futures import InvalidStateError
        with pounce.Client() as client, client.get_executor() as executor:
            done, cancelled = executor.submit(abs, -1), None
            done.result(60)
            for end in (lambda: done.set_result(2), lambda: done.set_exception(ValueError())):
                try: end()
                except InvalidStateError: report(refused=True)
            busy = executor.submit(time.sleep, 1000)
            while not busy.running(): time.sleep(0.01)
            waiting = [executor.submit(time.sleep, 1000) for _ in range(100)]
            last = waiting[-1]
            report(cancelled=last.cancel(), again=last.cancel(), is_cancelled=last.cancelled(), done=last.done())
            report(result=done.result())
            client.cancel([busy, *waiting])
    """)

    assert run.reports == {"refused": True, "cancelled": True, "again": True, "is_cancelled": True, "done": True, "result": 1}


def test_the_modules_wait_and_as_completed_take_its_futures(home):
    run = home.run("""
        import concurrent.futures as cf
        with pounce.Client() as client, client.get_executor() as executor:
            quick, wrong, slow = executor.submit(abs, -1), executor.submit(int, "x"), executor.submit(time.sleep, 1000)
            first = cf.wait([quick, slow], 60, cf.FIRST_COMPLETED)
            report(first=[first.done == {quick}, first.not_done == {slow}])
            failed = cf.wait([wrong, slow], 60, cf.FIRST_EXCEPTION)
            report(failed=failed.done == {wrong}, late=cf.wait([slow], 0.1).not_done == {slow})
            order = list(cf.as_completed([quick, wrong], 60))
            try: list(cf.as_completed([quick, slow, quick], 0.1))
            except TimeoutError: report(timeout=True)
            client.cancel(slow)
            report(order=len(order), cancelled=cf.wait([slow], 60).done == {slow})
    """)

    assert run.reports == {"first": [True, True], "failed": True, "late": True, "timeout": True, "order": 2, "cancelled": True}


def test_map_is_ordered_eager_and_ends_at_the_first_failure_or_the_timeout(home):
    run = home.run("""
        import itertools
        with pounce.Client() as client, client.get_executor() as executor:
            report(several=list(executor.map(pow, [2, 3, 4], [3, 2])), chunks=list(executor.map(abs, range(-100, 0), chunksize=7))[:3])
            got = executor.map(lambda n: 1 // n, [1, 1, 0, 1])
            report(values=[next(got), next(got)], error=error_of(lambda: next(got))["type"], then=list(got))
            start = time.monotonic()
            late = executor.map(time.sleep, [0, 1000], timeout=2)
            report(first=next(late), timeout=isinstance(error_of(lambda: next(late)), dict), soon=time.monotonic() - start < 30)
            report(zero=error_of(lambda: executor.map(abs, [1], chunksize=0))["type"])
            source = iter(range(10))
            executor.map(abs, source)
            report(eager=next(source, "all taken"))
            for task in list(client._session.under_way.values()): client._session.cancel(task)
    """)

    assert run.reports == {"several": [8, 9], "chunks": [100, 99, 98], "values": [1, 1], "error": "ZeroDivisionError", "then": [],
                           "first": None, "timeout": True, "soon": True, "zero": "ValueError", "eager": "all taken"}


def test_shutdown_waits_or_cancels_and_refuses_what_comes_later(home):
    run = home.run("""
        def nap(n): time.sleep(0.2); return n
        client = pounce.Client()
        with client.get_executor() as executor:
            inside = [executor.submit(nap, n) for n in range(3)]
        report(waited=[future.done() for future in inside], after=error_of(lambda: executor.submit(abs, 1))["type"])
        report(map=error_of(lambda: executor.map(abs, [1]))["type"])
        executor = client.get_executor()
        futures = [executor.submit(time.sleep, 3) for _ in range(50)]
        while not futures[0].running(): time.sleep(0.01)
        executor.shutdown(wait=True, cancel_futures=True)
        executor.shutdown()
        ends = ["cancelled" if future.cancelled() else future.result() for future in futures]
        report(first=ends[0], last=ends[-1], ended=all(future.done() for future in futures))
        client.close()
    """)

    assert run.reports == {"waited": [True] * 3, "after": "RuntimeError", "map": "RuntimeError", "first": None, "last": "cancelled",
                           "ended": True}


def test_shutdown_cancels_also_what_was_sent_ahead_and_lets_what_runs_end(home):
    run = home.run("""
        def wait_for(path):
            while not os.path.exists(path): time.sleep(0.01)
            return path
        client = pounce.Client()
        executor = client.get_executor()
        short = [executor.submit(abs, 1) for _ in range(100)]  # while they run the next are sent ahead
        runs, *others = [executor.submit(wait_for, "go") for _ in range(100)]
        while not runs.running(): time.sleep(0.01)
        executor.shutdown(wait=False, cancel_futures=True)
        open("go", "w").close()
        executor.shutdown(wait=True)
        report(ran=runs.result(), cancelled=sum(future.cancelled() for future in others))
        report(after=client.submit(abs, -1).result(60))
        client.close()
    """)

    assert run.reports == {"ran": "go", "cancelled": 99, "after": 1}


def test_a_program_that_ends_finishes_the_calls_of_its_executors_and_takes_no_more(home):
    run = home.run("""
        import atexit
        client = pounce.Client()
        def late():
            report(late=error_of(lambda: client.get_executor().submit(abs, 1))["text"])
        atexit.register(late)
        def slowly(n):
            time.sleep(0.2)
            return n
        for n in range(3):
            client.get_executor().submit(slowly, n).add_done_callback(lambda future, n=n: report(**{f"done{n}": future.result()}))
    """)

    assert run.reports == {"done0": 0, "done1": 1, "done2": 2, "late": "cannot schedule new futures after interpreter shutdown"}


def test_a_result_lives_no_longer_than_its_future(home):
    run = home.run("""
        import gc, weakref
        class Thing: pass
        class Odd(Exception): pass
        def make(*_): return Thing()
        def fail(): raise Odd()
        gc.disable()
        with pounce.Client() as client, client.get_executor() as executor:
            future = executor.submit(make)
            gone = [weakref.ref(future.result())]
            def told(future): gone.append(weakref.ref(future.result()))
            other = executor.submit(make)
            other.add_done_callback(told)
            while len(gone) < 2: time.sleep(0.01)
            failed = executor.submit(fail)
            try: failed.result()
            except Odd as error: gone.append(weakref.ref(error))
            del future, other, failed
            report(futures=[ref() is None for ref in gone])
            lives = []
            for value in executor.map(make, range(6), chunksize=3):
                ref = weakref.ref(value)
                del value
                lives.append(ref() is not None)
            report(lives=lives)
    """)

    assert run.reports["futures"] == [True] * 3 and run.reports["lives"] == [False] * 6


def test_an_event_loop_runs_calls_and_cancels_them(home):
    run = home.run("""
        import asyncio
        def stop(mark):
            import pathlib, time
            pathlib.Path(mark).touch()
            try: time.sleep(1000)
            finally: pathlib.Path(mark + ".stopped").touch()
        async def main(client):
            loop = asyncio.get_running_loop()
            with client.get_executor() as executor:
                report(loop=await loop.run_in_executor(executor, pow, 2, 8))
            futures = {"a": client.submit(abs, -3), "b": [client.submit(abs, -4)]}
            report(gathered=await client.gather(futures, asynchronous=True))
            report(mapped=[n async for n in client.map(abs, [-1, -2])])
            texts = [client.submit(int, text) for text in ("x", "7")]
            try: await client.gather(texts, asynchronous=True)
            except ValueError: report(failed=True)
            pairs = [value async for _, value in client.as_completed([client.submit(abs, -n) for n in range(3)], with_results=True)]
            report(pairs=sorted(pairs), skipped=await client.gather(texts, "skip", asynchronous=True))
            mark = os.path.abspath("mark")
            running = client.submit(stop, mark)
            while not os.path.exists(mark): await asyncio.sleep(0.01)
            ticks = 0
            late = client.map(time.sleep, [1000], timeout=0.1)
            for wait in (client.gather([running], timeout=0.1, asynchronous=True), anext(late)):
                try: await wait
                except pounce.Timeout: ticks += 1
            report(timeouts=ticks, still=running.running())
            try: await asyncio.wait_for(running, 0.1)
            except (TimeoutError, asyncio.TimeoutError): pass
            while not os.path.exists(mark + ".stopped"): await asyncio.sleep(0.01)
            report(stopped=True)
        with pounce.Client() as client:
            asyncio.run(main(client))
    """)

    assert run.reports == {"loop": 256, "gathered": {"a": 3, "b": [4]}, "mapped": [1, 2], "failed": True, "pairs": [0, 1, 2],
                           "skipped": [7], "timeouts": 2, "still": True, "stopped": True}


def test_what_cannot_be_pickled_is_the_exception_of_its_future(home):
    """submit raised it, so a program that asks its futures for errors ended there."""
    run = home.run("""
        import pickle, threading
        from concurrent.futures import wait
        class Odd:
            def __reduce__(self): raise RuntimeError("not today")
        def hold(lock): pass
        with pounce.Client() as client, client.get_executor() as executor:
            held, odd, fine = executor.submit(hold, threading.Lock()), executor.submit(hold, Odd()), executor.submit(abs, -1)
            report(done=[held.done(), odd.done()], kinds=[isinstance(each.exception(), pickle.PicklingError) for each in (held, odd)], fine=fine.result(60))
            report(held=error_of(held.result)["text"], odd=error_of(odd.result)["text"], waited=len(wait([held, odd, fine], 60).done), kind=type(held).__name__)
            told = []
            odd.add_done_callback(lambda future: told.append(future is odd))
            mapped = executor.map(hold, [threading.Lock()])
            report(told=told, mapped=error_of(lambda: next(mapped))["type"], name=error_of(lambda: executor.submit(hold, Odd()).result())["context"])
            result = executor.submit(threading.Lock)
            report(result=isinstance(result.exception(60), pickle.PicklingError))
    """)

    reports = run.reports
    assert (reports["done"], reports["kinds"], reports["fine"], reports["waited"]) == ([True, True], [True, True], 1, 3)
    assert "argument 0 of hold is a lock" in reports["held"] and "not today" in reports["odd"] and reports["kind"] == "Future"
    assert (reports["told"], reports["mapped"], reports["result"]) == ([True], "NotPicklable", True)
    assert reports["name"] == {"path": "argument 0 of hold"} and run.stderr == ""
