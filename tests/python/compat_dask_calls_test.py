"""Calls, futures, durations and executors of ``pounce.compat.dask``, as programs for Dask use them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pounce.compat.dask.durations import seconds
from pounce.errors import BadRequest


@pytest.mark.parametrize("text, expected", [
    ("10 ms", 0.01), ("10ms", 0.01), ("0.5s", 0.5), ("1.5 hours", 5400), ("2 minutes", 120), ("1 week", 604800), ("100us", 1e-4), ("3", 3), (".5", 0.5),
    ("1e-3 s", 0.001), ("ms", 0.001), ("5 Days", 432000), ("1h30m", 5400), (timedelta(minutes=1), 60), (4, 4), (None, None),
])
def test_a_duration_is_what_dask_reads(text, expected):
    assert seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["", " ", "soon", "5 apples", ".", True, [1], object()])
def test_what_is_no_duration_is_refused_with_its_keyword(text):
    with pytest.raises(BadRequest, match="interval= takes seconds, a timedelta or a text such as '10 ms'"):
        seconds(text, "interval")


def test_every_timeout_takes_a_text(home):
    run = home.run("""
        from pounce.compat.dask import Client, as_completed, wait
        with Client() as client:
            slow = client.submit(time.sleep, 1000)
            late = {"result": lambda: slow.result("10 ms"), "exception": lambda: slow.exception(timeout="0.01"), "wait": lambda: wait([slow], "10 milliseconds"),
                    "as_completed": lambda: next(as_completed([slow], timeout="20ms")), "map": lambda: next(client.get_executor().map(time.sleep, [900], timeout="30 ms"))}
            report(late={name: error_of(call)["type"] for name, call in late.items()})
            report(list=error_of(lambda: wait(slow, slow))["text"], number=[error_of(lambda: client.wait_for_workers(n))["text"] for n in (0, None)])
            client.cancel(slow)
            client.wait_for_workers(1, timeout="1 minute")
    """)

    assert run.reports["late"] == dict.fromkeys(("result", "exception", "wait", "as_completed", "map"), "Timeout")
    assert "timeout= is a future" in run.reports["list"] and "one list: wait([x, y])" in run.reports["list"]
    assert "must be a positive integer. Instead got 0" in run.reports["number"][0] and "got None" in run.reports["number"][1]


def test_a_future_is_an_argument_wherever_it_is(home):
    """In a namedtuple or an object it was refused; what a function captured still is, with the remedy."""
    run = home.run("""
        import collections, dataclasses
        from pounce.compat.dask import Client
        Point = collections.namedtuple("Point", "x y")
        class Joined(collections.namedtuple("Joined", "ab c")):
            def __new__(cls, a, b, c): return super().__new__(cls, f"{a}-{b}", c)
            def __getnewargs__(self): return (*self.ab.split("-"), self.c)
        @dataclasses.dataclass
        class Job:
            data: object
        with Client() as client:
            one, two = client.submit(abs, -1), client.scatter(2)
            def sum_of(point): return type(point).__name__, point.x + point.y
            report(named=client.submit(sum_of, Point(one, two)).result(), joined=client.submit(lambda j: (j.ab, j.c), Joined("a", "b", one)).result())
            report(object=client.submit(lambda job: job.data + 1, Job(one)).result(), captured=error_of(lambda: client.submit(lambda: one))["text"])
            point = client.scatter(Point(5, 6))
            report(scattered=[type(point).__name__, point.x.result()], gathered=client.gather(Point(one, [two])), shape=type(client.gather(Point(one, two))).__name__)
            same = [client.submit(lambda job: job.data, Job(client.submit(abs, -n))) for n in (3, 4, 3)]
            report(values=client.gather(same))
    """)

    assert "Pass it as an argument" in run.reports.pop("captured")
    assert run.reports | {"captured": 0} == {"captured": 0, "named": ["Point", 3], "joined": ["a-b", 1], "object": 2, "scattered": ["Point", 5],
                           "gathered": [1, [2]], "shape": "Point", "values": [3, 4, 3]}


def test_retries_run_a_call_again_after_its_own_error(home):
    """They counted lost workers alone; Dask's count errors."""
    run = home.run("""
        from pounce.compat.dask import Client
        def fails_twice(path):
            with open(path, "a") as file: file.write("x")
            times = os.path.getsize(path)
            if times < 3: raise ValueError(f"time {times}")
            return times
        here = os.getcwd()
        with Client() as client:
            report(third=client.submit(fails_twice, f"{here}/a", retries=2).result(), mapped=client.gather(client.map(fails_twice, [f"{here}/b"], retries=5)))
            report(too_few=error_of(client.submit(fails_twice, f"{here}/c", retries=1).result), none=error_of(client.submit(fails_twice, f"{here}/d").result))
            report(own=client.submit(lambda retries: retries, retries=1, pure=False).exception() is not None)
    """)

    assert (run.reports["third"], run.reports["mapped"]) == (3, [3])
    assert run.reports["too_few"]["text"].startswith("time 2") and run.reports["none"]["text"].startswith("time 1") and run.reports["own"]


