"""A future as an argument of another call: it arrives as its result, and whoever waits for it occupies no worker."""

from __future__ import annotations

import pytest
from conftest import made_home

from pounce_bench import bridge

MIB = 2**20

PROGRAM = """
    import concurrent.futures, gc, threading, weakref
    import numpy
    def add(a, b): return a + b
    def gate(value, name="gate"):
        while not os.path.exists(name): time.sleep(0.01)
        return value
    def fails(): raise KeyError("as asked")
    def of(future):
        try:
            return future.result(60)
        except BaseException as error:
            return [type(error).__name__, str(error), *getattr(error, "__notes__", ())]
    class Box:
        def __init__(self, inside): self.inside = inside
    def shape(x): return str(x)
    with pounce.Client() as client:
        submit = client.submit
        one = submit(add, 0, 1)
        report(positional=submit(add, one, 2).result(60), keyword=submit(add, a=one, b=one).result(60))
        nest = [one, (one, {one: 2}), {"k": [submit(add, one, one)]}, {3}]
        report(nested=submit(shape, nest).result(60), inside=submit(lambda box: box.inside + 1, Box(one)).result(60))
        report(mapped=list(client.map(add, [submit(add, n, n) for n in range(5)], [one] * 5)),
               chunks=list(client.map(add, [one] * 5, range(5), chunksize=2)))
        with client.get_executor() as executor:
            report(executor=executor.submit(add, one, 4).result(60), executor_map=list(executor.map(add, [one, one], [1, 2])))
        report(tasks=sorted(client.gather([submit(add, submit(add, n, 1), 1) for n in range(3)])))

        # what was passed is what it was then
        late, given, array = submit(gate, 5, "gate1"), [1], numpy.arange(3)
        captured = [10]
        kept = submit(lambda a, b, c: (a, b, c.tolist(), captured), late, given, array)
        given.append(2); captured.append(11); array[:] = 7
        report(state=[repr(kept).split()[-1][:-1], kept.running(), kept.done()], why=str(kept.why()), id=len(kept.id),
               expected_why=f"waiting (for gate (task {late.id}))", timings=error_of(kept.timings)["type"],
               choices=kept.choices(), eta=kept.eta(), waits=error_of(lambda: kept.result(0.01))["type"])
        open("gate1", "w")
        report(kept=kept.result(60), parts=sorted(kept.timings()), why_then=kept.why())

        # the same value, changed by one call, is another's as it was
        def grows(a, b): a.append(0); return len(a), a is b
        listed = submit(list, range(3))
        report(own=[submit(grows, listed, listed).result(60) for _ in range(2)], here=len(listed.result()))

        # large ones, each an object
        held, hold = [], client._submitter._hold
        def counted(data, buffers, *more, **words):
            held.append(sum(buffer.raw().nbytes for buffer in buffers))
            return hold(data, buffers, *more, **words)
        client._submitter._hold = counted
        large, small = submit(gate, numpy.ones(300_000), "gate3"), submit(numpy.ones, 10)
        waiting = [submit(lambda a, b: float(a.sum() + b.sum()), large, small) for _ in range(4)]
        held.clear()
        open("gate3", "w")
        report(sums=client.gather(waiting), pickled_again=list(held))
        report(writes=submit(lambda a: a.__setitem__(0, 5.0) or float(a[0]), large).result(60))
        report(held=held, many=submit(lambda arrays: sum(map(float, map(sum, arrays))), [submit(numpy.ones, 20_000) for _ in range(10)]).result(60))

        # what the user writes into a value, or what a class of the notebook is made of
        early, second = submit(gate, numpy.ones(300_000), "gate8"), submit(gate, 1, "gate5")
        both = submit(lambda a, b: float(a.sum()), early, second)
        open("gate8", "w")
        early.result(60)[:] = 7
        open("gate5", "w")
        boxed = submit(lambda b, name: Box(gate(b, name)), numpy.ones(300_000), "gate6")
        opened = submit(lambda box: (type(box).__name__, float(box.inside.sum())), boxed)
        open("gate6", "w")
        report(both=both.result(60), here_too=float(early.result()[0]), opened=opened.result(60))

        # many at once: of descriptors there are few
        before = len(os.listdir("/proc/self/fd"))
        many, gated = [submit(numpy.ones, 150_000) for _ in range(100)], submit(gate, 1, "gate7")
        merged = submit(lambda arrays, one: float(sum(array.sum() for array in arrays)), many, gated)
        client.gather(many)
        report(descriptors=len(os.listdir("/proc/self/fd")) - before)
        open("gate7", "w")
        report(merged=merged.result(60))
        del many, merged

        # who waited holds nothing any more
        gc.collect(); gc.disable()
        made, gated = submit(numpy.ones, 10), submit(gate, 1, "gate4")
        user = submit(lambda a, b: b, made, gated)
        open("gate4", "w")
        report(user=user.result(60))
        freed = weakref.ref(made)
        del made
        report(freed=freed() is None)
        gc.enable()

        # none waits on a worker: the only one is free for what they wait for
        first = submit(gate, 0, "gate2")
        chain = [first]
        for n in range(500): chain.append(submit(add, chain[-1], 1))
        report(under_way=len(client._session.under_way), waiting=len(client._session.awaiting))
        open("gate2", "w")
        report(chain=chain[-1].result(60), left=len(client._session.awaiting))

        # failures and cancels
        bad = submit(fails)
        report(failed=of(submit(add, 1, bad)), twice=of(submit(add, submit(add, bad, 1), 1)), keyword_failed=of(submit(add, a=1, b=[{"x": bad}])),
               original=of(bad), again=of(submit(add, bad, bad)))
        long = [bad]
        for n in range(3000): long.append(submit(add, long[-1], 1))
        report(long=of(long[-1])[0])
        held_up = submit(gate, 1, "never")
        behind = submit(add, held_up, 1); behind2 = submit(add, behind, 1); dropped = submit(add, held_up, 2)
        report(dropped=[dropped.cancel(), dropped.cancelled(), of(dropped)], untouched=held_up.cancelled() or held_up.done())
        client.cancel(held_up)
        report(cancelled=of(behind), cancelled2=of(behind2))
        done, _ = concurrent.futures.wait([behind, behind2, dropped], 10)
        report(settled=len(done))

        # refused
        report(captured=error_of(lambda: submit(lambda: one)), scattered=error_of(lambda: client.scatter([one])),
               named=error_of(lambda: client.options(name="n").submit(add, one, 1)), pickled=error_of(lambda: __import__("pickle").dumps(one)))

        # other ways to wait, other clients
        async def awaits(): return await submit(add, submit(add, 1, 1), 1)
        import asyncio
        report(awaited=asyncio.run(awaits()), completed=[f.result() for f in client.as_completed([submit(add, submit(add, 1, 1), 2)])])
        with pounce.Client() as other:
            report(other=other.submit(add, one, submit(add, 1, 1)).result(60))
            open_one, closing = submit(gate, 1, "never2"), pounce.Client()
            waits = closing.submit(add, open_one, 1)
            closing.close()
            report(foreign_closed=of(waits))
            client.cancel(open_one)
        stuck = submit(gate, 1, "never3"); after = submit(add, stuck, 1)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        report(interrupted=error_of(after.result), after=after.cancelled(), stuck_then=stuck.done())
        stuck_too = submit(add, stuck, 2)
    report(closed=of(stuck_too), stuck=of(stuck))
"""


