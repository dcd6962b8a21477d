"""A pool: one line of tasks, as many leases as its work is worth, and what a loss costs."""

from __future__ import annotations

import pytest
from meeting import TOGETHER


def test_long_work_brings_further_workers_each_with_a_lease_of_its_own(home):
    run = home.run(TOGETHER + """
with pounce.Client(workers="0:3") as client:
    pids = client.gather([client.submit(meet, "together", 3) for _ in range(3)], timeout=150)
    report(processes=len(set(pids)), jobs=len({row.job for row in client.queue()}), pools=[repr(pool) for pool in client.pools()])
""", seconds=180)

    assert run.reports == {"processes": 3, "jobs": 3, "pools": ["3 of 3 workers, 1 node"]}


def test_short_work_stays_on_one_worker(home):
    run = home.run("""
        with pounce.Client(workers="0:8") as client:
            pids = client.gather([client.submit(os.getpid) for _ in range(200)], timeout=100)
            report(processes=len(set(pids)), jobs=len(list(client.queue())))
    """)

    assert run.reports == {"processes": 1, "jobs": 1}


@pytest.mark.parametrize("home", [{"idle_release_s": 1}], indirect=True)
def test_workers_go_back_one_by_one_when_they_have_nothing_to_do(home):
    run = home.run(TOGETHER + """
def wait_for(path):
    while not os.path.exists(path): time.sleep(0.01)
    return os.getpid()
with pounce.Client(workers="0:3") as client:
    futures = [client.submit(meet, "together", 3) for _ in range(3)]
    long = client.submit(wait_for, "stop")
    client.gather(futures, timeout=150)
    deadline = time.monotonic() + 60
    while len(client.leases()) > 1 and time.monotonic() < deadline: time.sleep(0.05)
    report(while_one_works=len(client.leases()), long_runs=not long.done())
    open("stop", "w").close()
    long.result(60)
    while client.leases() and time.monotonic() < deadline: time.sleep(0.05)
    report(afterwards=len(client.leases()), pools=client.pools())
""", seconds=240)

    assert run.reports == {"while_one_works": 1, "long_runs": True, "afterwards": 0, "pools": []}


def test_a_worker_that_dies_costs_the_task_that_it_ran(home):
    run = home.run(TOGETHER + """
with pounce.Client(workers="0:3") as client:
    client.gather([client.submit(meet, "before", 3) for _ in range(3)], timeout=150)
    futures = [client.submit(os._exit, 7)] + [client.submit(pow, 2, n) for n in range(30)]
    report(death=error_of(lambda: futures[0].result(60))["type"], others=sum(client.gather(futures[1:], timeout=100)) == 2**30 - 1)
""", seconds=240)

    assert run.reports == {"death": "WorkerCrashed", "others": True}


def test_a_map_spreads_what_it_has_not_sent_yet(home):
    run = home.run("""
        def slow(n):
            time.sleep(0.05)
            return os.getpid()
        with pounce.Client(workers="0:3") as client:
            report(workers=len(set(client.map(slow, range(600), chunksize=1, timeout=150))))
    """, seconds=180)

    assert run.reports["workers"] > 1


def test_a_map_over_a_pool_is_in_order(home):
    run = home.run("""
        def slow(n):
            time.sleep(0.05)
            return n
        with pounce.Client(workers="2:3") as client:
            report(order=list(client.map(slow, range(100), timeout=100)) == list(range(100)))
    """, seconds=180)

    assert run.reports == {"order": True}


@pytest.mark.parametrize("wrong", ["3:1", "0:0", "0:1000", "some"])
def test_a_pool_of_no_size_is_refused_in_one_sentence(home, wrong):
    run = home.run(f"""
        report(**error_of(lambda: pounce.Client(workers={wrong!r})))
    """)

    assert run.reports["type"] == "BadRequest" and "'0:16'" in run.reports["text"]