def test_as_completed_gives_results_and_what_failed_as_dask_does(home):
    run = home.run("""
        import asyncio
        from pounce.compat.dask import Client, as_completed
        with Client() as client:
            wrong, fine, ended = client.submit(int, "x"), client.submit(abs, -5), client.submit(abs, -6)
            ended.result()
            ended.cancel()
            results = dict(as_completed([wrong, fine, ended], with_results=True, raise_errors=False))
            kind, error, traceback = results[wrong]
            report(kind=kind.__name__, error=isinstance(error, ValueError), traceback=traceback is not None, fine=results[fine], ended=type(results[ended]).__name__)
            ordered = as_completed([ended, fine], with_results=True)
            report(cancelled=type(next(ordered)[1]).__name__, value=next(ordered)[1], raised=error_of(lambda: list(as_completed([wrong], with_results=True)))["type"])
            waits = as_completed([client.submit(time.sleep, 1000), fine])
            next(waits)
            report(text=str(waits), refused=error_of(lambda: as_completed([1, 2]))["type"])
            async def main(): return [future.result() async for future in as_completed([fine])]
            report(asynchronous=asyncio.run(main()))
    """)

    assert run.reports == {"kind": "ValueError", "error": True, "traceback": True, "fine": 5, "ended": "Cancelled", "cancelled": "Cancelled",
                           "value": 5, "raised": "ValueError", "text": "<as_completed: waiting=1 done=0>", "refused": "TypeError", "asynchronous": [5]}


def test_a_future_whose_call_has_ended_can_be_cancelled(home):
    """As in Dask: its result is dropped, also for calls that would take it."""
    run = home.run("""
        from pounce.compat.dask import Client
        with Client() as client:
            future, kept = client.submit(abs, -1), client.submit(abs, -2)
            kept.result(), future.result()
            client.cancel([future])
            report(status=future.status, result=error_of(future.result)["type"], argument=error_of(lambda: client.submit(abs, future).result())["type"])
            report(again=client.submit(abs, -1).result(), kept=kept.result())
    """)

    assert run.reports == {"status": "cancelled", "result": "Cancelled", "argument": "Cancelled", "again": 1, "kept": 2}


