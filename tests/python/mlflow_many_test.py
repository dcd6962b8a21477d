"""MLflow where many log at once, or later: none of their metrics is lost or there twice; tasks with a name begin runs of their own."""

from __future__ import annotations

import os
import signal
import time

import pytest
from batch_test import run_of, slurm  # noqa: F401 -- a fixture
from mlflow_test import SECOND, Server, mlflow_home  # noqa: F401 -- a fixture, of this file's server
from pounce._worker.tracking.attempts import Outcome
from pounce._worker.tracking.link import Link

pytest.importorskip("mlflow")
pytestmark = pytest.mark.xdist_group("mlflow_many")
TOKEN = "tok-" + "n4med" * 4


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = Server(tmp_path_factory.mktemp("mlflow"))
    made.wait()
    yield made
    made.kill()


# ---- many workers ----

MANY = """
    WORKERS, EACH = 4, 80
    import mlflow
    mlflow.set_experiment("many")
    run = mlflow.start_run().info.run_id
    def there(name):
        while not os.path.exists(name): time.sleep(0.02)
    def logs(part):
        import mlflow
        for step in range(part * EACH, (part + 1) * EACH):
            mlflow.log_metric("m", step / 2, step)
            if step == part * EACH + EACH // 2:
                open(f"half{part}", "w").close()
                there("away")
        return os.getpid()
    client = pounce.Client(workers=f"{WORKERS}:{WORKERS}")
    futures = [client.submit(logs, part) for part in range(WORKERS)]
    [there(f"half{part}") for part in range(WORKERS)]
    report(halves=run)
    report(workers=len({future.result() for future in futures}))
    there("back")
    reads, deadline = mlflow.MlflowClient(), time.monotonic() + 120
    while len(found := reads.get_metric_history(run, "m")) < WORKERS * EACH and time.monotonic() < deadline: time.sleep(0.1)
    report(steps=sorted(one.step for one in found), values=sorted(one.value for one in found), missing=reads.get_run(run).data.tags.get("pounce.missing"))
"""


def test_what_many_workers_log_is_there_once_also_where_the_server_stops_meanwhile(mlflow_home, server):  # noqa: F811
    script = mlflow_home.start(MANY).until(lambda one: "halves" in one.reports, "each has logged one half", 300)
    server.signal(signal.SIGSTOP)  # it takes connections, and answers later what the workers have given up
    (mlflow_home.folder / "away").touch()
    script.until(lambda one: "workers" in one.reports, "all calls have ended without it", 300)
    server.signal(signal.SIGCONT)
    (mlflow_home.folder / "back").touch()
    facts = script.ended(seconds=300).reports

    assert facts["workers"] == 4 and facts["missing"] is None
    assert facts["steps"] == list(range(320)) and facts["values"] == [step / 2 for step in range(320)]


# ---- artifacts that do not go through the server ----

BOTO3 = """
import os, shutil
from boto3.exceptions import S3UploadFailedError
from botocore.exceptions import ClientError, EndpointConnectionError
DEFAULT_SESSION = None
class Client:  # of a store that is a folder
    class meta:
        class events:
            register = lambda *_, **__: None
    def upload_file(self, Filename, Bucket, Key, ExtraArgs=None):
        place = os.path.join(os.environ["AWS_STORE"], Bucket, Key)
        if os.path.exists("store is away"): raise EndpointConnectionError("no route to host")
        if Key.endswith("refused.txt"): raise S3UploadFailedError("no") from ClientError("AccessDenied", 403)
        if open("key").read() != os.environ["AWS_SESSION_TOKEN"]: raise S3UploadFailedError("no") from ClientError("ExpiredToken", 400)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.copyfile(Filename, place)
        with open("order", "a") as order: order.write(Key.partition("/artifacts/")[2] + "\\n")
client = lambda *_, **__: Client()
"""
BOTOCORE = """
class EndpointConnectionError(Exception): pass
class ClientError(Exception):
    def __init__(self, code, status):
        self.response = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
"""
STORE = """
    import mlflow
    from pathlib import Path
    os.environ |= {"AWS_SESSION_TOKEN": "f1rst-k3y-of-s3", "MLFLOW_POUNCE_SPOOL_MIB": "1"}
    Path("key").write_text("f1rst-k3y-of-s3")
    mlflow.set_experiment(experiment_id=mlflow.create_experiment("direct", artifact_location="s3://bucket/base"))
    run = mlflow.start_run().info.run_id
    client = pounce.Client()
    def texts(*names):
        import mlflow
        for name in names: mlflow.log_text(name, name)
    def folder():
        import mlflow
        os.makedirs("made/inner", exist_ok=True)
        for name in ("made/x", "made/inner/y"): Path(name).write_text(name)
        mlflow.log_artifacts("made", "dir")
        Path("made/x").write_text("changed afterwards")
        mlflow.log_text("changed", "a/first.txt")
        with open("large", "wb") as file: file.truncate(10 << 30)
        mlflow.log_artifact("large")
        os.unlink("large")
        mlflow.log_metric("m", 1)
    def waiting():
        return [path for path in Path(os.environ["HOME"]).glob(".local/state/pounce/*/mlflow/*/**/*") if path.is_file()]
    def arrive():
        deadline = time.monotonic() + 90
        while waiting():
            assert time.monotonic() < deadline, waiting()
            time.sleep(0.02)
    def missing():  # it is told after what could be sent
        deadline = time.monotonic() + 90
        while "pounce.missing" not in (tags := mlflow.get_run(run).data.tags):
            assert time.monotonic() < deadline, tags
            time.sleep(0.02)
        return tags["pounce.missing"]
    client.submit(texts, "a/first.txt").result()
    Path("store is away").touch()
    client.submit(texts, *[f"n/{number}.txt" for number in range(5)]).result()
    client.submit(folder).result()
    report(run=run, waiting=sum(path.stat().st_size for path in waiting()), modes=sorted({oct(path.stat().st_mode)[-3:] for path in waiting()}))
    Path("store is away").unlink()
    arrive()
    report(missing=missing(), order=Path("order").read_text().split())
    Path("key").write_text("s3cond-k3y-of-s3")
    client.submit(texts, "refused once.txt").result()
    os.environ["AWS_SESSION_TOKEN"] = "s3cond-k3y-of-s3"
    client.submit(texts, "behind it.txt").result()
    arrive()
    report(more=Path("order").read_text().splitlines()[-2:], error=error_of(client.submit(texts, "refused.txt").result)["type"])
    Path("key").unlink()
    report(leaks=files_with("k3y-of-s3")[0])
"""