@pytest.fixture(scope="module")
def reports():
    with made_home() as home:
        run = home.run(PROGRAM)
        assert "Traceback" not in run.stderr, run.stderr
        yield run.reports


def test_it_arrives_as_its_result_at_any_depth_and_by_every_way_to_call(reports):
    assert (reports["positional"], reports["keyword"], reports["inside"]) == (3, 2, 2)
    assert reports["nested"] == "[1, (1, {1: 2}), {'k': [2]}, {3}]"
    assert reports["mapped"] == [1, 3, 5, 7, 9] and reports["chunks"] == [1, 2, 3, 4, 5]
    assert reports["executor"] == 5 and reports["executor_map"] == [2, 3] and reports["tasks"] == [2, 3, 4]
    assert reports["awaited"] == 3 and reports["completed"] == [4] and reports["other"] == 3


def test_what_stands_beside_it_is_what_it_was_when_it_was_passed(reports):
    assert reports["kept"] == [5, [1], [0, 1, 2], [10]]


def test_each_call_has_a_value_of_its_own(reports):
    assert reports["own"] == [[4, True], [4, True]] and reports["here"] == 3


def test_a_call_that_waits_says_for_what(reports):
    assert reports["why"] == reports["expected_why"] and reports["id"] == 32 and reports["state"] == ["waiting", False, False]
    assert reports["timings"] == "BadRequest" and reports["choices"] == [] and reports["eta"] is None and reports["waits"] == "Timeout"
    assert reports["why_then"] is None and "queue" in reports["parts"] and "receive" in reports["parts"]


