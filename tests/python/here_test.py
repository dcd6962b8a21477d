"""``Client(here=True)``: the job that the program stands in is its workers. The job is made of its variables alone."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pounce import errors
from pounce._engine.allocation import Allocation, Node, configuration, found, is_inside, nodes_of_job

JOB = {"SLURM_JOB_ID": "7", "SLURMD_NODENAME": "g1", "SLURM_CPUS_ON_NODE": "1", "SLURM_MEM_PER_NODE": "4096", "SLURM_JOB_NUM_NODES": "1"}

PROGRAM = """
    def work(n):
        import os
        return n * 2, os.environ.get("CUDA_VISIBLE_DEVICES", "none")
    with pounce.Client(here={here}, class_="lion") as client:
        report(results=[future.result(60) for future in [client.submit(work, n) for n in range(3)]])
        report(most=len(client.leases()))
"""


def in_job(home, **variables):
    home.environment.update(JOB, **variables)
    home.config.unlink()  # of the login side
    del home.environment["POUNCE_CONFIG"]
    return home


def test_a_job_is_found_by_its_variables():
    cpus = min(len(os.sched_getaffinity(0)), 1)
    assert found({**JOB, "CUDA_VISIBLE_DEVICES": "0,MIG-1"}) == Allocation("7", "g1", 1, cpus, 4096, ("0", "MIG-1"))
    per_cpu = {**JOB, "SLURM_CPUS_ON_NODE": "3", "SLURM_MEM_PER_CPU": "100", "SLURM_JOB_GPUS": "1"}
    del per_cpu["SLURM_MEM_PER_NODE"]
    assert found({**JOB, "CUDA_VISIBLE_DEVICES": "", "SLURM_JOB_GPUS": "0,1"}).gpus == ()
    assert found(per_cpu)[4:] == (300, ("1",))


@pytest.mark.parametrize("variables, words", [({}, "there is no|this is none"), ({"SLURM_JOB_ID": "7"}, "srun")])
def test_outside_a_job_here_is_refused_with_what_to_do(variables, words):
    assert not is_inside(variables)
    with pytest.raises(errors.BadRequest, match=words):
        found(variables)


@pytest.mark.parametrize("tasks, gpus, on_node, is_refused", [
    ("2", "0", "2", True), ("1,2", "1", "2", True), ("2", "0,1", "2", False), ("1(x2)", "0", "2", False), ("2", "", "2", False), ("2", "0", "1", False)])
def test_a_task_with_gpus_of_its_own_beside_others_is_refused(tasks, gpus, on_node, is_refused):
    """All tasks of such a step used the first one's GPU."""
    variables = {**JOB, "SLURM_STEP_TASKS_PER_NODE": tasks, "CUDA_VISIBLE_DEVICES": gpus, "SLURM_GPUS_ON_NODE": on_node}
    if not is_refused:
        assert found(variables).gpus == tuple(filter(None, gpus.split(",")))
        return
    with pytest.raises(errors.BadRequest, match="srun -n1"):
        found(variables)


def test_a_task_is_not_inside_the_job_of_its_worker_but_inside_one_that_it_submits():
    of_worker = {**JOB, "POUNCE_WORKER_JOB": "7"}
    assert not is_inside(of_worker) and is_inside({**of_worker, "SLURM_JOB_ID": "8"})
    with pytest.raises(errors.BadRequest, match="this is none"):
        found(of_worker)


def test_here_is_refused_outside_a_job_and_beside_a_launcher(home):
    reports = home.run("""
        report(outside=error_of(lambda: pounce.Client(here=True)), word=error_of(lambda: pounce.Client(here="yes")))
        os.environ.update(SLURM_JOB_ID="7", SLURMD_NODENAME="g1")
        report(both=error_of(lambda: pounce.Client(here=True, launcher="slurm")))
    """).reports
    assert [reports[key]["type"] for key in ("outside", "word", "both")] == ["BadRequest"] * 3


@pytest.mark.parametrize("here", ["True", "'auto'"])
def test_calls_run_in_the_job_and_wait_for_its_cpus(home, here):
    reports = in_job(home).run(PROGRAM.format(here=here)).reports
    assert reports["results"] == [[0, "none"], [2, "none"], [4, "none"]]


def test_one_script_is_for_the_login_side_too(home):
    assert home.run(PROGRAM.format(here="'auto'")).reports["results"][2][0] == 4


def test_each_gpu_of_the_job_is_one_call_s_at_a_time(home):
    """Two leases hold the two GPUs, and the third waits for one of them. Calls that ask for the same would share a lease."""
    reports = in_job(home, SLURM_CPUS_ON_NODE="8", CUDA_VISIBLE_DEVICES="3,5").run("""
        from unittest import mock
        with mock.patch("os.sched_getaffinity", return_value=set(range(8))):
            client = pounce.Client(here=True, gpus=1)
        def holds(number, gate):
            import os, time
            open(f"{gate}.{number}", "w").close()
            while not os.path.exists(gate): time.sleep(0.02)
            return os.environ["CUDA_VISIBLE_DEVICES"]
        gate = os.path.abspath("gate")
        futures = [client.options(cpus=number + 1).submit(holds, number, gate) for number in range(3)]
        while sum(os.path.exists(f"{gate}.{number}") for number in range(3)) < 2: time.sleep(0.02)
        while not any(lease.state == "queued" for lease in client.leases()): time.sleep(0.02)
        report(begun=sum(os.path.exists(f"{gate}.{number}") for number in range(3)))
        open(gate, "w").close()
        report(gpus=[future.result(60) for future in futures])
        report(refused=error_of(lambda: client.options(gpus=3).submit(pow, 2, 3).result(60)))
        client.close()
    """).reports
    assert reports["begun"] == 2 and set(reports["gpus"]) == {"3", "5"}
    assert reports["refused"]["type"] == "Unsatisfiable" and "2 GPUs on this node" in reports["refused"]["text"]


