"""A site with whole nodes only (select/linear), GPUs without a type, nodes that differ, everything private, job_submit.lua,
a prolog that takes its time, a folder for each job, no task plugin, no requeue: work is offloaded there as anywhere."""

from __future__ import annotations

import json

import pytest
from login_node import User, wait_until
from site_clusters import SiteCluster, node_line, site_cluster

pytestmark = pytest.mark.xdist_group("odd_site")

JOB_SUBMIT = """
function slurm_job_submit(job, partitions, uid)
  if job.qos == "lion" then
    slurm.log_user("class lion is closed until Monday")
    slurm.log_user("ask help@cluster.example")
    return slurm.ERROR
  end
  if job.qos == "panther" then
    slurm.log_user("Your job has no project: give one with --account.")
    return slurm.ESLURM_INVALID_ACCOUNT
  end
  if job.time_limit == 77 then
    slurm.log_user("77 minutes are not given here.")
    return 2051
  end
  if job.time_limit == 78 then
    return slurm.ERROR
  end
  if job.time_limit == 79 then
    slurm.log_user("79 minutes: you get 5.")
    job.time_limit = 5
    job.cpus_per_task = 2
    job.pn_min_memory = 2048
  end
  return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, uid)
  return slurm.SUCCESS
end
"""


def odd(cluster: SiteCluster) -> dict[str, tuple[str, int]]:
    home = cluster.home
    return {
        "slurm.conf": (f"""SelectType=select/linear
SelectTypeParameters=CR_Memory
{node_line(cluster.cluster_id, 1, "CPUs=32 RealMemory=131072 Gres=gpu:4")}
{node_line(cluster.cluster_id, 2, "CPUs=8 RealMemory=16384 Gres=gpu:2")}
{node_line(cluster.cluster_id, 3, "CPUs=4 RealMemory=8192")}
TaskPlugin=task/none
JobRequeue=0
PrivateData=all
JobSubmitPlugins=lua
Prolog={home}/etc/prolog
PrologFlags=Alloc
TaskProlog={home}/etc/task_prolog
""", 0o644),
        "gres.conf": (f"NodeName=g1 Name=gpu File={home}/dev/g1gpu[0-3]\nNodeName=g2 Name=gpu File={home}/dev/g2gpu[0-1]\n", 0o644),
        "job_submit.lua": (JOB_SUBMIT, 0o644),
        "task_prolog": ('#!/bin/sh\nmkdir -p /tmp/of-$SLURM_JOB_ID\necho export TMPDIR=/tmp/of-$SLURM_JOB_ID\n'
                        'echo export SLURM_TMPDIR=/tmp/of-$SLURM_JOB_ID\n', 0o755),
        "prolog": ('#!/bin/sh\n[ "$SLURM_JOB_USER" = bob ] && sleep 20\nexit 0\n', 0o755),
    }


@pytest.fixture(scope="module")
def odd_site(cluster):
    with site_cluster(odd, nodes=3) as started:
        yield started


@pytest.fixture
def alice(odd_site, login_node, make_user):
    return make_user("alice", login_node(odd_site.cluster_id), idle_release_s=1, poll_max_s=2)


ASK = """
    import pounce, subprocess
    def devices_of_the_worker():
        import os
        return os.environ.get("CUDA_VISIBLE_DEVICES", "unset")
    client = pounce.Client()
    for options in {calls!r}:
        try:
            future = client.options(**options).submit(devices_of_the_worker)
            devices = future.result(100)
            newest = subprocess.check_output(["squeue", "--me", "--noheader", "--sort=-i", "--format=%N %l"], text=True).splitlines()[0]
            report(ran=dict(devices=devices, node=newest.split()[0], time=newest.split()[1]))
        except Exception as e:
            report(refused=error(e))
    client.close()
"""


def asked(who: User, *calls: dict) -> list[dict]:
    return [report.get("ran") or report["refused"] for report in who.python(ASK.format(calls=list(calls))).ended(150).reports]


def test_whole_nodes_are_given_and_what_no_node_has_is_refused(alice):
    """select/linear gives a job all of its node: Slurm sets no CUDA_VISIBLE_DEVICES there, and all of the node's GPUs are the job's."""
    gpu, much, *refused = asked(alice, {"gpus": 1}, {"memory": "100GB"}, {"gpus": 5}, {"cpus": 33}, {"gpus": "a100"}, {"memory": "200GB"})

    assert gpu["node"] in ("g1", "g2") and gpu["devices"] == "unset"
    assert much["node"] == "g1"
    for error in refused:
        assert error["type"] == "Unsatisfiable" and "no node of the cluster has what was asked for" in error["text"], error
    assert "; Slurm says: CPU count per node can not be satisfied." in refused[1]["text"]


