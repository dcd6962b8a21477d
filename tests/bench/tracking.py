#!/usr/bin/env python3
"""Whether what many ranks log for MLflow at once is all there, and once: 10,000 metrics of 16 workers, and the system metrics of 16 ranks.

    tests/bench/tracking.py [--workers 16] [--each 625] [--mlflow 3|2] [--away] [--ratio]

A real server on SQLite, the local launcher. `calls`: each worker logs its part of one metric's history into the notebook's run, a request for
each. `gang`: rank 0 does, and each rank has system metrics. --away: the server is killed in the middle of each, and started again when all of
them have ended and their workers are gone: a worker that comes then sends what they have left. --ratio: a metric logged by a call beside one
logged by the notebook itself, to the same server, in turn. Prints lines of JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
import tempfile

from conftest import Script, made_home
from mlflow_test import SECOND, Server

BEGIN = """
    import mlflow, warnings
    warnings.simplefilter("ignore")
    WORKERS, EACH = {workers}, {each}
    mlflow.set_experiment("many")
    run = mlflow.start_run().info.run_id
    def logs(part):
        import mlflow
        for step in range(part * EACH, (part + 1) * EACH):
            mlflow.log_metric("m", step / 2, step)
        return os.getpid(), mlflow.__version__
"""
NEXT = """
    def sends():
        import mlflow
        mlflow.log_metric("next", 1)
        return mlflow.active_run().info.run_id
    if {away}:
        while not os.path.exists("back"): time.sleep(0.1)
        reads, deadline = mlflow.MlflowClient(), time.monotonic() + 300
        with pounce.Client() as client:
            client.submit(sends).result()
            while len(reads.get_metric_history(run, "m")) < {workers} * {each} and time.monotonic() < deadline: time.sleep(0.5)
"""
CALLS = BEGIN + """
    client = pounce.Client(workers=f"{{WORKERS}}:{{WORKERS}}")
    def meets(number):
        open(f"at{{number}}", "w").close()
        while sum(name.startswith("at") for name in os.listdir(".")) < WORKERS: time.sleep(0.02)
    [one.result() for one in [client.submit(meets, number) for number in range(WORKERS)]]
    report(run=run)
    start = time.monotonic()
    found = [one.result() for one in [client.submit(logs, part) for part in range(WORKERS)]]
    report(seconds=time.monotonic() - start, workers=len(set(pid for pid, _ in found)), mlflow=found[0][1])
    client.close()
""" + NEXT
GANG = BEGIN + """
    os.environ |= {{"MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING": "true", "MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL": "0.2"}}
    EACH = EACH * WORKERS
    def rank():
        from pounce._worker.tracking import system_metrics
        me, own = pounce.rank().rank, system_metrics._Watch._take
        def counted(watch, run, found):
            with open(f"samples{{me}}", "a") as file:
                file.writelines(f"system/{{os.uname().nodename}}/rank{{me}}/{{name}}\\n" for name in found)
            own(watch, run, found)
        system_metrics._Watch._take = counted
        import mlflow  # with its first sample
        with open(f"begun{{me}}", "w"): pass
        while sum(name.startswith("begun") for name in os.listdir(".")) < WORKERS: time.sleep(0.02)
        if me == 0:
            logs(0)
            with open("rank 0 has ended", "w"): pass
        while not os.path.exists("rank 0 has ended"): time.sleep(0.02)
        return os.getpid(), mlflow.__version__
    report(run=run)
    start = time.monotonic()
    with pounce.Client().gang(workers=WORKERS) as gang:
        found = gang.run(rank)
    report(seconds=time.monotonic() - start, workers=len(set(pid for pid, _ in found)), mlflow=found[0][1])
""" + NEXT
RATIO = BEGIN + """
    client = pounce.Client()
    report(run=run)
    def timed(key):
        import mlflow
        start, used = time.perf_counter(), time.process_time()
        for step in range(EACH):
            mlflow.log_metric(key, step, step)
        return (time.perf_counter() - start) / EACH * 1e3, (time.process_time() - used) / EACH * 1e3
    timed("here")
    client.submit(timed, "there").result()
    for turn in range(7):
        here, there = timed("here"), client.submit(timed, "there").result()
        report(here=here, there=there)