def test_a_clients_executor_takes_the_keywords_of_submit(home):
    run = home.run("""
        import pickle, random, threading
        from concurrent.futures import Future, as_completed, wait
        from pounce.compat.dask import Client, SLURMCluster
        def number(): return os.urandom(8).hex()
        def fails_once(path):
            if not os.path.exists(path): open(path, "w").close(); raise ValueError("once")
            return "again"
        with Client() as client:
            with client.get_executor() as executor:
                same = [executor.submit(number) for _ in range(5)]
                report(same=len({future.result() for future in same}), futures=len(set(same)), kind=isinstance(same[0], Future), ended=len(wait(same).done))
                report(keyword=executor.submit(pow, 2, exp=3).result(), mapped=list(executor.map(abs, [-1, -2])))
                lock = executor.submit(lambda lock: 1, threading.Lock())
                report(lock=isinstance(lock.exception(), pickle.PicklingError))
            report(after=error_of(lambda: executor.submit(abs, 1))["type"])
            with client.get_executor(pure=False) as executor:
                report(others=len({future.result() for future in as_completed([executor.submit(number) for _ in range(5)])}), pure=executor.submit(abs, -1, pure=True).result())
            with client.get_executor(retries=1) as executor:
                report(retried=executor.submit(fails_once, os.path.abspath("mark")).result())
            report(unknown=error_of(lambda: client.get_executor(pure=True, foo=1, bar=2)))
            executor = client.get_executor()
            slow = executor.submit(time.sleep, 1000)
            executor.shutdown(wait=False)
            report(slow=error_of(lambda: slow.result(60))["type"], cancelled=slow.cancelled())
            left = client.get_executor(pure=False).map(time.sleep, [0, 1000, 1000])
            next(left)
            del left
            report(free=client.submit(abs, -7).result(60))
    """)

    assert run.reports.pop("unknown") == {"type": "TypeError", "text": "unsupported arguments to ClientExecutor: ['bar', 'foo']", "context": {}}
    assert run.reports | {"unknown": None} == {
        "same": 1, "futures": 5, "kind": True, "ended": 5, "keyword": 8, "mapped": [1, 2], "lock": True, "after": "RuntimeError", "others": 5, "pure": 1,
        "retried": "again", "slow": "Cancelled", "cancelled": True, "free": 7, "unknown": None}


def test_keys_names_and_the_current_client_are_as_in_dask(home):
    run = home.run("""
        from pounce.compat.dask import Client, default_client
        report(none=error_of(default_client)["text"])
        with Client() as outer:
            with Client(outer.cluster) as inner:
                report(inner=Client.current() is inner, given=default_client(outer) is outer)
            report(outer=Client.current() is outer, status=[outer.status, inner.status], closed=error_of(lambda: inner.submit(abs, 1))["type"])
            futures, others = outer.map(abs, [-1, -2], key="INC"), outer.map(abs, [-3, -4], key="INC")
            report(prefix=all(future.key.startswith("INC-") for future in futures), keys=len({future.key for future in [*futures, *others]}))
            report(impure=len({future.key for future in outer.map(abs, [-1, -1], key="INC", pure=False)}), own=[future.key for future in outer.map(abs, [-1], key=["k"])])
            future = futures[0]
            future.result()
            report(text=repr(future).partition(", key")[0], client=future.client is outer)
            first = outer.submit(abs, -5)
            first.release()
            report(released=first.key in outer.futures, anew=outer.submit(abs, -5) is not first, known=outer.submit(abs, -6).key in outer.futures, value=first.result())
            outer.start()
    """)

    assert "No clients found" in run.reports.pop("none")
    assert run.reports | {"none": 0} == {"none": 0, "closed": "ClientClosed", "inner": True, "given": True, "outer": True, "status": ["running", "closed"], "prefix": True, "keys": 4,
                                         "impure": 2, "own": ["k"], "text": "<Future: finished, type: builtins.int", "client": True,
                                         "released": False, "anew": True, "known": False, "value": 5}


def test_a_graph_may_contain_futures_and_give_them(home):
    pytest.importorskip("dask")
    run = home.run("""
        import dask.bag
        from dask import delayed
        from pounce.compat.dask import Client, Future, wait
        with Client() as client:
            future = client.submit(abs, -1)
            report(inside=client.get({"y": (abs, future)}, "y"), alias=client.get({"y": future}, "y"))
            later = client.get({"x": (abs, -1), "y": (sum, ["x", "x"])}, ["x", ["y"]], sync=False)
            report(kind=isinstance(later[0], Future), values=client.gather(later), one=client.get({"x": (abs, -3)}, "x", sync=False).result())
            def fails_once(path):
                if not os.path.exists(path): open(path, "w").close(); raise ValueError("once")
                return "again"
            bag = dask.bag.Bag({("b", n): client.submit(list, [n], key=("b", n)) for n in range(2)}, "b", 2)
            report(waited=len(wait(bag).done))
            client.cancel([bag])
            report(cancelled=[each.status for each in dict(bag.dask).values()])
            report(retried=delayed(fails_once)(os.path.abspath("mark")).compute(scheduler=client.get, retries=1))
    """)

    assert run.reports == {"inside": 1, "alias": 1, "kind": True, "values": [1, [2]], "one": 3, "waited": 2,
                           "cancelled": ["cancelled"] * 2, "retried": "again"}
