"""Work that outlives its lease, on a real Slurm: what a task has kept is where its next run begins."""

from __future__ import annotations

import uuid

TRAIN = """
    import pounce
    def train(epochs, seconds):
        done = pounce.restored(default=0)
        print("run from", done, "in", os.getpid(), flush=True)
        try:
            while done < epochs:
                time.sleep(seconds)
                print("epoch", done, "left", pounce.time_left(), flush=True)
                done += 1
                pounce.checkpoint(done)
        except pounce.WalltimeReached:
            print("met", pounce.time_left(), flush=True)
            raise
        return done
    client = pounce.Client()
    future = client.options(gpus=1, time="1min", name={name!r}).submit(train, {epochs}, {seconds}, retries=5)
    report(done=future.result(400), log=future.log(), task=future.id, folder=os.path.dirname(client._session.results) + "/checkpoints")
    future.forget()
    client.close()
"""


def test_a_task_with_a_name_crosses_its_walltime_and_does_each_step_once(make_user):
    alice = make_user("alice")  # of its minute a run has three quarters, so 105 s are more than one

    run = alice.python(TRAIN.format(name=f"crosses-{uuid.uuid4().hex[:8]}", epochs=35, seconds=3)).ended(450)

    words = [line.split() for line in run.reported("log").splitlines()]
    assert run.reported("done") == 35
    assert [int(line[1]) for line in words if line[0] == "epoch"] == list(range(35))  # each once, and none left out
    begins = [int(line[2]) for line in words if line[0] == "run"]
    assert begins[0] == 0 and len(begins) >= 2 and all(begin > 0 for begin in begins[1:])  # Slurm ended it, and it went on
    met = [float(line[1]) for line in words if line[0] == "met"]
    assert len(met) == len(begins) - 1 and all(0 < seconds <= 20 for seconds in met)  # in the last quarter, then the next run began
    left = [float(line[3]) for line in words if line[0] == "epoch" and line[3] != "None"]
    assert len(left) >= 30 and all(0 <= seconds <= 61 for seconds in left)
    assert run.reported("task") not in alice.run("ls", run.reported("folder"))
