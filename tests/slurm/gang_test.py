"""Gangs on several nodes of the real cluster: one job, a step for each further node, ranks that find each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from faults import assert_told
from login_node import wait_until

WHO = """
    import pounce
    def who():
        import os
        me = pounce.rank()
        return dict(rank=me.rank, world=me.world_size, local=me.local_rank, address=me.addresses[me.rank][0], store=os.environ["MASTER_ADDR"],
                    devices=os.environ.get("CUDA_VISIBLE_DEVICES"), launch=sorted(name for name in os.environ if name.startswith(("SLURM_NTASKS", "SLURM_PROCID", "SLURM_STEP", "PMI"))))
"""

DDP = """
    import pounce
    def train(epochs):
        import os, torch, torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel
        os.environ["RES_OPTIONS"] = "timeout:1 attempts:1"  # torch looks for the peers' names, and no DNS answers
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
    assert all(rank["devices"] and not rank["launch"] for rank in (first, second))
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


def test_torchrun_starts_its_ranks_on_both_nodes(make_user):
    run = make_user().python("""
        import pathlib, pounce, tempfile
        script = pathlib.Path(tempfile.mkdtemp(dir=pathlib.Path.home()), "train.py")
        script.write_text("import torch, torch.distributed as dist\\n"
                          "dist.init_process_group('gloo')\\n"
                          "total = torch.ones(1) + dist.get_rank()\\n"
                          "dist.all_reduce(total)\\n"
                          "assert dist.get_world_size() == 2 and total.item() == 3\\n"
                          "print('torchrun', dist.get_rank(), 'of', dist.get_world_size(), flush=True)\\n"
                          "dist.destroy_process_group()\\n")
        with pounce.gang(nodes=2, cpus=1, memory="1GB", class_="cheetah", time="10min") as gang:
            gang.run(lambda: os.environ.update(RES_OPTIONS="timeout:1 attempts:1"))
            report(codes=gang.command(["torchrun", str(script)]))
    """)
    assert run.reported("codes", 200) == [0, 0], run.output
    assert "torchrun 0 of 2" in run.output and "[rank 1] torchrun 1 of 2" in run.output


def test_a_rank_that_is_killed_inside_a_collective_ends_the_run_in_5_s_and_the_gang_goes_on(make_user):
    run = make_user().python("""
        import pounce, tempfile
        def dies(note):
            import os, pathlib, sys, threading, time, torch, torch.distributed as dist
            os.environ["RES_OPTIONS"] = "timeout:1 attempts:1"  # torch looks for the peers' names, and no DNS answers
            dist.init_process_group("gloo")
            dist.barrier()
            main = threading.main_thread().ident
            def kill_in_a_collective():
                while sys._current_frames()[main].f_code.co_name != "all_reduce": pass  # nothing of Python's above it: it waits for the peer
                pathlib.Path(note).write_text(str(time.time()))
                os.kill(os.getpid(), 9)
            if dist.get_rank() == 1: threading.Thread(target=kill_in_a_collective, daemon=True).start()
            while True: dist.all_reduce(torch.ones(1_000_000))
        with pounce.gang(nodes=2, cpus=1, memory="1GB", class_="cheetah", time="10min") as gang:
            note = tempfile.mktemp(dir=os.path.expanduser("~"))
            try:
                gang.run(dies, note)
            except pounce.WorkerCrashed as error:
                report(seconds=time.time() - float(open(note).read()), text=str(error))
            report(again=gang.run(lambda: pounce.rank().rank))
    """)
    assert run.reported("seconds", 200) < 5
    assert re.match("rank 1 of 2, on g[12]: the worker died of SIGKILL", run.reported("text")), run.reported("text")
    assert run.reported("again") == [0, 1]