def test_artifacts_that_go_to_a_store_directly_wait_while_it_is_away_and_arrive_in_order(mlflow_home):  # noqa: F811
    folder = mlflow_home.folder
    for name, text in {"boto3/__init__.py": BOTO3, "boto3/exceptions.py": "class S3UploadFailedError(Exception): pass", "botocore/__init__.py": "",
                       "botocore/exceptions.py": BOTOCORE, "botocore/client.py": "Config = lambda **_: None"}.items():
        (folder / "libraries" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "libraries" / name).write_text(text)
    before = dict(mlflow_home.environment)
    mlflow_home.environment |= {"PYTHONPATH": str(folder / "libraries"), "AWS_STORE": str(folder / "store"), "AWS_ENDPOINT_URL": "http://store"}
    try:
        script = mlflow_home.run(STORE, seconds=300)
    finally:
        mlflow_home.environment = before
    facts, (stored,) = script.reports, (folder / "store" / "bucket" / "base").iterdir()

    assert facts["order"] == ["a/first.txt", *[f"n/{number}.txt" for number in range(5)], "dir/x", "dir/inner/y", "a/first.txt"]
    assert (stored / "artifacts" / "dir" / "x").read_text() == "made/x" and (stored / "artifacts" / "a" / "first.txt").read_text() == "changed"
    assert facts["missing"] == "1 artifact not kept for want of room" and facts["waiting"] < 100_000 and facts["modes"] == ["600"]
    assert script.stderr.count("large has 10240 MiB, and 1 MiB may wait in") == 1
    assert facts["more"] == ["refused once.txt", "behind it.txt"] and facts["error"] == "S3UploadFailedError"
    assert "the artifact store s3://bucket (http://store) refuses the keys" in script.stderr and facts["leaks"] == []


# ---- tasks with a name ----

NAMED = """
    import mlflow
    os.environ["MLFLOW_TRACKING_TOKEN"] = {token!r}
    mlflow.set_experiment("named")
    run = mlflow.start_run().info.run_id
    looked = os.path.abspath("looked")
    def trains():
        import mlflow
        while not os.path.exists(looked): time.sleep(0.02)
        mlflow.log_metric("m", 1)
        pounce.report(loss=0.5)
        with mlflow.start_run(nested=True) as below:
            return mlflow.active_run().info.run_id, below.info.run_name, os.environ.get("MLFLOW_TRACKING_TOKEN")
    client = pounce.Client()
    futures = [client.options(name=name).submit(trains) for name in ("train-7", "train-8")]
    leaks, count = files_with({token!r})
    report(run=run, leaks=leaks, files=count)
    open(looked, "w").close()
    report(found=[future.result() for future in futures])
"""


