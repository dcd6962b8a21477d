"""Several workers in one job, and jobs for different needs side by side, on a real Slurm."""

from __future__ import annotations

from long_run import only_in_long_runs
from meeting import MEET


def test_workers_of_one_job_run_at_the_same_time_each_with_its_own_gpu(make_user):
    alice = make_user(idle_release_s=60)
    run = alice.python(MEET + """
    with pounce.Client(gpus=1, cpus=2, memory="1GB", workers=4) as client:
        seen = client.gather([client.submit(meet, folder + "/a", 4) for _ in range(4)], timeout=120)
        report(pids=len({pid for pid, _ in seen}), gpus=sorted(gpus for _, gpus in seen))
        instance = json.loads(os.popen("pounced ensure").read().splitlines()[-1])["instance"]
        shown = os.popen("squeue --me --noheader -O NumCPUs:8,NumTasks:8,MinMemory:10,tres-per-node:30,comment:60").read()
        report(jobs=[line.split() for line in shown.splitlines() if instance in line])
    """).ended(150)

    assert run.reported("pids") == 4
    assert run.reported("gpus") == ["0", "1", "2", "3"]
    ((cpus, tasks, memory, gpus, _),) = run.reported("jobs")
    assert (cpus, tasks, memory) == ("8", "4", "4G") and gpus.endswith("gpu:4")


def test_a_cpu_lease_and_a_gpu_lease_stand_side_by_side(make_user):
    run = make_user(idle_release_s=60).python(MEET + """
    with pounce.Client() as client:
        cpu, gpu = client.options(cpus=1, workers=2), client.options(gpus=1)
        seen = client.gather([view.submit(meet, folder + "/a", 3) for view in (cpu, cpu, gpu)], timeout=120)
        report(pids=len({pid for pid, _ in seen}), gpus=[gpus for _, gpus in seen], jobs=len(client.queue()))
    """).ended(150)

    assert run.reported("pids") == 3 and run.reported("jobs") >= 2
    assert run.reported("gpus")[:2] == ["", ""] and run.reported("gpus")[2] != ""


@only_in_long_runs("a minute; tests/slurm/job_fault_test.py has that of one")
def test_a_walltime_of_several_workers_ends_their_tasks_with_its_name(make_user):
    run = make_user().python("""
    import pounce
    with pounce.Client(workers=2, time="1min") as client:
        futures = [client.submit(time.sleep, 600) for _ in range(2)]
        report(ends=[type(future.exception(150)).__name__ for future in futures])
    """).ended(200)

    assert run.reported("ends") == ["WalltimeReached", "WalltimeReached"]


def test_more_than_one_user_gets_is_told_for_all_workers_together(make_user):
    run = make_user().python("""
    import pounce
    with pounce.Client(gpus=40, workers=64) as client:
        try:
            client.submit(pow, 2, 2).result(60)
        except pounce.Unsatisfiable as e:
            report(refusal=str(e))
    """).ended()

    assert "64 workers, each with 40 GPUs" in run.reported("refusal")


def test_workers_of_one_node_have_an_object_of_another_machine_once_in_memory(make_user):
    run = make_user().python(MEET + """
    def lies_in(folder, values):
        import re
        meet(folder, 3)
        at = values.__array_interface__["data"][0]
        rows = (line.split() for line in open("/proc/self/maps"))
        (inode,) = {row[4] for row in rows if int(row[0].split("-")[0], 16) <= at < int(row[0].split("-")[1], 16)}
        values[0] = os.getpid()  # its own from here on
        return inode, float(values[1]), os.getpid()
    import numpy
    with pounce.Client(workers=3, cpus=1, memory="300MB", class_="cheetah", time="10min") as client:
        values = client.scatter(numpy.ones(4_000_000))
        seen = [client.submit(lies_in, folder + "/a", values) for _ in range(3)]
        report(seen=client.gather(seen, timeout=100))
    """)
    seen = run.reported("seen", 120)
    assert len({pid for *_, pid in seen}) == 3 and all(value == 1 for _, value, _ in seen)
    assert len({inode for inode, *_ in seen}) == 1, seen
