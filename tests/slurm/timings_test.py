"""Where the time of a call went: five parts, each measured on its own, adding up to what the caller saw."""

from __future__ import annotations

import pytest

TIMED = """
    import pounce
    def nap(seconds):
        import time
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            pass
    client = pounce.Client()
    for temperature in ("cold", "warm"):
        start = time.perf_counter()
        future = client.submit(nap, {seconds})
        future.result(100)
        wall = time.perf_counter() - start
        report(**{{temperature: dict(wall=wall, **future.timings())}})
    client.close()
"""


@pytest.mark.parametrize("seconds", [0, 0.1, 2])
def test_the_parts_of_a_call_add_up_to_its_wall_time(make_user, seconds):
    run = make_user().python(TIMED.format(seconds=seconds)).ended()

    for temperature in ("cold", "warm"):
        parts = run.reported(temperature)
        wall, peak_memory, imports = parts.pop("wall"), parts.pop("peak_memory"), parts.pop("import")
        assert 0 <= imports <= parts["send"] + parts["run"]
        assert peak_memory > 1_000_000
        assert set(parts) == {"queue", "boot", "send", "run", "receive"}
        assert all(value >= 0 for value in parts.values()), parts
        assert abs(sum(parts.values()) - wall) <= max(0.01 * wall, 0.002), (temperature, wall, parts)
        assert parts["run"] == pytest.approx(seconds, rel=0.05, abs=0.05)
    assert run.reported("warm")["queue"] == 0 and run.reported("warm")["boot"] == 0
