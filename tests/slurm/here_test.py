"""``Client(here=True)`` and ``pouncectl run`` inside a real job: its GPUs and CPUs do the work, and no other job is made."""

from __future__ import annotations

from pathlib import Path

from login_node import wait_until

BOTH = """
import json, pathlib, pounce, subprocess, tempfile
def where(met):  # each call on a worker of its own: it waits for the other
    import os, time
    mine = os.environ.get("CUDA_VISIBLE_DEVICES")
    (met / mine).touch()
    while len(list(met.iterdir())) < 2:
        time.sleep(0.05)
    return mine
met = pathlib.Path(tempfile.mkdtemp(dir=pathlib.Path.home()))
with pounce.Client(here="auto", class_="cheetah") as client:
    view = client.options(gpus=1, workers=2, cpus=1)
    gpus = sorted(future.result(100) for future in [view.submit(where, met) for _ in range(2)])
    leases = len(client.leases())
print("REPORT " + json.dumps(dict(gpus=sorted(set(gpus)), leases=leases)), flush=True)
words = ["pouncectl", "run", "--gpu", "1", "--", "sh", "-c", "echo in $CUDA_VISIBLE_DEVICES; exit 3"]
done = subprocess.run(words, capture_output=True, text=True)
print("REPORT " + json.dumps(dict(code=done.returncode, said=done.stdout)), flush=True)
"""


def both(alice):
    program = alice.folder / "both.py"
    program.write_text(BOTH)
    program.chmod(0o644)
    return str(program)


def test_one_script_leases_on_the_login_side_and_uses_its_job_inside_one(make_user):
    alice = make_user()
    outside = alice.start(["python", "-u", both(alice)])
    inside = alice.start(["srun", "--gres=gpu:2", "--cpus-per-task=2", "--qos=lion", "--time=10", "python", "-u", both(alice)])

    assert outside.reported("code", 150) == 3 and inside.reported("code", 150) == 3
    assert len(inside.reported("gpus")) == 2 and inside.reported("said").startswith("in ")
    assert outside.reported("leases") == 1
    outside.ended()
    inside.ended()
    jobs = lambda: alice.run("sacct", "--noheader", "--allocations", "--parsable2", "--user=alice", "--format=JobName,QOS").splitlines()
    wait_until(lambda: "python|lion" in jobs(), 60, "slurmdbd has heard of the job that the script ran in")


NODES = """
import json, pounce
def who():
    import os
    me = pounce.rank()
    return dict(rank=me.rank, address=me.addresses[me.rank][0], store=os.environ["MASTER_ADDR"], devices=os.environ.get("CUDA_VISIBLE_DEVICES"),
                launch=sorted(name for name in os.environ if name.startswith(("SLURM_NTASKS", "SLURM_PROCID", "SLURM_STEP", "PMI"))))
def holds(met):  # each call on a worker of its own: it waits for the others
    import os, time
    mine = os.environ["CUDA_VISIBLE_DEVICES"], os.getpid()
    (met / str(os.getpid())).touch()
    while len(list(met.iterdir())) < 3:
        time.sleep(0.05)
    return mine
if __name__ == "__main__":
    import pathlib, tempfile
    met = pathlib.Path(tempfile.mkdtemp(dir=pathlib.Path.home()))
    with pounce.Client(here=True) as client:
        with client.gang(nodes=2, gpus=1) as gang:
            print("REPORT " + json.dumps(dict(ranks=gang.run(who))), flush=True)
        view = client.options(gpus=1, workers="0:3")
        calls = [view.submit(holds, met) for _ in range(3)]
        print("REPORT " + json.dumps(dict(held=[call.result(100) for call in calls], nodes=sorted(lease.node for lease in client.leases()))), flush=True)
        try:
            client.options(gpus=3).submit(pow, 2, 3).result(60)
        except pounce.Unsatisfiable as error:
            print("REPORT " + json.dumps(dict(refused=str(error))), flush=True)
"""


def test_a_job_of_several_nodes_has_the_workers_of_all_of_them(make_user):
    """Gangs over its nodes, and leases on whichever has room: no other job is made, each is a step."""
    run = make_user().batch(NODES, "-N2 --gres=gpu:2 --cpus-per-task=2 --time=5")

    first, second = run.reported("ranks", 150)

    assert first["address"] != second["address"] and first["store"] == second["store"] == first["address"]
    assert first["devices"] and second["devices"] and not first["launch"] and not second["launch"]
    held = run.reported("held", 10)
    assert len({tuple(one) for one in held}) == 3 and len(set(run.reported("nodes"))) == 2
    assert "GPUs on this node; " in run.reported("refused")
    run.ended()


ENDS_AT_ONCE = """
import os, pounce
client = pounce.Client(here=True)
print('REPORT {"pid": %d}' % client.submit(os.getpid).result(60), flush=True)
os._exit(0)
"""


def test_nothing_of_it_outlives_the_job(make_user):
    alice = make_user()
    run = alice.start(["srun", "--time=5", "--cpus-per-task=1", "python", "-u", "-c", ENDS_AT_ONCE])
    pid = run.reported("pid", 100)
    run.ended()
    wait_until(lambda: not _runs(pid), 60, "its worker ends")


def _runs(pid: int) -> bool:
    try:
        return b"pounce" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_salloc_s_shell_on_the_login_side_is_no_place_for_workers(make_user):
    alice = make_user()
    program = "import pounce; pounce.Client(here=True)"
    run = alice.start(["salloc", "--quiet", "--time=5", "python", "-c", program])
    run.process.wait(90)
    assert "this process is not on its node" in run.output and "srun" in run.output


def test_tasks_with_a_gpu_of_their_own_are_refused(make_user):
    run = make_user().start(["srun", "-n2", "-N1", "--gpus-per-task=1", "--time=5", "python", "-c", "import pounce; pounce.Client(here=True)"])
    run.process.wait(90)
    assert run.output.count("one of several tasks of its step") == 2