def test_calls_that_ask_for_other_things_take_turns(home):
    """An idle worker makes room for the next call, which asks for more memory."""
    reports = in_job(home).run("""
        with pounce.Client(here=True) as client:
            report(results=[client.options(memory=f"{n}GB").submit(pow, n, 2).result(60) for n in (1, 2, 3)])
    """).reports
    assert reports["results"] == [1, 4, 9]


IN_A_BATCH_RUN = """
    with pounce.Client({asks}) as client:
        report(gpu=client.options(gpus=1).submit(os.getenv, "CUDA_VISIBLE_DEVICES").result(60))
"""


def test_a_client_in_a_batch_run_uses_the_gpu_of_its_job(home):
    """It leased a second one, and the job's own idled."""
    run = in_job(home, POUNCE_BATCH="/home/ada/pounce-batch/train", CUDA_VISIBLE_DEVICES="5").run(IN_A_BATCH_RUN.format(asks="gpus=1"))
    assert run.reports["gpu"] == "5"
    assert "pounce: this client uses the GPU of job 7, which is this batch run's; here=False leases others\n" in run.stderr


@pytest.mark.parametrize("asks", ["", "gpus=2", "gpus=1, cpus=2", "gpus=1, workers=2", "gpus=1, workers='0:2'", "gpus=1, memory='1TB'"])
def test_a_client_in_a_batch_run_that_asks_for_what_its_job_has_not_leases_and_says_so(home, asks):
    home.environment.update(JOB, POUNCE_BATCH="/home/ada/pounce-batch/train", CUDA_VISIBLE_DEVICES="5")
    run = home.run(f"client = pounce.Client({asks}); report(launcher=client.queue().launcher)")
    assert "beside the GPU of job 7, which is this batch run's; here='auto' uses that" in run.stderr


@pytest.mark.parametrize("variables, asks", [({"CUDA_VISIBLE_DEVICES": ""}, "gpus=1"),
                                             ({"CUDA_VISIBLE_DEVICES": "5"}, "gpus=1, here=False"),
                                             ({"CUDA_VISIBLE_DEVICES": "5"}, "gpus=1, launcher='local'")])
def test_a_batch_run_without_a_gpu_and_a_client_that_says_where_lease_without_a_word(home, variables, asks):
    home.environment.update(JOB, POUNCE_BATCH="/home/ada/pounce-batch/train", **variables)
    run = home.run(IN_A_BATCH_RUN.format(asks=asks))
    assert run.reports["gpu"] is None and "batch run" not in run.stderr


# ---- several nodes: what srun says of them is said by a program of that name ----

ANSWERS = """#!/bin/sh
echo "$@" >"$0.words"; env >"$0.environment"
echo "srun: a line of a prolog's"
echo "pounce|1|g2|10.0.0.1|8|4|0,MIG-1"
echo "pounce|0|g1|10.0.0.1|4|4|NoDevFiles"
"""


@pytest.fixture
def srun(tmp_path):
    """Makes the program, and an environment that has it alone."""
    def make(text=ANSWERS):
        program = tmp_path / "srun"
        program.write_text(text)
        program.chmod(0o755)
        return {**JOB, "PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_CONF": "/etc/slurm.conf", "SLURM_NTASKS": "1"}
    return make


def test_each_node_of_the_job_says_what_it_has(srun, tmp_path):
    environment = srun()
    assert nodes_of_job("7", 2, environment) == [Node("g2", 1, 4, ("0", "MIG-1"), "10.0.0.1"), Node("g1", 0, 4, (), "10.0.0.1")]
    assert {"--jobid=7", "--overlap", "--nodes=2", "--ntasks=2"} <= set((tmp_path / "srun.words").read_text().split())
    seen = (tmp_path / "srun.environment").read_text()
    assert "SLURM_CONF=" in seen and "SLURM_NTASKS" not in seen  # of which srun would take an option


def test_the_configuration_has_the_further_nodes_and_where_they_find_us(srun):
    environment = srun()
    says = json.loads(Path(configuration(Allocation("7", "g1", 2, 4, 4096, ()), environment)).read_text())
    assert says["advertise_address"] == "10.0.0.1" and says["local_relative"] == 0
    assert says["local_nodes"] == [{"name": "g2", "relative": 1, "cpus": 4, "gpus": "0,MIG-1", "memory_mib": 4096}]


@pytest.mark.parametrize("text, variables, why", [
    ("#!/bin/sh\necho 'srun: error: Unable to create step' >&2; exit 1\n", {}, "srun: error: Unable to create step"),
    ("#!/bin/sh\necho 'pounce|0|g1|10.0.0.1|4|4|'\n", {}, "srun ended with 0"),
    (ANSWERS, {"SLURM_STEP_NUM_TASKS": "2"}, "this program is one of several tasks of its step"),
])
def test_where_the_other_nodes_cannot_be_had_it_is_this_one_and_it_says_why(srun, capfd, text, variables, why):
    environment = {**srun(text), **variables}
    says = json.loads(Path(configuration(Allocation("7", "g1", 2, 4, 4096, ()), environment)).read_text())
    assert "local_nodes" not in says
    assert f"pounce: job 7 has 2 nodes; workers run on this one, g1, alone: {why}" in capfd.readouterr().err


def test_without_srun_it_is_this_node_alone(tmp_path, capfd):
    configuration(Allocation("7", "g1", 2, 4, 4096, ()), {**JOB, "PATH": str(tmp_path)})
    assert "alone: there is no srun here" in capfd.readouterr().err
