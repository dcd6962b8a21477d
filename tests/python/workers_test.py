"""Several workers in one lease, several leases in one client: who runs what, what follows the data, what a death costs."""

from __future__ import annotations

import pytest
from meeting import TOGETHER


def test_eight_workers_of_one_job_run_eight_tasks_at_the_same_time(home):
    run = home.run(TOGETHER + """
with pounce.Client(workers=8) as client:
    pids = client.gather([client.submit(meet, "together", 8) for _ in range(8)], timeout=150)
    report(processes=len(set(pids)), jobs=len({row.job for row in client.queue()}))
""", seconds=180)

    assert run.reports == {"processes": 8, "jobs": 1}


def test_a_long_task_holds_up_no_short_one(home):
    run = home.run("""
        def wait_for(path):
            while not os.path.exists(path): time.sleep(0.01)
            return os.getpid()
        with pounce.Client(workers=2) as client:
            long = client.submit(wait_for, "stop")
            short = client.gather([client.submit(os.getpid) for _ in range(50)], timeout=60)
            report(long_runs=not long.done(), others=len(set(short)))
            open("stop", "w").close()
            report(apart=long.result(60) not in short)
    """)

    assert run.reports == {"long_runs": True, "others": 1, "apart": True}


def test_a_worker_that_dies_is_started_again_while_the_others_go_on(home):
    run = home.run(TOGETHER + """
def wait_for(path):
    while not os.path.exists(path): time.sleep(0.01)
    return os.getpid()
with pounce.Client(workers=2) as client:
    first = set(client.gather([client.submit(meet, "before", 2) for _ in range(2)], timeout=120))
    long = client.submit(wait_for, "stop")
    death = error_of(lambda: client.submit(os._exit, 7).result(60))
    again = client.submit(meet, "after", 1).result(60)
    report(death=death["type"], fresh=again not in first, long_runs=not long.done(), jobs=len({row.job for row in client.queue()}))
    open("stop", "w").close()
    report(survived=long.result(60) in first)
""")

    assert run.reports == {"death": "WorkerCrashed", "fresh": True, "long_runs": True, "jobs": 1, "survived": True}


def test_a_supervisor_that_is_killed_is_replaced_and_its_task_told(home):
    run = home.run(TOGETHER + """
def wait_for(path):
    open(f"{path}.{os.getpid()}", "w").close()
    while not os.path.exists(path): time.sleep(0.01)
    return os.getpid()
with pounce.Client(workers=2) as client:
    first = set(client.gather([client.submit(meet, "before", 2) for _ in range(2)], timeout=120))
    tasks = {}
    for number in range(2):
        tasks[number] = client.submit(wait_for, f"stop{number}")
        while not any(name.startswith(f"stop{number}.") for name in os.listdir()): time.sleep(0.01)
    victim = int(next(name for name in os.listdir() if name.startswith("stop0.")).split(".")[1])
    supervisor = int(open(f"/proc/{victim}/stat").read().rpartition(")")[2].split()[1])
    os.kill(supervisor, signal.SIGKILL)
    death = error_of(lambda: tasks[0].result(60))
    again = client.submit(meet, "after", 1).result(60)
    report(death=death["type"], fresh=again not in first, other_runs=not tasks[1].done())
    open("stop1", "w").close()
    report(survived=tasks[1].result(60) in first)
""")

    assert run.reports == {"death": "WorkerCrashed", "fresh": True, "other_runs": True, "survived": True}


def test_a_task_goes_to_the_free_worker_that_has_its_data(home):
    run = home.run(TOGETHER + """
def whose(data, path=None):
    while path and not os.path.exists(path): time.sleep(0.01)
    return os.getpid()
with pounce.Client(workers=3) as client:
    client.gather([client.submit(meet, "before", 3) for _ in range(3)], timeout=120)
    big = client.scatter(os.urandom(8_000_000))
    homes = {client.submit(whose, big).result(60) for _ in range(5)}
    report(homes=len(homes))
    busy = client.submit(whose, big, "stop")
    elsewhere = client.submit(whose, big).result(60)
    open("stop", "w").close()
    report(at_home=busy.result(60) in homes, elsewhere=elsewhere not in homes)
""")

    assert run.reports == {"homes": 1, "at_home": True, "elsewhere": True}


@pytest.mark.parametrize("home", [{"stand_in_gpus": 4}], indirect=True)
def test_two_leases_stand_side_by_side(home):
    run = home.run(TOGETHER + """
with pounce.Client() as client:
    cpu, gpu = client.options(cpus=1), client.options(gpus=2, workers=2)
    pids = client.gather([view.submit(meet, "together", 3) for view in (cpu, gpu, gpu)], timeout=120)
    rows = list(client.queue())
    report(processes=len(set(pids)), jobs=len(rows), devices=sorted(row.devices for row in rows))
""")

    assert run.reports == {"processes": 3, "jobs": 2, "devices": ["", "CPU standing in"]}


def test_more_gpus_than_the_machine_has_are_refused_for_all_workers_together(home):
    run = home.run("""
        with pounce.Client() as client:
            report(error=error_of(lambda: client.options(gpus=1, workers=3).submit(pow, 2, 2).result(60)))
    """)

    error = run.reports["error"]
    assert error["type"] == "Unsatisfiable" and "3 GPU(s)" in error["text"]


def test_idle_workers_leave_together_and_the_job_ends(home):
    home.config.write_text(home.config.read_text().replace("{", '{"idle_release_s": 0.2, ', 1))
    run = home.run("""
        with pounce.Client(workers=3) as client:
            client.submit(pow, 2, 2).result(60)
            while len(client.queue()) > 0: time.sleep(0.05)
            report(gone=True, again=client.submit(pow, 2, 3).result(60))
    """)

    assert run.reports == {"gone": True, "again": 8}
