"""MLflow where many log at once, or later: none of their metrics is lost or there twice; tasks with a name begin runs of their own."""

from __future__ import annotations

import signal

import pytest
from conftest import made_home
from mlflow_test import Server

pytest.importorskip("mlflow")
pytestmark = pytest.mark.xdist_group("mlflow_many")
TOKEN = "tok-" + "n4med" * 4


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = Server(tmp_path_factory.mktemp("mlflow"))
    made.wait()
    yield made
    made.kill()


@pytest.fixture(scope="module")
def mlflow_home(server):
    with made_home() as home:
        home.environment |= {"MLFLOW_TRACKING_URI": server.address, "MLFLOW_DISABLE_TELEMETRY": "true"}
        yield home


# ---- many workers ----

MANY = """
    WORKERS, EACH = 8, 40
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


def test_what_many_workers_log_is_there_once_also_where_the_server_stops_meanwhile(mlflow_home, server):
    script = mlflow_home.start(MANY).until(lambda one: "halves" in one.reports, "each has logged one half", 300)
    server.signal(signal.SIGSTOP)  # it takes connections, and answers later what the workers have given up
    (mlflow_home.folder / "away").touch()
    script.until(lambda one: "workers" in one.reports, "all calls have ended without it", 300)
    server.signal(signal.SIGCONT)
    (mlflow_home.folder / "back").touch()
    facts = script.ended(seconds=300).reports

    assert facts["workers"] == 8 and facts["missing"] is None
    assert facts["steps"] == list(range(320)) and facts["values"] == [step / 2 for step in range(320)]


# ---- tasks with a name ----

NAMED = """
    import mlflow
    os.environ["MLFLOW_TRACKING_TOKEN"] = {token!r}
    mlflow.set_experiment("named")
    run = mlflow.start_run().info.run_id
    def trains():
        import mlflow
        mlflow.log_metric("m", 1)
        pounce.report(loss=0.5)
        with mlflow.start_run(nested=True) as below:
            return mlflow.active_run().info.run_id, below.info.run_name, os.environ.get("MLFLOW_TRACKING_TOKEN")
    client = pounce.Client()
    futures = [client.options(name=name).submit(trains) for name in ("train-7", "train-8")]
    from pathlib import Path
    files = [path for path in Path(os.environ["HOME"]).rglob("*") if path.is_file() and not path.name.startswith("script")]
    report(run=run, leaks=[str(path) for path in files if {token!r}.encode() in path.read_bytes()], files=len(files))
    report(found=[future.result() for future in futures])
"""


def test_a_task_with_a_name_begins_a_run_of_that_name_where_the_notebook_logs_and_has_no_secret(mlflow_home, server):
    script = mlflow_home.run(NAMED.format(token=TOKEN), seconds=300)
    facts = script.reports
    (child, child_name, token), _ = facts["found"]
    (first,) = [one for one in server.below(facts["run"]) if one.info["run_name"] == "train-7"]

    assert (first.status, first.metrics) == ("FINISHED", {"m": 1, "loss": 0.5}) and first.tags["pounce.lease"]
    assert [one.id for one in server.below(first.id)] == [child] and child_name != "train-7"
    assert len(server.below(facts["run"])) == 2
    assert token is None and facts["leaks"] == [] and facts["files"] > 3
    assert script.stderr.count("does not get MLFLOW_TRACKING_TOKEN") == 1, "once, not with each task"
