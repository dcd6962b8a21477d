"""A crowd of clients of one user, fifty calls each, on a class that lets twenty of their jobs run at a time: sixty, in long runs two hundred."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from faults import measured
from login_node import wait_until

CLIENTS, CALLS = 200 if os.environ.get("POUNCE_LONG_RUN") else 60, 50
CROWD = f"""
    import pounce
    clients = [pounce.Client(cpus=1, memory="100MB") for _ in range({CLIENTS})]
    start = time.monotonic()
    futures = [[client.submit(pow, 2, n) for n in range({CALLS})] for client in clients]
    report(submitted=True)
    served = []
    for client, mine in zip(clients, futures):
        served.append(sum(future.result(250) == 2**n for n, future in enumerate(mine)))
        client.close()
    report(served=served, seconds=time.monotonic() - start)
"""


@pytest.mark.xdist_group("bob")  # with the other test that looks at the whole of bob's queue
def test_every_client_of_a_crowd_is_served_and_pounced_stays_small(make_user):
    alice = make_user("bob", idle_release_s=0.2)

    run = alice.python(CROWD)
    run.reported("submitted")
    daemon = alice.endpoint()["pid"]
    assert run.reported("served", 280) == [CALLS] * CLIENTS

    measured(f"{CLIENTS} clients with {CALLS} calls each", run.reported("seconds"))
    peak = next(line for line in Path(f"/proc/{daemon}/status").read_text().splitlines() if line.startswith("VmHWM"))
    assert int(peak.split()[1]) < 100 * 1024, f"pounced's memory: {peak}"
    print("MEASURED", peak)
    wait_until(lambda: not alice.jobs(), 120, "bob has no job left")
