"""Equal data is one object: a copy or two for all workers of this machine, and sent from the array that may still not be changed."""

from __future__ import annotations

import pytest

pytest.importorskip("numpy")

MIB = 2**20


def test_what_several_workers_of_this_machine_need_is_there_twice_at_most(home):
    """Each had a copy of its own: a GiB for eight workers, with what they kept of the last ones, took all of a machine's memory."""
    run = home.run(f"""
        import numpy, tempfile
        from pounce_bench.work import meet
        def blocks(folder, array):
            meet(folder, 4, array)
            maps = open("/proc/self/maps").read().splitlines()
            return os.getpid(), sorted({{line.split()[4] for line in maps if "memfd:pounce-object" in line}})
        with pounce.Client(workers=4) as client, tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
            list(client.as_completed([client.submit(meet, first, 4) for _ in range(4)]))
            ref = client.scatter(numpy.ones({16 * MIB}, "u1"))
            report(found=[call.result(60) for call in [client.submit(blocks, second, ref) for _ in range(4)]])
    """)
    workers, inodes = zip(*run.reports["found"], strict=True)
    assert len(set(workers)) == 4
    assert [len(own) for own in inodes] == [1] * 4 and len({own[0] for own in inodes}) <= 2, inodes


def test_a_worker_may_write_into_what_others_have_too(home):
    run = home.run(f"""
        import numpy, tempfile
        from pounce_bench.work import meet
        def changes(folder, other, array, by):
            meet(folder, 2)
            array += by
            meet(other, 2)
            return int(array[0]), int(array[-1])
        with pounce.Client(workers=2) as client, tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
            ref = client.scatter(numpy.ones({2 * MIB}, "u1"))
            report(sums=[call.result(60) for call in [client.submit(changes, first, second, ref, by) for by in (1, 2)]])
    """)
    assert run.reports["sums"] == [[2, 2], [3, 3]]


def test_the_other_array_is_sent_once_the_first_may_be_changed(home):
    """It was always the first one's memory: what had been written there since went to the second call."""
    run = home.run(f"""
        import numpy
        with pounce.Client() as client:
            mine, yours = numpy.ones({2 * MIB}, "u1"), numpy.ones({2 * MIB}, "u1")
            first, second = client.submit(numpy.sum, mine), client.submit(numpy.sum, yours)  # no worker is there yet
            first.cancel()
            report(first=error_of(lambda: first.result(60)))
            mine[:] = 7
            report(sum=int(second.result(60)))
    """)
    assert run.reports["first"]["type"] == "Cancelled" and run.reports["sum"] == 2 * MIB
