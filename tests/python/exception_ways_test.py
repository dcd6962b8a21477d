"""What a call raises comes by every way to wait, carried by a RuntimeError where it would end something else."""

from __future__ import annotations

import shutil

import exception_cases
import pytest

PROGRAM = """
    import asyncio, concurrent.futures, functools
    sys.path.insert(0, os.getcwd())
    from exception_cases import BUILTIN, OF_A_CANCEL, fails_at_two

    def walked(iterator):  # to its end, with the errors on the way
        got, iterator = [], iter(iterator)
        while True:
            try: value = next(iterator, None)
            except BaseException as error: value = error
            if value is None: return got
            got.append(value)

    async def walked_async(iterator):
        got, iterator = [], aiter(iterator)
        while True:
            try: value = await anext(iterator, None)
            except BaseException as error: value = error
            if value is None: return got
            got.append(value)

    def outcome(call, *args, **kwargs):
        try: return call(*args, **kwargs)
        except BaseException as error: return [error]

    async def outcome_async(wanted):
        try: return await wanted
        except BaseException as error: return [error]

    def plain(values):
        if not isinstance(values, list): return values
        return [kinds(value) if fails(value) else value for value in values]

    def kinds(error):
        carried = [error.__cause__] if type(error) is RuntimeError and error.__cause__ else []
        return [type(one).__name__ for one in (error, *carried)]

    def by_callback(future):
        heard = []
        future.add_done_callback(lambda f: heard.append(outcome(f.result)))
        future.add_done_callback(lambda f: f.result())
        future.add_done_callback(lambda f: heard.append("told"))
        future.exception()
        while len(heard) < 2: time.sleep(0.001)
        return [*heard[0], heard[1]]

    async def by_asyncio(client, executor, call):
        loop = asyncio.get_running_loop()
        four = lambda: [client.submit(call, n) for n in range(4)]
        of_map = client.map(call, range(4), chunksize=4)
        completed = client.as_completed(four(), with_results=True)
        return {
            "await": await outcome_async(client.submit(call, 2)),
            "wrap_future": await outcome_async(asyncio.wrap_future(client.submit(call, 2))),
            "run_in_executor": await outcome_async(loop.run_in_executor(executor, call, 2)),
            "gather, asynchronous": await outcome_async(client.gather(four(), asynchronous=True)),
            "gather of a map, asynchronous": await outcome_async(client.gather(of_map, asynchronous=True)),
            "skip, asynchronous": await client.gather(client.map(call, range(4)), "skip", asynchronous=True),
            "async map": await walked_async(client.map(call, range(4), chunksize=1)),
            "async map of chunks": await walked_async(client.map(call, range(4), chunksize=4)),
            "async as_completed": sorted(map(value, await walked_async(completed)), key=fails),
        }

    def fails(value):
        return isinstance(value, BaseException)

    def value(pair):
        return pair[1] if isinstance(pair, tuple) else pair

    def ways(client, executor, dask, name):
        call = functools.partial(fails_at_two, name)
        four = lambda: [client.submit(call, n) for n in range(4)]
        of_dask = lambda: [dask.submit(call, n, pure=False) for n in range(4)]
        def passed_on(): yield from client.map(call, range(4), chunksize=1)
        return {
            "result": outcome(client.submit(call, 2).result),
            "exception": [client.submit(call, 2).exception()],
            "map": walked(client.map(call, range(4), chunksize=1)),
            "yield from a map": walked(passed_on()),
            "map of chunks": walked(client.map(call, range(4), chunksize=4)),
            "map, the first of a chunk": walked(client.map(call, [2, 3], chunksize=2)),
            "gather": outcome(client.gather, four()),
            "gather of a map": outcome(client.gather, client.map(call, range(4), chunksize=4)),
            "gather of a dict": outcome(client.gather, dict(enumerate(four()))),
            "skip": client.gather(four(), errors="skip"),
            "skip in a map": client.gather(client.map(call, range(4), chunksize=4), errors="skip"),
            "as_completed": sorted(map(value, walked(client.as_completed(four(), with_results=True))), key=fails),
            "executor.map": walked(executor.map(call, range(4))),
            "executor.map of chunks": walked(executor.map(call, range(4), chunksize=4)),
            "callbacks": by_callback(client.submit(call, 2)),
            **asyncio.run(by_asyncio(client, executor, call)),
            "Dask's result": outcome(dask.submit(call, 2, pure=False).result),
            "Dask's gather": outcome(dask.gather, of_dask()),
            "Dask's as_completed": sorted(map(value, walked(as_completed(of_dask(), with_results=True))), key=fails),
            "Dask's call that needs it": outcome(dask.submit(abs, dask.submit(call, 2, pure=False)).result),
            "Dask's await": asyncio.run(outcome_async(awaited(dask.submit(call, 2, pure=False)))),
        }

    async def awaited(future):
        return await future

    from pounce.compat.dask import Client, as_completed
    with pounce.Client() as client, client.get_executor() as executor:
        dask = Client()
        for name in [*BUILTIN, *OF_A_CANCEL]:
            report(**{name: {way: plain(found) for way, found in ways(client, executor, dask, name).items()}})
        dask.close()
        report(after=client.submit(abs, -1).result())
"""
NAMES = [*exception_cases.BUILTIN, *exception_cases.OF_A_CANCEL]
# Ways that give what came before it, and all others.
BEFORE = {"map", "yield from a map", "map of chunks", "async map", "async map of chunks", "executor.map"}
ALL_OTHERS = {"as_completed", "async as_completed", "Dask's as_completed"}
ITERATES = {"map", "yield from a map", "map of chunks", "map, the first of a chunk", "as_completed", "executor.map",
            "executor.map of chunks", "Dask's as_completed"}
