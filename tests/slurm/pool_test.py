"""A pool on a real Slurm: each lease an ordinary job, on whatever nodes have room, given back one by one."""

from __future__ import annotations

from meeting import MEET


def test_each_worker_of_a_pool_has_a_job_and_a_gpu_of_its_own_and_all_are_given_back(make_user):
    run = make_user(idle_release_s=1).python(MEET + """
    with pounce.Client(gpus=1, workers="0:3") as client:
        seen = client.gather([client.submit(meet, folder + "/a", 3) for _ in range(3)], timeout=120)
        leases = client.leases()
        report(pids=len({pid for pid, _ in seen}), jobs=len({lease.job for lease in leases}), gpus=len({(lease.node, lease.devices) for lease in leases}))
        deadline = time.monotonic() + 60
        while client.leases() and time.monotonic() < deadline: time.sleep(0.1)
        report(left=len(client.leases()))
    """).ended(240)

    assert run.reported("pids") == run.reported("jobs") == run.reported("gpus") == 3
    assert run.reported("left") == 0


def test_a_backlog_of_a_second_starts_no_second_job(make_user):
    run = make_user(idle_release_s=60).python("""
    import pounce
    with pounce.Client(workers="0:4") as client:
        list(client.map(abs, range(20_000), chunksize=100))
        report(leases=len(client.leases()))
    """).ended(150)

    assert run.reported("leases") == 1


def test_a_killed_worker_of_a_pool_costs_no_task_that_may_run_again(make_user):
    run = make_user(idle_release_s=60).python(MEET + """
    def number(n, folder):
        import pathlib, signal
        time.sleep(0.05)
        once = pathlib.Path(folder, "killed")
        if n == 40 and not once.exists():
            once.touch()
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(60)
        return n
    with pounce.Client(workers="0:3") as client:
        client.gather([client.submit(meet, folder + "/a", 3) for _ in range(3)], timeout=120)
        futures = [client.submit(number, n, folder, retries=2) for n in range(200)]
        report(whole=client.gather(futures, timeout=120) == list(range(200)))
    """).ended(300)

    assert run.reported("whole") is True
