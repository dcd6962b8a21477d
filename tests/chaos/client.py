"""A user's program under chaos: several clients, each in a thread, that submit work of every kind until they are told to stop.

    client.py LIFE.json     with run, history, stop, client, seed, streams; or with collect: the tasks whose results are fetched

Runs as an ordinary user on a login node, and imports nothing of the tests. Everything that is asked for and everything that
is told goes to the history; a task says there itself that it begins and that it ends.
"""

import json
import os
import random
import sys
import threading
import time

import pounce

LONGEST_S = 240  # for any one future: longer than Slurm takes to call a node lost and to queue anew


def work(history, task, seconds, part=0):
    import json
    import os
    import time
    run = os.urandom(6).hex()

    def mark(what):
        line = {"what": what, "at": time.monotonic(), "task": task, "run": run, "part": part, "pid": os.getpid()}
        with open(history, "ab", buffering=0) as file:
            file.write(json.dumps(line).encode() + b"\n")

    mark("begin")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.05)
    mark("end")
    return [task, part]


class Stream:
    """One client of a user, and its tasks one after the other."""

    OPTIONS = [{"gpus": 1}, {"gpus": 1}, {"gpus": 1, "class_": "lion"}, {"gpus": "a100_3g.20gb:1"}, {"cpus": 1}, {"gpus": 1, "workers": 2}]
    KINDS = ["plain", "plain", "plain", "retried", "named", "named", "map"]

    def __init__(self, life, number):
        self.life, self.name = life, f"{life['client']}-{number}"
        self.random = random.Random(f"{life['seed']} {self.name}")
        self.count = 0

    def note(self, what, **facts):
        with open(self.life["history"], "ab", buffering=0) as file:
            file.write(json.dumps({"what": what, "at": time.monotonic(), "client": self.life["client"], **facts}).encode() + b"\n")

    def run(self):
        client = None
        while not os.path.exists(self.life["stop"]):
            client = client or self.opened()
            if client is not None:
                self.one_task(client)
            time.sleep(self.random.uniform(0, 0.6))
        if client is not None:
            client.close()

    def opened(self):
        self.count += 1
        task = f"{self.name}.{self.count}"
        self.note("asked", task=task, kind="open", retries=0)
        try:
            client = pounce.Client(memory="300MB")
            self.note("told", task=task, value=None)
            return client
        except Exception as error:
            self.told(task, error)
            time.sleep(1)
            return None

    def one_task(self, client):
        self.count += 1
        task = f"{self.name}.{self.count}"
        kind, options = self.random.choice(self.KINDS), dict(self.random.choice(self.OPTIONS))
        seconds, retries = self.random.choice([0.1, 0.5, 1, 2, 4]), 0
        if kind == "retried" or kind == "named" and self.random.random() < 0.3:
            retries = 3
        if kind == "named":
            options = {**options, "name": self.name_of(task), "workers": 1}
        self.note("asked", task=task, kind=kind, retries=retries, parts=3 if kind == "map" else 1, name=options.get("name"), options=options)
        try:
            self.note("told", task=task, value=getattr(self, f"do_{kind}")(client.options(**options), task, seconds, retries))
        except Exception as error:
            self.told(task, error)

    def name_of(self, task):
        return f"chaos-{self.life['run']}-{task}"  # of this run alone: what an earlier one has left is kept for days

    def do_plain(self, client, task, seconds, retries):
        return client.submit(work, self.life["history"], task, seconds, retries=retries).result(LONGEST_S)

    do_retried = do_plain

    def do_named(self, client, task, seconds, retries):
        future = client.submit(work, self.life["history"], task, seconds, retries=retries)
        self.note("accepted", task=task)
        return future.result(LONGEST_S)

    def do_map(self, client, task, seconds, retries):
        return list(client.map(work, [self.life["history"]] * 3, [task] * 3, [seconds] * 3, range(3), chunksize=1, timeout=LONGEST_S))

    def told(self, task, error, what="told"):
        evidence = getattr(error, "context", None) or {}
        self.note(what, task=task, error=type(error).__name__, ours=isinstance(error, pounce.PounceError), text=str(error)[:1500],
                  context={key: str(value)[:300] for key, value in evidence.items()})

    def collect(self):
        """What is kept of the tasks with a name, after everything."""
        client = None
        for task in self.life["collect"]:
            try:
                client = client or pounce.Client()
                future = client.attach(self.name_of(task))
                self.note("kept", task=task, value=future.result(LONGEST_S))
                future.forget()
            except Exception as error:
                self.told(task, error, "kept")


def main():
    with open(sys.argv[1]) as file:
        life = json.load(file)
    if "collect" in life:
        Stream(life, 0).collect()
        return
    streams = [Stream(life, number) for number in range(life["streams"])]
    streams[0].note("client", pid=os.getpid(), login=life["login"])
    threads = [threading.Thread(target=stream.run) for stream in streams]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    streams[0].note("closed")


if __name__ == "__main__":
    main()
