"""Gangs on several nodes of the real cluster: one job, a step for each further node, ranks that find each other."""

from __future__ import annotations

import pytest
from login_node import wait_until

WHO = """
    import pounce
    def who():
        import os
        me = pounce.rank()
        return dict(rank=me.rank, world=me.world_size, local=me.local_rank, address=me.addresses[me.rank][0], store=os.environ["MASTER_ADDR"],
                    devices=os.environ.get("CUDA_VISIBLE_DEVICES"), slurm=sorted(name for name in os.environ if name.startswith(("SLURM", "PMI"))))
"""

DDP = """
    import pounce
    def train(epochs):
        import torch, torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel
        alone = pounce.rank().world_size == 1
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 1)
        if not alone:
            dist.init_process_group("gloo")
            model = DistributedDataParallel(model)
        x = torch.arange(64.0).reshape(16, 4) / 64
        y = x.sum(1, keepdim=True)
        mine = slice(pounce.rank().rank, None, pounce.rank().world_size)
        descent = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(epochs):
            descent.zero_grad()
            torch.nn.functional.mse_loss(model(x[mine]), y[mine]).backward()
            descent.step()
        with torch.no_grad():
            return torch.nn.functional.mse_loss(model(x), y).item()
"""


def test_a_gang_is_one_job_with_a_step_for_its_further_node_and_each_rank_has_its_own_device(make_user):
    alice = make_user()
    run = alice.python(WHO + """
    with pounce.gang(nodes=2, gpus=1, class_="cheetah", time="10min") as gang:
        ranks = gang.run(who)
        report(ranks=ranks, job=int(gang.lease.job))
""")
    first, second = run.reported("ranks", 120)
    assert [(rank["rank"], rank["world"], rank["local"]) for rank in (first, second)] == [(0, 2, 0), (1, 2, 0)]
    assert first["address"] != second["address"] and first["store"] == second["store"] == first["address"]
    assert all(rank["devices"] and not rank["slurm"] for rank in (first, second))
    job = run.reported("job")
    steps = [f"{job}|2", f"{job}.batch|1", f"{job}.0|1"]
    accounted = lambda: alice.run("sacct", "--noheader", "--parsable2", f"--jobs={job}", "--format=JobID,NNodes").split() == steps
    wait_until(accounted, 60, "slurmdbd has heard of the job and of one step for its further node")
    assert run.ended(60) is not None


def test_ddp_over_two_nodes_is_the_training_of_one_process(make_user):
    run = make_user().python(DDP + """
    with pounce.gang(nodes=2, cpus=1, memory="1GB", class_="cheetah", time="10min") as gang:
        losses = gang.run(train, 30)
    report(losses=losses, alone=train(30))
""")
    losses, alone = run.reported("losses", 200), run.reported("alone")
    assert losses == [pytest.approx(alone, abs=1e-5)] * 2


def test_a_rank_that_is_killed_in_a_collective_ends_the_run_in_5_s_and_the_gang_goes_on(make_user):
    run = make_user().python("""
        import pounce, tempfile
        def dies(note):
            import os, pathlib, time, torch, torch.distributed as dist
            dist.init_process_group("gloo")  # takes 10 s here: it looks for the peers' names, and no DNS answers
            dist.barrier()
            if dist.get_rank() == 1:
                pathlib.Path(note).write_text(str(time.time()))
                os.kill(os.getpid(), 9)
            dist.all_reduce(torch.ones(1))
        with pounce.gang(nodes=2, cpus=1, memory="1GB", class_="cheetah", time="10min") as gang:
            note = tempfile.mktemp(dir=os.path.expanduser("~"))
            try:
                gang.run(dies, note)
            except pounce.WorkerCrashed as error:
                report(seconds=time.time() - float(open(note).read()), text=str(error))
            report(again=gang.run(lambda: pounce.rank().rank))
    """)
    assert run.reported("seconds", 200) < 5
    assert "SIGKILL" in run.reported("text") and run.reported("again") == [0, 1]


def test_a_cell_with_nodes_runs_on_every_rank(make_user):
    run = make_user().python("""
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance()
        def cell(text):
            done = shell.run_cell(text)
            assert done.success, done.error_in_exec or done.error_before_exec
            return done.result
        cell("import pounce\\nmine = 5")
        line = "%%pounce --nodes 2 --gpu 1 --class cheetah --time 10min --mem 500MB"
        shown = cell(line + " --out twice\\nimport os\\ntwice = 2 * mine\\nkept = int(os.environ['RANK'])\\nkept, int(os.environ['WORLD_SIZE'])")
        report(shown=repr(shown), twice=shell.user_ns["twice"], kept=repr(cell(line + "\\nkept + 100")))
        cell("%pounce release")
    """)
    assert run.reported("shown", 120) == "(0, 2)" and run.reported("twice") == 10 and run.reported("kept") == "100"


def test_two_gangs_of_two_ranks_run_at_once_on_one_node(make_user):
    run = make_user().python(WHO + """
    import threading
    with pounce.Client(class_="cheetah", time="10min") as client, client.gang(workers=2) as one, client.gang(workers=2) as other:
        found = {}
        threads = [threading.Thread(target=lambda gang=gang, name=name: found.update({name: gang.run(who)})) for name, gang in (("one", one), ("other", other))]
        for thread in threads: thread.start()
        for thread in threads: thread.join(100)
        report(found=found)
""")
    found = run.reported("found", 150)
    assert sorted(found) == ["one", "other"]
    assert all([rank["rank"] for rank in ranks] == [0, 1] for ranks in found.values())


def test_a_world_that_no_cluster_can_hold_is_refused_with_what_fits(make_user):
    run = make_user().python("""
        import pounce
        with pounce.Client(class_="cheetah", time="10min") as client, client.gang(nodes=3, gpus=1) as gang:
            try:
                gang.run(time.time)
            except pounce.Unsatisfiable as error:
                report(text=str(error))
    """)
    assert "3 nodes" in run.reported("text", 60), run.reported("text")
