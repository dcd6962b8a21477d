"""Work for many GPUs takes the small ones first, on a real Slurm: g1 has four a100, g2 two and two slices of one."""

from __future__ import annotations

from choices_test import held_by_bob  # noqa: F401
from meeting import MEET

SEEN = MEET + """
    import subprocess
    def kinds(options, workers):
        with pounce.Client(**options) as client:
            seen = client.gather([client.submit(meet, folder + "/a", workers) for _ in range(workers)], timeout=150)
            jobs = subprocess.check_output(["squeue", "--me", "--noheader", "--states=RUNNING", "--format=%N %b"], text=True).splitlines()
            gpus = sorted(job.replace("gres:", "").replace("gres/", "") for job in jobs)  # 26.05 has another sign
            return dict(pids=len({pid for pid, _ in seen}), gpus=gpus, most=[pool.most for pool in client.pools()])
"""


def user_of(make_user, node, gpu_types):
    policy = {"classes": {"quick": {"qos": "cheetah", "walltime": "20min"}}, "gpu_types": gpu_types}
    return make_user("alice", node, poll_max_s=2, idle_release_s=1, policy=policy)


def test_a_pool_takes_the_slices_and_then_the_large_gpus_that_are_free(quiet_cluster, login_node, make_user):
    """All are asked for within a moment, before Slurm has started any."""
    alice = user_of(make_user, login_node(quiet_cluster), {"a100": "40GB", "a100_3g.20gb": "20GB"})

    run = alice.python(SEEN + """
    report(seen=kinds(dict(gpu_memory="16GB", workers="0:4", cpus=1, memory="200MB", class_="quick"), 4))
    """).ended(240)

    seen = run.reported("seen")
    assert seen["pids"] == 4
    assert sorted(gpus.split()[1] for gpus in seen["gpus"]) == ["gpu:a100:1", "gpu:a100:1", "gpu:a100_3g.20gb:1", "gpu:a100_3g.20gb:1"]


def test_workers_of_one_job_are_a_pool_where_as_many_smaller_gpus_are_free_on_several_nodes(
        quiet_cluster, login_node, make_user, held_by_bob):  # noqa: F811
    """As this site tells it, the slices are the larger ones. Of the small ones each node has one left."""
    held_by_bob(g1="gpu:a100:3", g2="gpu:a100:1")
    alice = user_of(make_user, login_node(quiet_cluster), {"a100": "16GB", "a100_3g.20gb": "40GB"})

    run = alice.python(SEEN + """
    report(seen=kinds(dict(gpu_memory="16GB", workers=2, cpus=1, memory="200MB", class_="quick"), 2))
    """).ended(240)

    seen = run.reported("seen")
    assert (seen["pids"], seen["most"]) == (2, [2])
    assert seen["gpus"] == ["g1 gpu:a100:1", "g2 gpu:a100:1"]
