"""Many calls at once: map, gather, as_completed, wait, cancel, and the standard library's executor."""

from __future__ import annotations

import os


def test_map_is_ordered_lazy_and_takes_several_iterables(home):
    run = home.run("""
        import itertools
        with pounce.Client() as client:
            report(squares=list(client.map(lambda n: n * n, range(1000))) == [n * n for n in range(1000)])
            report(pairs=list(client.map(pow, [2, 3, 4, 5], itertools.count(1))))
            report(endless=list(itertools.islice(client.map(abs, itertools.count()), 5000)) == list(range(5000)))
            report(empty=list(client.map(abs, [])))
            report(again=client.submit(pow, 2, 2).result(20))
    """)

    assert run.reports == {"squares": True, "pairs": [2, 9, 64, 625], "endless": True, "empty": [], "again": 4}


def test_map_reads_its_input_no_further_ahead_than_a_few_chunks(home):
    run = home.run("""
        taken = []
        def source():
            for n in range(10_000):
                taken.append(n)
                yield n
        with pounce.Client() as client:
            results = client.map(lambda n: n, source(), chunksize=10)
            first = next(results)
            report(first=first, taken=len(taken))
    """)

    assert run.reports["first"] == 0 and run.reports["taken"] <= 60


def test_an_items_exception_comes_in_its_place_with_its_traceback(home):
    run = home.run("""
        import traceback
        def invert(n):
            return 1 / n
        with pounce.Client() as client:
            got = []
            try:
                for value in client.map(invert, [1, 2, 4, 0, 5], chunksize=5):
                    got.append(value)
            except ZeroDivisionError as e:
                report(got=got, trace="in invert" in "".join(traceback.format_exception(e)))
            report(after=client.submit(pow, 2, 2).result(20))
    """)

    assert run.reports == {"got": [1.0, 0.5, 0.25], "trace": True, "after": 4}


def test_a_million_items_cost_little_memory(home):
    items = 10_000_000 if os.environ.get("POUNCE_LONG_RUN") else 1_000_000

    run = home.run(f"""
        def peak():
            return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) // 1024
        with pounce.Client() as client:
            client.submit(abs, -1).result()
            before = peak()
            total = sum(client.map(abs, range(-{items}, 0)))
            report(total=total, grown_mb=peak() - before)
    """)

    assert run.reports["total"] == items * (items + 1) // 2 and run.reports["grown_mb"] < 200


def test_results_come_in_the_shape_of_the_question(home):
    run = home.run("""
        def fail():
            raise KeyError("no")
        with pounce.Client() as client:
            powers = [client.submit(pow, 2, n) for n in range(4)]
            report(list=client.gather(powers), dict=client.gather({"a": powers[1], "b": powers[2:]}), one=client.gather(powers[3]))
            report(skipped=client.gather([powers[0], client.submit(fail), powers[1]], errors="skip"))
            report(raised=error_of(lambda: client.gather([powers[0], client.submit(fail)]))["type"])
            slow = client.submit(time.sleep, 60)
            report(late=error_of(lambda: client.gather([slow], timeout=0.2))["type"])
    """)

    assert run.reports == {"list": [1, 2, 4, 8], "dict": {"a": 2, "b": [4, 8]}, "one": 8, "skipped": [1, 2], "raised": "KeyError",
                           "late": "Timeout"}


def test_a_map_is_gathered_as_a_list(home):
    run = home.run("""
        import asyncio
        def invert(n): return 1 / n
        with pounce.Client() as client:
            report(list=client.gather(client.map(abs, range(-1000, 0))) == list(range(1000, 0, -1)))
            report(nested=client.gather({"a": client.map(abs, [-1]), "b": [client.map(abs, [-2, 3]), client.submit(abs, -4)]}))
            begun = client.map(abs, range(5))
            next(begun)
            report(rest=client.gather(begun), raised=error_of(lambda: client.gather(client.map(invert, [1, 0, 2])))["type"])
            report(skipped=[client.gather(client.map(invert, [0, 1, 2, 0, 0, 4], chunksize=size), "skip") for size in (1, 4)])
            slow = client.map(lambda s: time.sleep(s) or s, [0, 0, 60], chunksize=1)
            report(late=error_of(lambda: client.gather(slow, timeout=0.5))["type"], kept=[next(slow), next(slow)])
            slow.close()
            async def main():
                return await client.gather([client.map(invert, [1, 0, 4]), client.submit(abs, -1)], "skip", asynchronous=True)
            report(awaited=asyncio.run(main()))
    """)

    assert run.reports == {"list": True, "nested": {"a": [1], "b": [[2, 3], 4]}, "rest": [1, 2, 3, 4], "raised": "ZeroDivisionError",
                           "skipped": [[1.0, 0.5, 0.25]] * 2, "late": "Timeout", "kept": [0, 0], "awaited": [[1.0, 0.25], 1]}


