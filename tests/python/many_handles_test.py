"""Ten thousand handles of more data than a worker keeps for nobody, dropped at once."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("numpy")

MIB = 2**20
NEEDED_BY_NOBODY = 2048 * MIB  # so much of that stays (src/client/worker_objects.h)
FOR_THE_NEXT = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 8  # of memory without content (src/worker/interpreter/worker_host.cc)


@pytest.mark.skipif(not os.environ.get("POUNCE_LONG_RUN"), reason="2.5 GiB: tests/run --long runs it")
def test_ten_thousand_handles_dropped_at_once_leave_a_worker_that_answers_and_keeps_no_more_than_it_may(home):
    run = home.run("""
        import numpy, time
        from pounce_bench.counts import shared_bytes
        from pounce_bench.work import noop
        def holds(*arrays):
            return sum(int(array[0]) for array in arrays)
        def numbered(n):
            array = numpy.zeros(1 << 15, "u8")
            array[0] = n
            return array
        with pounce.Client() as client:
            refs = [client.scatter(numbered(n)) for n in range(10_000)]
            report(sum=sum(client.submit(holds, *refs[n : n + 500]).result(200) for n in range(0, 10_000, 500)))
            report(before=client.submit(shared_bytes).result(60))
            begun = time.monotonic()
            del refs
            client.submit(noop).result(60)
            report(answered=time.monotonic() - begun)
            report(after=client.submit(shared_bytes).result(60))
    """, seconds=280)
    assert run.reports["sum"] == sum(range(10_000))
    assert run.reports["before"] >= 2500 * MIB
    assert run.reports["after"] < run.reports["before"] and run.reports["after"] <= NEEDED_BY_NOBODY + FOR_THE_NEXT
    assert run.reports["answered"] < 10
