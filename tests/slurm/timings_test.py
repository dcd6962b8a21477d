"""Where the time of a call went, with a lease that has to be waited for and with one that is there."""

from __future__ import annotations

import pytest

# That the parts add up to what the caller saw is tests/python/local_test.py's.
TIMED = """
    import pounce
    def nap(seconds):
        import time
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            pass
    client = pounce.Client()
    for temperature in ("cold", "warm"):
        future = client.submit(nap, 0.1)
        future.result(100)
        report(**{temperature: future.timings()})
    client.close()
"""


def test_a_cold_call_waits_for_the_queue_and_the_worker_and_a_warm_one_for_neither(make_user):
    run = make_user().python(TIMED).ended()

    cold, warm = run.reported("cold"), run.reported("warm")
    for parts in (cold, warm):
        peak_memory, imports = parts.pop("peak_memory"), parts.pop("import")
        assert 0 <= imports <= parts["send"] + parts["run"]
        assert peak_memory > 1_000_000
        assert set(parts) == {"queue", "boot", "send", "run", "receive"}
        assert all(value >= 0 for value in parts.values()), parts
        assert parts["run"] == pytest.approx(0.1, abs=0.05)
    assert cold["queue"] > 0 and cold["boot"] > 0
    assert warm["queue"] == warm["boot"] == 0