ITERATES_ASYNC = {"async map", "async map of chunks", "async as_completed"}
AWAITS = {"await", "wrap_future", "run_in_executor", "gather, asynchronous", "gather of a map, asynchronous",
          "Dask's await", *ITERATES_ASYNC}
CARRIED = {"StopIteration": ITERATES | AWAITS, "StopAsyncIteration": ITERATES_ASYNC, "GeneratorExit": AWAITS,
           "asyncio.CancelledError": AWAITS}


@pytest.fixture(scope="module")
def reports(module_home):
    shutil.copy(exception_cases.__file__, module_home.folder)
    return module_home.run(PROGRAM).reports


def expected(name: str, way: str):
    """What the way gives: values before the error, the error's types, values behind it."""
    if way.startswith("skip"):
        return [0, 1, 3]
    error = ["RuntimeError", name.rpartition(".")[2]] if way in CARRIED.get(name, ()) else [name.rpartition(".")[2]]
    if way == "callbacks":
        return [error, "told"]
    return [0, 1, error] if way in BEFORE else [0, 1, 3, error] if way in ALL_OTHERS else [error]


@pytest.mark.parametrize("name", NAMES)
def test_an_exception_comes_as_an_error_by_every_way_to_wait(reports, name):
    assert reports[name] == {way: expected(name, way) for way in reports[name]}


def test_no_exception_of_a_call_ends_what_hears_of_others(reports):
    assert reports["after"] == 1


def test_a_chunk_that_is_cancelled_in_its_middle_is_cancelled_and_no_item_of_it_has_failed(home):
    run = home.run("""
        import pathlib
        def item(n):
            if n: pathlib.Path("begun").touch(); time.sleep(1000)
        with pounce.Client() as client:
            results = client.map(item, range(3), chunksize=3)
            (chunk, *_), = results._ahead
            while not os.path.exists("begun"): time.sleep(0.01)
            client.cancel(chunk)
            report(error=error_of(lambda: client.gather(results))["type"], cancelled=chunk.cancelled())
            report(after=client.submit(abs, -1).result())
    """)

    assert run.reports == {"error": "Cancelled", "cancelled": True, "after": 1}
