"""What a task sees of Slurm: which job it runs in, and nothing by which a library thinks that srun started it (docs/slurm.md)."""

from __future__ import annotations

import pytest

SEES = """
    import os, pounce, subprocess
    def sees():
        import os
        return {name: value for name, value in os.environ.items() if name.startswith(("SLURM", "PMI", "OMPI", "SBATCH", "SRUN"))}
"""
IDENTITY = {"SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_JOB_PARTITION", "SLURM_JOB_QOS", "SLURM_JOB_ACCOUNT", "SLURM_JOB_NODELIST",
            "SLURM_CLUSTER_NAME", "SLURMD_NODENAME", "SLURM_CONF"}


def test_a_task_sees_the_job_that_slurm_knows_and_slurms_commands_work_in_it(make_user):
    run = make_user().python(SEES + """
    def commands():
        import subprocess
        prints = lambda *words: subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout.split()
        job = os.environ["SLURM_JOB_ID"]
        return dict(squeue=prints("squeue", "--noheader", f"--jobs={job}", "--Format=JobID,Name,Partition,QOS,Account,NodeList"),
                    nodes=prints("scontrol", "show", "hostnames", os.environ["SLURM_JOB_NODELIST"]), step=prints("srun", "--overlap", "--ntasks=1", "hostname"))
    with pounce.Client(gpus=1, class_="cheetah", time="10min") as client:
        report(sees=client.submit(sees).result(100), lease=client.leases()[0].job)
        report(commands=client.submit(commands).result(100))
    """)

    sees, commands = run.reported("sees", 120), run.reported("commands", 60)

    assert sees.keys() == IDENTITY
    assert commands["squeue"] == [sees[name] for name in ("SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_JOB_PARTITION", "SLURM_JOB_QOS",
                                                          "SLURM_JOB_ACCOUNT", "SLURMD_NODENAME")]
    assert sees["SLURM_JOB_ID"] == str(run.reported("lease")) and commands["nodes"] == [sees["SLURMD_NODENAME"]]
    assert len(commands["step"]) == 1
    run.ended()


def test_each_rank_of_a_gang_sees_the_job_and_its_own_node(make_user):
    run = make_user().python(SEES + """
    with pounce.gang(nodes=2, gpus=1, class_="cheetah", time="10min") as gang:
        report(ranks=gang.run(sees), job=str(gang.lease.job))
    """)

    first, second = run.reported("ranks", 120)

    assert first.keys() == second.keys() == IDENTITY
    assert [first.pop("SLURMD_NODENAME"), second.pop("SLURMD_NODENAME")] == ["g1", "g2"] and first == second
    assert (first["SLURM_JOB_ID"], first["SLURM_JOB_NODELIST"]) == (run.reported("job"), "g[1-2]")
    run.ended()


INSIDE = """
import json, os, pounce
def sees():
    import os
    return {name: value for name, value in os.environ.items() if name.startswith(("SLURM", "PMI", "OMPI", "SBATCH", "SRUN"))}
own = {name: value for name, value in sees().items() if name in %r or name.startswith("SLURM_ARRAY_")}
here = pounce.Client(here=True)
print("REPORT " + json.dumps(dict(own=own, here=here.submit(sees).result(100))), flush=True)
with here.gang(nodes=2, cpus=1) as gang:
    print("REPORT " + json.dumps(dict(ranks=gang.run(sees))), flush=True)
here.close()
with pounce.Client(class_="cheetah", cpus=1, time="10min") as client:
    os.environ["SLURM_JOB_NAME"] = "changed in the notebook"
    print("REPORT " + json.dumps(dict(leased=client.submit(sees).result(100), lease=str(client.leases()[0].job))), flush=True)
""" % (IDENTITY,)


@pytest.fixture
def in_an_array(make_user):
    """A program that is a task of a job array of two nodes."""
    return make_user().batch(INSIDE, "--array=7 -N2 --cpus-per-task=2 --time=5")


def test_inside_a_job_a_task_sees_that_job_and_its_place_in_an_array(in_an_array):
    own, here = in_an_array.reported("own", 150), in_an_array.reported("here")
    first, second = in_an_array.reported("ranks", 60)

    assert own["SLURM_ARRAY_TASK_ID"] == "7" and here == own
    assert first == own and second == {**own, "SLURMD_NODENAME": second["SLURMD_NODENAME"]}
    assert second["SLURMD_NODENAME"] != own["SLURMD_NODENAME"]
    in_an_array.reported("leased", 100)


def test_inside_a_job_a_leased_worker_sees_its_own(in_an_array):
    own, leased = in_an_array.reported("own", 150), in_an_array.reported("leased", 150)

    assert leased.keys() == IDENTITY
    assert leased["SLURM_JOB_ID"] == in_an_array.reported("lease") != own["SLURM_JOB_ID"]
    assert leased["SLURM_JOB_NAME"].startswith("pounce")
    in_an_array.ended()