"""


def history(server: Server, run: str, key: str) -> list[float]:
    """The steps that the server has."""
    return [int(one["step"]) for one in server.ask(f"metrics/get-history?run_id={run}&metric_key={key}").get("metrics", [])]


def measured(server: Server, program: str, words: argparse.Namespace) -> None:
    with made_home(heartbeat_ms=1000) as home:
        home.environment |= {"MLFLOW_TRACKING_URI": server.address, "MLFLOW_DISABLE_TELEMETRY": "true"}
        if words.mlflow == 2:
            home.environment["PYTHONPATH"] = str(SECOND)
        script = home.start(program.format(workers=words.workers, each=words.each, away=words.away))
        if words.away:
            break_down(server, script, words.workers * words.each)
            (home.folder / "back").touch()
        script.ended(seconds=1800)
        facts = script.reports
        whole = words.workers * words.each
        steps = Counter(history(server, facts["run"], "m"))
        missing, twice = sorted(set(range(whole)) - set(steps)), [step for step, count in steps.items() if count > 1]
        told = [line for line in script.stderr.splitlines() if line.startswith("pounce:")]
        print(json.dumps({"what": "calls" if program is CALLS else "gang", **facts, "metrics": sum(steps.values()), "missing": len(missing),
                          "twice": len(twice), "lines": len(told), "lacks": server.run(facts["run"]).tags.get("pounce.missing", "")}))
        samples: Counter[str] = Counter()
        for file in home.folder.glob("samples*"):
            samples.update(file.read_text().split())
        if samples:
            there = {key: len(history(server, facts["run"], key)) for key in samples}
            wrong = {key: (samples[key], there[key]) for key in samples if samples[key] != there[key]}
            print(json.dumps({"series": len(samples), "samples": sum(samples.values()), "arrived": sum(there.values()), "wrong": wrong}))


def break_down(server: Server, script: Script, whole: int) -> None:
    """Kills the server when it has a third of them, and starts it again when the program has no worker any more."""
    script.until(lambda one: "run" in one.reports, "it has begun", 600)
    script.until(lambda one: len(history(server, one.reports["run"], "m")) > whole / 3, "a third is there", 1200)
    server.kill()
    script.until(lambda one: "seconds" in one.reports, "all have ended", 1200)
    server.start()
    server.wait()


def ratio(server: Server, words: argparse.Namespace) -> None:
    with made_home() as home:
        home.environment |= {"MLFLOW_TRACKING_URI": server.address, "MLFLOW_DISABLE_TELEMETRY": "true"}
        out = home.run(RATIO.format(workers=1, each=100), seconds=900).stdout
    turns = [json.loads(line.removeprefix("REPORT ")) for line in out.splitlines() if '"there"' in line]
    least = {who: [min(turn[who][which] for turn in turns) for which in (0, 1)] for who in ("here", "there")}
    in_turn = sorted(turn["there"][0] / turn["here"][0] for turn in turns)
    print(json.dumps({"least ms, and of processor": least, "ratio of the least": round(least["there"][0] / least["here"][0], 3),
                      "ratio in a turn": [round(one, 3) for one in in_turn]}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--each", type=int, default=625)
    parser.add_argument("--mlflow", type=int, choices=(2, 3), default=3)
    parser.add_argument("--away", action="store_true")
    parser.add_argument("--ratio", action="store_true")
    parser.add_argument("--only", choices=("calls", "gang"))
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        try:
            server.wait()
            if words.ratio:
                ratio(server, words)
            else:
                for name, program in (("calls", CALLS), ("gang", GANG)):
                    if words.only in (None, name):
                        measured(server, program, words)
        finally:
            server.kill()


if __name__ == "__main__":
    main()