def test_a_task_with_a_name_begins_a_run_of_that_name_where_the_notebook_logs_and_has_no_secret(mlflow_home, server):  # noqa: F811
    script = mlflow_home.run(NAMED.format(token=TOKEN), seconds=300)
    facts = script.reports
    (child, child_name, token), _ = facts["found"]
    (first,) = [one for one in server.below(facts["run"]) if one.info["run_name"] == "train-7"]

    assert (first.status, first.metrics) == ("FINISHED", {"m": 1, "loss": 0.5}) and first.tags["pounce.lease"]
    assert [one.id for one in server.below(first.id)] == [child] and child_name != "train-7"
    assert len(server.below(facts["run"])) == 2
    assert token is None and facts["leaks"] == [] and facts["files"] > 3
    (told,) = [line for line in script.stderr.splitlines() if "a task with a name waits in a file" in line]  # once, not with each task
    assert "MLFLOW_TRACKING_TOKEN" in told


# ---- one run of several notebooks, and runs that are not as they were ----

SHARED = """
    import mlflow
    mlflow.set_experiment("shared")
    run = mlflow.start_run().info.run_id
    client, reads = pounce.Client(), mlflow.MlflowClient()
    def logs(name, without=""):
        import sys
        if without: sys.path.insert(0, without)
        import mlflow
        mlflow.log_metric(name, 1)
        return mlflow.__version__, mlflow.active_run().info.run_id
    report(run=run)
    while not os.path.exists("it has ended"): time.sleep(0.02)
    ended = reads.get_run(run).info.status
    with pounce.Client(memory="1GB", imports="no") as fresh:  # its worker has not imported MLflow: another major version
        report(other=fresh.submit(logs, "first", {second!r}).result(), ended=ended)
    reads.delete_run(run)
    report(deleted=error_of(client.submit(logs, "deleted").result)["text"])
    client.submit(pounce.report, loss=1).result()
    reads.restore_run(run)
    client.submit(logs, "last").result()
"""
SHARES = """
    import mlflow
    mlflow.start_run(run_id={run!r})
    report(active=pounce.Client().submit(lambda: __import__("mlflow").log_metric("second", 1) or __import__("mlflow").active_run().info.run_id).result())
    mlflow.end_run()
"""


def test_two_notebooks_log_into_one_run_and_what_a_run_does_not_take_is_told(mlflow_home, server):  # noqa: F811
    second = str(SECOND) if SECOND.is_dir() else ""
    script = mlflow_home.start(SHARED.format(second=second)).until(lambda one: "run" in one.reports, "it has a run", 300)
    run = script.reports["run"]
    assert mlflow_home.run(SHARES.format(run=run), seconds=300).reports["active"] == run
    (mlflow_home.folder / "it has ended").touch()
    facts = script.ended(seconds=300).reports
    version, active = facts["other"]

    assert active == run and facts["ended"] == "FINISHED" and (not second or version.startswith("2."))
    assert "Current state is deleted" in facts["deleted"]
    assert script.stderr.count(f"pounce: the MLflow run {run} lacks what was reported: ") == 1
    assert server.run(run).metrics == {"first": 1, "second": 1, "last": 1}


def test_a_run_that_was_deleted_while_its_server_was_away_keeps_no_worker_busy(tmp_path, capsys):
    outcomes, sent = iter([Outcome.AWAY]), []

    def attempt(send, seconds, size=0):
        send()
        return next(outcomes, Outcome.WRONG), RuntimeError("the run is deleted"), 400

    link = Link("the server", str(tmp_path / "mlflow" / "server"), 1 << 20, lambda record, copies: sent.append(record), lambda: False, attempt)
    link.log({"api": "LogMetric", "body": {"run_id": "a", "key": "m", "value": 1.0}}, lambda: None)
    link.wake()
    deadline = time.monotonic() + 60
    while os.listdir(tmp_path / "mlflow" / "server"):
        assert time.monotonic() < deadline, f"{len(sent)} requests, and more to come"
        time.sleep(0.02)

    assert [record["api"] for record in sent] == ["LogMetric", "SetTag"], "that the metric is missing cannot be told either, and that is all"
    assert capsys.readouterr().err.count("the run is deleted") == 1


# ---- batch runs ----

BATCH = """
def work(address):
    import os, subprocess, mlflow
    mlflow.set_tracking_uri(address)
    mlflow.set_experiment("batch")
    subprocess.run(["pounce-report", "before=1"], check=True)
    with mlflow.start_run() as run:
        with open("curve.txt", "w") as file: file.write("a curve")
        subprocess.run(["sh", "-c", "pounce-report loss=0.5 step=3 --status 'epoch 1' --file curve.txt"], check=True)
        return run.info.run_id
"""


def test_what_a_batch_run_reports_is_in_the_run_that_it_begins(server, slurm, monkeypatch):  # noqa: F811
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    batch = run_of(BATCH, server.address).submit()
    run = server.run(batch.result(300))

    assert run.metrics == {"before": 1, "loss": 0.5} and run.tags["pounce.status"] == "epoch 1" and server.files(run.id) == ["curve.txt"]
    assert batch.reported["mlflow_run"] == run.id
