"""An object for which its worker has no memory: it costs the calls that need it, and nothing else."""

from __future__ import annotations

import pytest
from pounce_bench import bridge

pytestmark = pytest.mark.skipif(not bridge.possible(), reason=f"needs {bridge.NEEDS}")  # on one machine memory is handed over


def test_an_object_that_does_not_fit_ends_its_calls_and_the_worker_goes_on(home):
    pytest.importorskip("numpy")
    run = home.run("""
        import numpy
        from pounce_bench.bridge import bridge, home_across
        from pounce.cell.remote import python_died
        def take_no_more():
            import resource
            resource.setrlimit(resource.RLIMIT_FSIZE, (10 << 20, resource.RLIM_INFINITY))  # shared memory is a file
            return os.getpid()
        with bridge() as over, home_across(over), pounce.Client() as client:
            worker = client.submit(take_no_more).result()
            large = client.scatter(numpy.ones(100 << 20, "u1"))
            calls = [client.submit(len, large) for _ in range(3)]
            report(errors=[type(call.exception(60)).__name__ for call in calls], text=str(calls[0].exception()),
                   died=python_died(calls[0].exception()))
            report(same=client.submit(os.getpid).result(60) == worker, smaller=client.submit(len, numpy.ones(9 << 20, "u1")).result(60))
    """)
    assert run.reports["errors"] == ["OutOfMemory"] * 3
    assert "104857600 bytes" in run.reports["text"]
    assert not run.reports["died"]  # a cell took it for that
    assert run.reports["same"] and run.reports["smaller"] == 9 << 20
