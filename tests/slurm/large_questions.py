"""What a user of a large cluster asks, one question after the other, and what each costs slurmctld, the network and pounce."""

from __future__ import annotations

import json
import time

from large_cluster import LargeCluster, cpu_s, helper_of, memory_mib, received
from login_node import LoginNode, User

# One client, told by files what comes next; each step reports how long it took.
STEPS = """
import pounce
FOLDER = {folder!r}
def step(name):
    while not os.path.exists(FOLDER + "/" + name):
        time.sleep(0.01)
    return time.perf_counter()
def done(name, since, **facts):
    report(**{{name: dict(seconds=time.perf_counter() - since, **facts)}})
def hold(flag):
    import os, time
    while not os.path.exists(flag):
        time.sleep(0.05)
    return 1024
def told(future, seconds):
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        why = future.why()
        if why is not None and why.slurm_reason and why.eta is not None:
            break
        time.sleep(0.05)
    why = future.why()
    return None if why is None else [str(why), repr(why.eta)]

since = step("start")
client = pounce.Client(gpus="a100:4", class_="cheetah")
assert client.submit(pow, 2, 10).result(100) == 1024
done("start", since)
since = step("call")
assert client.submit(pow, 2, 10).result(100) == 1024
done("call", since)
since = step("waits")
busy = client.submit(hold, FOLDER + "/free")
second = pounce.Client(gpus="a100:4", class_="crowd")
waiting = second.submit(pow, 2, 10)
done("waits", since, why=told(waiting, 30))
since = step("next")
third = pounce.Client(gpus="a100:4", class_="cheetah")
first_in_line = third.submit(pow, 2, 10)
done("next", since, why=told(first_in_line, 90))
since = step("choices")
done("choices", since, choices=[str(one) for one in waiting.choices()])
step("free")
assert busy.result(100) == 1024
waiting.cancel()
second.close()
third.close()
report(freed=True)
step("end")
client.close()
"""


class Questions:
    """One user of the large cluster, and what each of her questions costs: `rows`, by the question."""

    def __init__(self, cluster: LargeCluster, idle_s: float = 60):
        self.cluster, self.idle_s = cluster, idle_s
        self.node = LoginNode(40, cluster.number)
        self.node.connect()
        self.user = User(self.node, "alice")
        self.flags = self.user.folder / "flags"
        self.flags.mkdir()
        self.flags.chmod(0o755)
        self.daemon = 0
        self.rows: dict[str, dict] = {}

    def run(self) -> None:
        run = self.user.python(STEPS.format(folder=str(self.flags)))
        self.step(run, "start")
        self.daemon = self.user.endpoint()["pid"]
        self.step(run, "call")
        self.measured("idle", lambda: time.sleep(self.idle_s))
        for words in (("queue",), ("classes",), ("top",), ("top", "--json"), ("status",)):
            self.measured("pouncectl " + " ".join(words), lambda words=words: self.user.run("pouncectl", *words))
        self.step(run, "waits", 150)
        self.step(run, "next", 150)
        self.measured("pouncectl why", lambda: self.user.run("pouncectl", "why"))
        self.measured("pouncectl queue while one waits", lambda: self.user.run("pouncectl", "queue"))
        self.step(run, "choices")
        self.measured("one waits", lambda: time.sleep(self.idle_s))
        (self.flags / "free").touch()
        run.reported("freed", 100)
        (self.flags / "end").touch()
        run.ended(60)

    def step(self, run, name: str, seconds: float = 100) -> None:
        def go():
            (self.flags / name).touch()
            return run.reported(name, seconds)

        self.measured(name, go)

    def measured(self, name: str, ask) -> dict:
        self.cluster.forget_rpcs()
        helper = self.daemon and helper_of(self.daemon)
        computed = cpu_s(helper) if helper else 0
        before, begin = received(self.node), time.perf_counter()
        answer = ask()
        row = {"question": name, "seconds": round(time.perf_counter() - begin, 3), "received_mb": round((received(self.node) - before) / 1e6, 2)}
        rpcs = self.cluster.rpcs()
        row["rpcs"] = {kind: [rpc.count, rpc.ms] for kind, rpc in rpcs.items()}
        row["slurmctld_ms"] = round(sum(rpc.ms for rpc in rpcs.values()), 1)
        if self.daemon:
            row["pounced_mib"] = memory_mib(self.daemon)
            if helper and helper_of(self.daemon) == helper:
                row["pounce_slurm_mib"], row["pounce_slurm_cpu_s"] = memory_mib(helper), round(cpu_s(helper) - computed, 2)
        if isinstance(answer, dict):
            row.update(answer)
            row["seconds"] = round(row["seconds"], 3)
        elif isinstance(answer, str):
            row["answer_kb"] = round(len(answer) / 1000, 1)
            self.rows[name] = {**row, "told": answer}
        self.rows.setdefault(name, row)
        print("MEASURED", json.dumps(row), flush=True)
        return row

    def close(self) -> None:
        self.node.disconnect()