def test_a_set_of_futures_is_gathered_as_a_set(home):
    run = home.run("""
        with pounce.Client() as client:
            futures = [client.submit(pow, 2, n) for n in range(3)]
            kinds = client.gather([set(futures), frozenset(futures), tuple(futures)])
            report(right=kinds == [{1, 2, 4}, frozenset({1, 2, 4}), (1, 2, 4)])
    """)

    assert run.reports == {"right": True}


def test_futures_come_as_they_end_for_threads_and_for_coroutines(home):
    run = home.run("""
        import asyncio
        with pounce.Client() as client:
            futures = [client.submit(pow, 2, n) for n in range(5)]
            report(blocking=sorted(v for _, v in client.as_completed(futures, with_results=True)))
            async def main():
                found = []
                async for future in client.as_completed([client.submit(pow, 3, n) for n in range(4)]):
                    found.append(future.result())
                async for value in client.map(abs, range(-3, 0)):
                    found.append(value)
                return found
            found = asyncio.run(main())
            report(awaited=sorted(found[:4]), mapped=found[4:])
            slow = client.submit(time.sleep, 60)
            report(late=error_of(lambda: list(client.as_completed([slow], timeout=0.2)))["type"])
            done, waiting = client.wait([slow, futures[0]], timeout=0.1)
            report(done=len(done), waiting=len(waiting))
    """)

    assert run.reports == {"blocking": [1, 2, 4, 8, 16], "awaited": [1, 3, 9, 27], "mapped": [3, 2, 1], "late": "Timeout", "done": 1,
                           "waiting": 1}


def test_many_are_cancelled_at_once(home):
    run = home.run("""
        with pounce.Client() as client:
            futures = [client.submit(time.sleep, 60) for _ in range(500)]
            start = time.monotonic()
            client.cancel(futures)
            for future in futures:
                try: future.result(20)
                except pounce.Cancelled: pass
            report(seconds=time.monotonic() - start, after=client.submit(pow, 2, 2).result(20))
    """)

    assert run.reports["after"] == 4 and run.reports["seconds"] < 10


def test_the_executor_keeps_the_standard_librarys_contract(home):
    run = home.run("""
        import asyncio, concurrent.futures
        client = pounce.Client()
        with client.get_executor() as executor:
            report(map=list(executor.map(pow, [2, 3], [3, 2])), chunks=list(executor.map(abs, range(-10, 0), chunksize=4)))
            report(keywords=executor.submit(dict, retries=1, pure=2).result(20))
            async def main():
                return await asyncio.get_running_loop().run_in_executor(executor, pow, 2, 8)
            report(loop=asyncio.run(main()))
            future = executor.submit(abs, -1)
            future.result(20)
            report(again=error_of(lambda: future.set_result(3))["type"], late=error_of(lambda: list(executor.map(time.sleep, [1.5], timeout=0.2)))["type"])
            waiting = [executor.submit(time.sleep, 60) for _ in range(3)]
            executor.shutdown(wait=False, cancel_futures=True)
            client.cancel(waiting)
        report(closed=error_of(lambda: executor.submit(abs, 1))["type"], client=client.submit(abs, -4).result(20))
        client.close()
    """)

    assert run.reports == {"late": "Timeout", "map": [8, 9], "chunks": list(range(10, 0, -1)), "keywords": {"retries": 1, "pure": 2}, "loop": 256,
                           "again": "InvalidStateError", "closed": "RuntimeError", "client": 4}
