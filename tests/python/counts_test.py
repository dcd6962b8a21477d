"""What a call costs, counted and not timed: the gate against a slow regression.

Calls are counted in five rounds and the least of each count is taken: on a busy machine a side that has to wait for a processor reads
and writes more often. The bounds leave about half again over what was measured (docs/performance.md).
"""

from __future__ import annotations

import pytest

CALLS = 1000
AT_ONCE = 10_000
ROUNDS = 5


@pytest.fixture(scope="module")
def counted(module_home):
    pytest.importorskip("numpy")
    run = module_home.run(f"""
        from pounce.bench.counts import Usage, bytes_sent, shared_bytes, usage
        from pounce.bench.work import noop
        def after_calls(client, act):
            there, here = client.submit(usage).result(), usage()
            act()
            here, there = usage().since(here), Usage(*client.submit(usage).result()).since(there)
            return dict(here=here._asdict(), there=there._asdict())
        def least_of_rounds(client, act):
            rounds = [after_calls(client, act) for _ in range({ROUNDS})]
            return {{side: {{name: min(one[side][name] for one in rounds) for name in counts}} for side, counts in rounds[0].items()}}
        with pounce.Client() as client:
            for _ in range(300):
                client.submit(noop).result()
            def one_by_one():
                for _ in range({CALLS}):
                    client.submit(noop).result()
            report(one_by_one=least_of_rounds(client, one_by_one))
            def at_once():
                for future in [client.submit(noop) for _ in range({AT_ONCE})]:
                    future.result()
            report(at_once=least_of_rounds(client, at_once))
            import numpy
            data = numpy.ones(64 * 2**20, dtype=numpy.uint8)
            def scatter():
                client.submit(len, client.scatter(data)).result()
            report(before=client.submit(shared_bytes).result())
            report(first=after_calls(client, scatter), first_bytes=client.submit(shared_bytes).result())
            report(again=after_calls(client, scatter), again_bytes=client.submit(shared_bytes).result())
            report(sent=bytes_sent())
    """)
    return run.reports


def test_a_call_wakes_few_threads(counted):
    usage = counted["one_by_one"]

    assert usage["here"]["switches"] / CALLS <= 2
    assert usage["there"]["switches"] / CALLS <= 2


def test_a_call_makes_few_reads_and_writes(counted):
    usage = counted["one_by_one"]

    assert usage["here"]["reads_writes"] / CALLS <= 1
    assert usage["there"]["reads_writes"] / CALLS <= 6


def test_many_calls_at_once_share_their_wake_ups_and_writes(counted):
    usage = counted["at_once"]

    assert usage["here"]["switches"] / AT_ONCE <= 1
    assert usage["there"]["switches"] / AT_ONCE <= 1
    assert usage["here"]["reads_writes"] / AT_ONCE <= 0.5
    assert usage["there"]["reads_writes"] / AT_ONCE <= 3


def test_an_array_is_shared_once_and_nothing_of_it_is_sent(counted):
    assert counted["first_bytes"] - counted["before"] == 64 * 2**20
    assert counted["again_bytes"] == counted["first_bytes"]
    assert counted["sent"] < 1024 * 1024


def test_what_is_scattered_is_not_copied_here(counted):
    assert counted["first"]["here"]["peak_bytes"] < 16 * 2**20