def test_a_large_result_is_one_object_for_all_that_take_it(reports):
    assert reports["sums"] == [300_010.0] * 4 and reports["writes"] == 5.0 and reports["many"] == 200_000.0
    assert set(reports["held"]) <= {2_400_000, 160_000}
    assert len(reports["held"]) <= 6, "of many small ones as many go along as fit"


def test_a_large_result_that_calls_wait_for_is_passed_on_as_it_came(reports):
    assert reports["pickled_again"] == [], "nothing is pickled here for those that waited"
    assert reports["both"] == 300_000.0 and reports["here_too"] == 7.0, "what the user wrote into it meanwhile is the user's"
    assert reports["opened"] == ["Box", 300_000.0]


def test_many_results_that_wait_for_one_call_leave_descriptors_for_others(reports):
    assert reports["merged"] == 15_000_000.0 and reports["descriptors"] < 100


ACROSS = f"""
    import numpy
    from pounce_bench.bridge import bridge, home_across
    from pounce_bench.counts import bytes_sent, usage
    def gate(name, n):
        while not os.path.exists(name): time.sleep(0.01)
        return numpy.full(n // 8, 3.0)
    def last(array): return float(array[-1]), os.getpid()
    with bridge() as over, home_across(over), pounce.Client() as client:
        elsewhere = client.options(cpus=1)
        pids = client.submit(os.getpid).result(), elsewhere.submit(os.getpid).result()
        go = os.path.abspath("go")
        made = client.submit(gate, go, {64 * MIB})
        here, there = client.submit(last, made), elsewhere.submit(last, made)
        before = bytes_sent()
        open(go, "w")
        report(here=here.result(), there=there.result(), pids=pids, sent=bytes_sent() - before, first=float(made.result()[0]))
        report(later=elsewhere.submit(last, made).result()[0])
"""


@pytest.mark.skipif(not bridge.possible(), reason=f"needs {bridge.NEEDS}")
def test_between_machines_it_goes_from_worker_to_worker_and_the_kernel_sends_none_of_it():
    with made_home() as home:
        run = home.run(ACROSS)
        reports = run.reports
    assert reports["here"] == [3.0, reports["pids"][0]] and reports["there"] == [3.0, reports["pids"][1]], run.stderr
    assert reports["first"] == reports["later"] == 3.0
    assert reports["sent"] < MIB


def test_a_result_lives_no_longer_than_its_future_and_the_calls_that_take_it(reports):
    assert reports["user"] == 1 and reports["freed"]


def test_what_waits_asks_for_no_worker(reports):
    assert (reports["under_way"], reports["waiting"], reports["chain"], reports["left"]) == (1, 500, 500, 0)


def test_a_failure_is_that_of_the_argument_with_its_place(reports):
    place = "{} is the result of the call that raised this"
    assert reports["failed"][0] == "KeyError" and reports["failed"][-1] == place.format("argument 1 of add")
    assert reports["keyword_failed"][-1] == place.format("argument b= of add[0]['x']")
    assert reports["twice"][-2:] == [place.format("argument 0 of add"), place.format("argument 0 of add")]
    assert not [note for note in reports["original"] if "is the result of" in note] and reports["again"][0] == "KeyError"
    assert reports["long"] == "KeyError"


def test_a_cancelled_argument_cancels_and_a_cancelled_call_cancels_no_argument(reports):
    assert reports["dropped"][:2] == [True, True] and reports["dropped"][2][1].startswith("add was cancelled.")
    assert not reports["untouched"] and reports["settled"] == 3
    assert reports["cancelled"][0] == reports["cancelled2"][0] == "Cancelled"
    assert "argument 0 of add is the result of a call that was cancelled" in reports["cancelled"][1]
    assert reports["interrupted"]["type"] == "KeyboardInterrupt" and reports["after"] and reports["stuck_then"] is False


def test_a_client_that_is_closed_ends_what_waits(reports):
    assert reports["foreign_closed"][0] == "ClientClosed" and "while add waited for its arguments" in reports["foreign_closed"][1]
    assert reports["closed"][0] == reports["stuck"][0]


def test_where_it_cannot_go_is_said(reports):
    assert "a future is captured by the function itself" in reports["captured"]["text"]
    assert "or a future cannot be scattered" in reports["scattered"]["text"]
    assert reports["named"]["type"] == "BadRequest" and "Pass its result()" in reports["named"]["text"]
    assert "take its result()" in reports["pickled"]["text"]
