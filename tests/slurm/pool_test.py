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
        list(client.map(abs, range(2)))  # a worker that loads its modules is slow, and a machine under load slower
        list(client.map(abs, range(1_000), chunksize=100))
        report(leases=len(client.leases()))
    """).ended(150)

    assert run.reported("leases") == 1


def test_workers_that_no_node_holds_together_are_leases_of_their_own_where_there_is_room(make_user):
    """A node has 128 GB."""
    run = make_user(idle_release_s=60).python(MEET + """
    with pounce.Client(workers=2, memory="70GB") as client:
        seen = client.gather([client.submit(meet, folder + "/a", 2) for _ in range(4)], timeout=150)
        leases = client.leases()
        report(pids=len({pid for pid, _ in seen}), jobs=len({lease.job for lease in leases}), nodes=len({lease.node for lease in leases}))
        report(pool=client.pools()[0].most)
    with pounce.gang(workers=2, memory="70GB") as gang:
        try:
            gang.run(os.getpid)
        except pounce.Unsatisfiable as refused:
            report(refused=str(refused))
    """).ended(240)

    assert run.reported("pids") == run.reported("jobs") == run.reported("nodes") == run.reported("pool") == 2
    assert "nodes=" in run.reported("refused")


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


def test_a_pool_of_a_class_that_runs_one_job_ends_all_its_tasks_on_one_worker_and_says_why_the_others_wait(make_user):
    """panther runs one job of a user's at a time, and nobody else here asks for it."""
    alice = make_user(idle_release_s=1)
    run = alice.python("""
    import tempfile
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()
    shell.run_cell("import pounce")  # with it come its magics
    pounce = shell.user_ns["pounce"]
    def opened(gate):
        while not os.path.exists(gate): time.sleep(0.02)
        return os.getpid()
    gate = tempfile.mktemp(dir=os.path.expanduser("~"))
    with pounce.Client(workers="0:4", class_="panther", time="10min", memory="200MB") as client:
        futures = [client.submit(opened, gate) for _ in range(8)]
        deadline = time.monotonic() + 90
        while not any(pool.workers == 1 and "class panther" in pool.why for pool in client.pools()) and time.monotonic() < deadline: time.sleep(0.1)
        report(pools=[repr(pool) for pool in client.pools()], gate=gate)
        shell.run_cell("%pounce status")
        report(status="shown")
        report(workers=len(set(client.gather(futures, timeout=150))))
    """)
    (pool,) = run.reported("pools", 150)
    run.reported("status")
    rows = [line for line in alice.run("pouncectl", "status").splitlines() if " of 4 workers" in line]
    alice.run("touch", run.reported("gate"))

    assert pool.startswith("1 of 4 workers, 1 node, 3 wait: a limit of class panther is reached: 1 job runs at a time, and 1 of yours does")
    assert f"pool: {pool}" in run.output.splitlines()
    assert len(rows) == 1 and rows[0].endswith(f" of panther: {pool}")
    assert run.reported("workers", 150) == 1