AS_ON_A_WORKSTATION = """
    import pounce, subprocess
    def lightning():
        import torch
        from lightning.fabric.plugins.environments import LightningEnvironment, SLURMEnvironment
        from lightning.pytorch import LightningModule, Trainer
        class Model(LightningModule):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(2, 1)
            def training_step(self, batch, _): return self.layer(batch).sum()
            def configure_optimizers(self): return torch.optim.SGD(self.parameters(), 0.1)
        trainer = Trainer(max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False, accelerator="cpu")
        trainer.fit(Model(), torch.utils.data.DataLoader(torch.ones(4, 2)))
        return SLURMEnvironment.detect(), type(trainer._accelerator_connector.cluster_environment) is LightningEnvironment, trainer.world_size
    def hugging_face():
        from accelerate import PartialState
        from transformers import TrainingArguments
        state = PartialState()
        return str(state.distributed_type), state.num_processes, TrainingArguments(output_dir="none", use_cpu=True).world_size
    def submitit():
        import submitit
        try:
            submitit.JobEnvironment()
        except RuntimeError:
            return "in no job of submitit's"
    def torchrun():
        import subprocess, sys
        program = "import os; os.write(1, b'%s %s;' % (os.environb[b'RANK'], os.environb[b'WORLD_SIZE']))"
        words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--no-python", sys.executable, "-c", program]
        return sorted(subprocess.run(words, capture_output=True, text=True, check=True, timeout=100).stdout.split(";"))
"""


def test_libraries_take_a_worker_for_a_workstation(make_user):
    run = make_user().python(AS_ON_A_WORKSTATION + """
    with pounce.Client(cpus=2, memory="4GB", class_="cheetah", time="10min") as client:
        for task in (lightning, hugging_face, submitit, torchrun):
            report(**{task.__name__: client.submit(task).result(200)})
    """)

    assert run.reported("lightning", 240) == [False, True, 1]
    assert run.reported("hugging_face", 120) == ["DistributedType.NO", 1, 1]
    assert run.reported("submitit", 60) == "in no job of submitit's"
    assert run.reported("torchrun", 120) == ["", "0 2", "1 2"]
    run.ended()


def test_mpi4py_in_a_task_is_one_process_and_mpiexec_starts_more_beside_it(make_user):
    """mpiexec looks for the nodes of a job of Slurm's in its environment, and would start its processes with srun."""
    pytest.importorskip("mpi4py")
    run = make_user().python("""
    import pounce
    def mpi():
        import os, subprocess, sys
        from mpi4py import MPI
        mpiexec = os.path.join(os.path.dirname(sys.executable), "mpiexec")
        program = "from mpi4py import MPI; print(str(MPI.COMM_WORLD.allgather(MPI.COMM_WORLD.Get_rank())) + chr(10), end='')"  # one write each
        done = subprocess.run([mpiexec, "-n", "2", sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        return MPI.COMM_WORLD.Get_size(), done.stdout.splitlines(), done.stderr
    with pounce.Client(cpus=2, class_="cheetah", time="10min") as client:
        report(mpi=client.submit(mpi).result(100))
    """)

    assert run.reported("mpi", 120) == [1, ["[0, 1]"] * 2, ""]
    run.ended()


def test_sbatchs_variables_of_the_notebook_ask_nothing_of_leases_and_gangs(make_user):
    run = make_user().python("""
    import os, pounce, subprocess
    os.environ.update(SBATCH_QOS="lion", SBATCH_TIMELIMIT="7", SBATCH_PARTITION="none", SBATCH_ACCOUNT="none", SLURM_TIME_FORMAT="relative")
    def of(job): return subprocess.check_output(["squeue", "--noheader", f"--jobs={job}", "--Format=QOS,TimeLimit"], text=True).split()
    with pounce.Client(cpus=1, class_="cheetah", time="10min") as client:
        client.submit(pow, 2, 3).result(100)
        report(lease=of(client.leases()[0].job))
        with client.gang(nodes=2, cpus=1) as gang:
            gang.run(os.getpid)
            report(gang=of(gang.lease.job))
    """)

    assert run.reported("lease", 120) == run.reported("gang", 120) == ["cheetah", "10:00"]
    run.ended()


def test_a_client_in_a_task_leases_beside_the_job_of_its_worker(make_user):
    """By the worker's job the inner client would have taken the task's own node for what it may hand out."""
    run = make_user().python(SEES + """
    def leases():
        import os, pounce
        with pounce.Client(here="auto", cpus=1, class_="cheetah", time="10min") as client:
            return os.environ["SLURM_JOB_ID"], client.submit(sees).result(100)["SLURM_JOB_ID"], str(client.leases()[0].job)
    with pounce.Client(cpus=1, class_="cheetah", time="10min") as client:
        report(jobs=client.submit(leases).result(150))
    """)

    own, inner, lease = run.reported("jobs", 180)

    assert inner == lease != own
    run.ended()