def test_a_rank_out_of_memory_ends_the_run_by_its_name_while_its_peer_waits(make_user):
    run = make_user().python("""
        import pounce
        def eats():
            if pounce.rank().rank == 1: return len(bytearray(2_000_000_000))
            time.sleep(120)
        with pounce.gang(nodes=2, cpus=1, memory="300MB", class_="cheetah", time="10min") as gang:
            try:
                gang.run(eats)
            except pounce.OutOfMemory as out:
                report(error=error(out), notes=out.__notes__)
    """).ended(120)
    assert_told(run.reported("error"), "OutOfMemory", "(300 MiB)")
    assert any(re.match("rank 1 of 2, on .*; the others were stopped", note) for note in run.reported("notes"))


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
        report(times=[[record.cold, record.ranks, record.start > 0, record.total > record.data] for record in shell.user_ns["pounce"].timings()])
        cell("%pounce release")
    """)
    assert run.reported("shown", 120) == "(0, 2)" and run.reported("twice") == 10 and run.reported("kept") == "100"
    assert run.reported("times") == [[True, 2, True, True], [False, 2, False, True]]


def test_two_gangs_on_one_node_have_a_process_group_each_at_the_same_time(make_user):
    run = make_user().python("""
    import pounce, tempfile, threading
    def adds(number, folder):
        import os, pathlib, time, torch, torch.distributed as dist
        os.environ["RES_OPTIONS"] = "timeout:1 attempts:1"  # torch looks for the peers' names, and no DNS answers
        dist.init_process_group("gloo")
        (pathlib.Path(folder) / str(os.getpid())).touch()
        deadline = time.monotonic() + 90
        while len(os.listdir(folder)) < 4:  # both groups are there
            assert time.monotonic() < deadline, os.listdir(folder)
            time.sleep(0.02)
        total = torch.tensor([float(number)])
        dist.all_reduce(total)
        return total.item(), pounce.rank().addresses[0][0], os.environ.get("CUDA_VISIBLE_DEVICES", "")
    node = dict(not_nodes="g2", memory="1GB", class_="cheetah", time="10min")
    with pounce.Client(**node) as client, client.gang(workers=2, gpus=1) as one, client.gang(workers=2) as other:
        found, folder = {}, tempfile.mkdtemp(dir=os.path.expanduser("~"))
        threads = [threading.Thread(target=lambda gang=gang, number=number: found.update({number: gang.run(adds, number, folder)}))
                   for gang, number in ((one, 1), (other, 10))]
        for thread in threads: thread.start()
        for thread in threads: thread.join(150)
        report(found=found, devices=one.run(lambda: os.environ.get("CUDA_VISIBLE_DEVICES", "")))
""")
    found = run.reported("found", 200)
    assert [[total for total, _, _ in ranks] for ranks in (found["1"], found["10"])] == [[2, 2], [20, 20]]
    assert len({address for ranks in found.values() for _, address, _ in ranks}) == 1
    devices = {seen for _, _, seen in found["1"]} | set(run.reported("devices"))
    assert len(devices) == 1 and len(set(devices.pop().split(","))) == 2  # one of its own for each rank, in the second run too


def test_a_world_that_no_cluster_can_hold_is_refused_with_what_fits(make_user):
    run = make_user().python("""
        import pounce
        with pounce.Client(class_="cheetah", time="10min") as client, client.gang(nodes=99, gpus=1) as gang:
            try:
                gang.run(time.time)
            except pounce.Unsatisfiable as error:
                report(text=str(error))
    """)
    assert "99 nodes" in run.reported("text", 60), run.reported("text")


NEEDS_SRUN = """
    import pounce
    with pounce.gang(nodes=2, cpus=1, memory="100MB", class_="cheetah", time="10min") as gang:
        began = time.monotonic()
        try:
            gang.run(os.getpid)
        except pounce.LeaseEnded as ended:
            report(error=error(ended), seconds=time.monotonic() - began)
"""


def test_a_first_node_without_srun_is_told_at_once_with_what_to_do(make_user):
    alice = make_user()
    path = alice.run("sh", "-c", "echo $PATH").strip().split(":")
    run = alice.python(NEEDS_SRUN, PATH=":".join(folder for folder in path if not Path(folder, "srun").exists()))
    text = run.reported("error", 90)["text"]
    assert "its first one cannot run srun" in text and "Put Slurm's client commands into PATH" in text
    assert run.reported("seconds") < 30


def test_an_srun_that_is_refused_is_told_at_once_with_what_to_do(make_user):
    """A job a second was asked for, without end: the worker of the first node was ready each time."""
    alice = make_user()
    folder = alice.folder / "bin"
    folder.mkdir()
    (folder / "srun").write_text("#!/bin/sh\necho 'srun: error: Unable to create step: Access denied' >&2\nexit 1\n")
    (folder / "srun").chmod(0o755)
    run = alice.python(NEEDS_SRUN, PATH=f"{folder}:" + alice.run("sh", "-c", "echo $PATH").strip())
    error = run.reported("error", 90)
    assert "srun, which starts them there, failed again and again" in error["text"] and "pouncectl logs" in error["text"]
    assert "Access denied" in alice.run("pouncectl", "logs", error["context"]["lease"])
    assert run.reported("seconds") < 30