def test_what_job_submit_lua_says_is_told_whatever_code_it_refuses_with(alice):
    plain, account, time, silent = asked(alice, {"class_": "lion"}, {"class_": "panther"}, {"class_": "tabby", "time": "77min"},
                                         {"class_": "tabby", "time": "78min"})

    assert [error["type"] for error in (plain, account, time, silent)] == ["Rejected"] * 4
    assert plain["text"].startswith("this cluster refuses it: class lion is closed until Monday; ask help@cluster.example.")
    assert "Your job has no project: give one with --account." in account["text"] and "no default account" not in account["text"]
    assert "77 minutes are not given here." in time["text"]
    assert silent["text"].startswith("this cluster refuses it")


CHANGED = """
    import os, pounce, subprocess, time
    from pounce._batch import making
    from pounce._batch.run import BatchRun
    from pounce._engine.options import Options
    from pounce.lease import status_of_lease
    def limit(job):
        return subprocess.check_output(["squeue", "--noheader", f"--jobs={job}", "--states=all", "--format=%l"], text=True).strip()
    def given(lease):
        while lease.end_time is None:  # pounced has not looked at the running job yet
            time.sleep(0.05)
        return limit(lease.job), status_of_lease(lease).given_time_min, round((lease.end_time - time.time()) / 60)
    asks = dict(class_="tabby", time="79min", cpus=1, memory="1GB")
"""


def test_a_job_that_job_submit_lua_changes_runs_as_the_site_wants_it_and_that_is_said(alice):
    run = alice.python(CHANGED + """
    with pounce.Client(**asks) as client:
        client.submit(time.sleep, 3).result(100)  # a call that takes a second is one that a person looks at
        report(lease=given(client.leases()[0]))
        report(status=subprocess.check_output(["pouncectl", "status"], text=True))
    batch = BatchRun(making.of_function(abs, (-3,), {}, making.Request(Options().changed(**asks), folder=""))).submit()
    report(batch=limit(batch.job), result=batch.result(100))
    with pounce.gang(nodes=2, **asks) as gang:
        gang.run(os.getpid)
        report(gang=given(gang.lease))
    """)

    assert run.reported("lease", 100) == run.reported("gang", 150) == ["5:00", 5, 5]
    assert run.reported("batch") == "5:00"
    run.ended()
    given = "Slurm gives this job 2 CPUs, 2048 MiB of memory, 5 min, not what was requested"
    assert given in run.reported("status") and f": {given}" in run.output
    assert "pounce: sbatch: 79 minutes: you get 5." in run.output


def test_a_prolog_that_takes_long_is_a_start_and_not_a_failure(odd_site, login_node, make_user):
    bob = make_user("bob", login_node(odd_site.cluster_id), idle_release_s=1, poll_max_s=2)

    run = bob.python("""
        import pounce
        client = pounce.Client()
        start, told = time.monotonic(), []
        future = client.submit(pow, 2, 10)
        while not future.done():
            if str(future.why()) not in told:
                told.append(str(future.why()))
            time.sleep(0.05)
        report(told=told, took=time.monotonic() - start, result=future.result(), leases=len(client.leases()))
        client.close()
    """).ended()

    facts = run.reports[0]
    assert facts["result"] == 1024 and facts["leases"] == 1 and 20 <= facts["took"] < 40, facts
    assert any(words.startswith("starting (the job starts)") for words in facts["told"]), facts


def test_a_task_has_the_temporary_folder_that_the_site_made_for_its_job(alice):
    run = alice.python("""
        import os, pounce, tempfile
        os.environ["TMPDIR"] = tempfile.mkdtemp()  # as of the job that the notebook runs in
        def folders():
            import os, tempfile
            return os.environ["TMPDIR"], os.environ["SLURM_TMPDIR"], tempfile.gettempdir(), "/tmp/of-" + os.environ["SLURM_JOB_ID"]
        with pounce.Client() as client:
            report(folders=client.submit(folders).result(100))
    """)

    assert len(set(run.reported("folders", 120))) == 1
    run.ended()


def test_where_everything_is_private_the_doctor_finds_nothing_wrong(alice):
    asked(alice, {})

    checks = json.loads(alice.run("pouncectl", "doctor", "--json"))["checks"]
    assert {check["state"] for check in checks} <= {"ok", "note"}, checks
    assert "cheetah" in alice.run("pouncectl", "classes")
    wait_until(lambda: not alice.jobs(), 60, "the leases went back")
