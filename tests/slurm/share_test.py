"""More clients than GPUs, and none goes away: each keeps its GPU warm between its calls, and yet all progress."""

from __future__ import annotations

import json

import pytest
from faults import measured

CLIENTS, GPUS, ROUNDS = 12, 4, 3

# A round is over when each client has had its call. Nobody closes: GPUs change hands only because somebody waits for them.
SHARED = f"""
    import threading
    import pounce
    round_over = threading.Barrier({CLIENTS})
    served, waits = [0] * {ROUNDS}, []
    def use(number):
        client = clients[number]
        for turn in range({ROUNDS}):
            start = time.monotonic()
            client.submit(pow, number, 2).result(280)
            waits.append(time.monotonic() - start)
            served[turn] += 1
            round_over.wait(280)
    clients = [pounce.Client(gpus=1, cpus=1, memory="1GB") for _ in range({CLIENTS})]
    threads = [threading.Thread(target=use, args=(number,)) for number in range({CLIENTS})]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report(served=served, longest_s=max(waits))
    while not os.path.exists({{flag!r}}):
        time.sleep(0.05)
    for client in clients:
        client.close()
"""


@pytest.fixture
def alice(quiet_cluster, login_node, make_user):
    return make_user("alice", login_node(quiet_cluster), poll_max_s=2, idle_release_s=0.5, keep_warm_s=600, warm_poll_s=1)


@pytest.fixture
def four_gpus(quiet_cluster, make_user, login_node):
    """Bob has the other node for himself."""
    bob = make_user("bob", login_node(quiet_cluster))
    words = ("--nodelist=g2", "--exclusive", "--time=10", "--output=/dev/null", "--wrap", "sleep 600")
    job = bob.run("sbatch", "--parsable", *words).strip()
    yield
    bob.run("scancel", job)


def test_twelve_clients_on_four_gpus_all_progress(alice, four_gpus):
    flag = alice.folder / "flag"
    run = alice.python(SHARED.format(flag=str(flag)))

    assert run.reported("served", 400) == [CLIENTS] * ROUNDS

    rpc = json.loads(alice.run("pouncectl", "status", "--json"))["rpc"]
    flag.touch()
    run.ended()
    # Bounded: no client needs more than one lease for a call, and those that have one from the last round need none.
    assert CLIENTS <= rpc["submits"] <= CLIENTS * ROUNDS, rpc
    measured(f"the longest wait of {CLIENTS} clients for {GPUS} GPUs", run.reported("longest_s"))
