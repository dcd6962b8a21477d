"""MLflow without a line more: what cells, calls, ranks and members of a sweep log is in the notebook's runs, on a real server."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import made_home
from pounce._common.secrets import is_secret
from pounce._common.settings import loggers
from pounce._engine.mlflow_stores import problems
from pounce._sweep import member_runs
from pounce._sweep.sweep_plan import Member
from pounce.tracked_command import TrackedCommand

pytest.importorskip("mlflow")
pytestmark = pytest.mark.xdist_group("mlflow")
SECOND = Path(sys.prefix) / "mlflow2"  # MLflow 2, which packaging/environment puts beside the newest
PAGE = Path(__file__).resolve().parents[2] / "docs" / "mlflow.md"
TOKEN = "tok-" + "5ecre7" * 4


class Server:
    """A tracking server with a database of its own; asked by its REST interface, so that this process imports no MLflow. `words`:
    more of its command; `sign_in`: "user:password" of one who may read and write everything."""

    def __init__(self, folder: Path, words: tuple[str, ...] = (), environment: dict[str, str] | None = None, sign_in: str = ""):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        self._folder, self._log = folder, folder / "server.log"
        self._signs_in = {"Authorization": "Basic " + base64.b64encode(sign_in.encode()).decode()} if sign_in else {}
        self._command = [sys.executable, "-m", "mlflow", "server", *words, "--backend-store-uri", f"sqlite:///{folder}/runs.db",
                         "--artifacts-destination", f"{folder}/artifacts", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
        self._environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", **(environment or {})}
        self.start()

    def start(self) -> None:
        """Also again, after kill(), at the same address."""
        with self._log.open("a") as log:
            self.process = subprocess.Popen(self._command, cwd=self._folder, stdout=log, stderr=subprocess.STDOUT, env=self._environment,
                                            start_new_session=True)

    def kill(self) -> None:
        """As a machine that fails: none of its processes ends by itself."""
        self.signal(signal.SIGKILL)
        self.process.wait(30)

    def signal(self, number: int) -> None:
        """To all of its processes."""
        os.killpg(self.process.pid, number)

    def wait(self) -> None:
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.address}/health", timeout=2).close()
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError(self._log.read_text())

    def ask(self, question: str, **content) -> dict:
        data = json.dumps(content).encode() if content else None
        request = urllib.request.Request(f"{self.address}/api/2.0/mlflow/{question}", data, {"Content-Type": "application/json", **self._signs_in})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def run(self, id: str) -> Run:
        return Run(self.ask(f"runs/get?run_id={id}")["run"])

    def below(self, id: str) -> list[Run]:
        experiment = self.run(id).info["experiment_id"]
        found = self.ask("runs/search", experiment_ids=[experiment], filter=f"tags.mlflow.parentRunId = '{id}'")
        return [Run(one) for one in found.get("runs", [])]

    def files(self, id: str) -> list[str]:
        return [one["path"] for one in self.ask(f"artifacts/list?run_id={id}").get("files", [])]


class Run:
    def __init__(self, answer: dict):
        self.info, data = answer["info"], answer["data"]
        self.status, self.id = self.info["status"], self.info["run_id"]
        self.metrics, self.params, self.tags = ({one["key"]: one["value"] for one in data.get(kind, [])}
                                                for kind in ("metrics", "params", "tags"))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = Server(tmp_path_factory.mktemp("mlflow"))
    made.wait()
    yield made
    made.kill()  # its orderly end takes a second of a processor


@pytest.fixture(scope="module")
def mlflow_home(server):
    with made_home() as home:
        home.environment |= {"MLFLOW_TRACKING_URI": server.address, "MLFLOW_DISABLE_TELEMETRY": "true"}
        yield home


# ---- calls ----

CALLS = """
    import mlflow
    mlflow.set_experiment("calls")
    mlflow.autolog(log_models=False, silent=True)
    mlflow.start_run(run_name="the notebook's")
    client = pounce.Client()

    def logs(number):
        import mlflow
        mlflow.log_metric(f"m{number}", number)
        mlflow.log_param(f"p{number}", number)
        mlflow.log_metric("late", 1.5, synchronous=False)
        return os.getpid(), mlflow.active_run().info.run_id

    def fits():
        import numpy
        from sklearn.linear_model import Ridge
        Ridge(alpha=0.75).fit(numpy.arange(8.0).reshape(4, 2), numpy.arange(4.0))

    def writes(text):
        import mlflow
        mlflow.log_text(text, "said.txt")

    def begins(fails):
        import mlflow
        run = mlflow.start_run(nested=True)
        mlflow.log_metric("own", 1)
        if fails:
            raise ValueError("after it began a run")
        return run.info.run_id

    def rank():
        import mlflow
        me = pounce.rank().rank
        mlflow.log_metric("rank", me)
        mlflow.log_param("of_rank", me)
        mlflow.log_text("x", f"rank{me}.txt")
        with mlflow.start_run(nested=True):
            mlflow.log_metric("below", me)
        return mlflow.active_run().info.run_id

    def member(lr):
        import mlflow
        mlflow.log_metric("seen", lr)
        if lr == 3:
            raise ValueError("no")
        return {"loss": lr}

    client.submit(fits).result()
    future = client.submit(logs, 1)
    worker, active = future.result()
    report(run=mlflow.active_run().info.run_id, active=active, future=future.mlflow_run, node=os.uname().nodename)
    client.submit(writes, "hello").result()
    left = client.submit(begins, False)
    report(left=left.result(), of_left=left.mlflow_run)
    error_of(client.submit(begins, True).result)
    assert client.submit(logs, 2).result()[1] == active
    list(client.map(logs, [3, 4]))
    with mlflow.start_run(nested=True, run_name="inner"):
        report(inner=client.submit(logs, 5).result()[1])
    with client.gang(workers=2) as gang:
        report(ranks=gang.run(rank))
    sweep = client.sweep(member, {"lr": [1, 2, 3]}, metric="loss").wait()
    client.close()
    report(open=len(mlflow.tracking.fluent._active_run_stack.get()), after=mlflow.get_run(active).info.status)
"""


@pytest.fixture(scope="module")
def calls(mlflow_home, server):
    """What a program of all kinds of calls reported, and its run at the server."""
    script = mlflow_home.run(CALLS, seconds=180)
    return script.reports, server.run(script.reports["run"])


def test_what_calls_log_is_in_the_notebooks_run(calls, server):
    facts, run = calls

    assert facts["active"] == facts["future"] == facts["run"]
    assert {f"m{number}" for number in range(1, 5)} <= run.metrics.keys() and run.params["p2"] == "2"
    assert run.metrics["late"] == 1.5 and "said.txt" in server.files(run.id)


def test_the_run_goes_on_until_the_notebook_ends_it(calls):
    facts, run = calls

    assert (facts["open"], facts["after"]) == (1, "RUNNING")
    assert run.status == "FINISHED", "the program has ended, and MLflow ends its run then"


def test_a_run_within_the_run_takes_what_is_submitted_meanwhile(calls, server):
    inner = server.run(calls[0]["inner"])

    assert inner.metrics["m5"] == 5 and inner.tags["mlflow.parentRunId"] == calls[1].id
    assert "m5" not in calls[1].metrics


def test_a_run_that_a_call_begins_is_a_child_and_ends_with_the_call(calls, server):
    began = [one for one in server.below(calls[1].id) if "own" in one.metrics]

    assert sorted(one.status for one in began) == ["FAILED", "FINISHED"]
    assert calls[0]["left"] == calls[0]["of_left"] in [one.id for one in began]


def test_a_call_that_names_no_mlflow_is_logged_where_the_notebook_switched_autologging_on(calls):
    assert calls[1].params["alpha"] == "0.75"


def test_a_gang_logs_from_rank_0_alone(calls, server):
    facts, run = calls

    assert facts["ranks"] == [run.id, run.id]
    assert (run.metrics["rank"], run.params["of_rank"]) == (0, "0")
    assert [name for name in server.files(run.id) if name.startswith("rank")] == ["rank0.txt"]
    assert [one.metrics["below"] for one in server.below(run.id) if "below" in one.metrics] == [0]


def test_a_sweep_has_a_run_and_a_child_for_each_member(calls, server):
    (sweep,) = [one for one in server.below(calls[1].id) if one.tags["mlflow.runName"] == "sweep of member"]
    members = {one.params["lr"]: one for one in server.below(sweep.id)}

    assert sweep.status == "FINISHED" and sorted(members) == ["1", "2", "3"]
    assert [members[lr].status for lr in "123"] == ["FINISHED", "FINISHED", "FAILED"]
    assert [members[lr].metrics["seen"] for lr in "123"] == [1, 2, 3]
    assert members["1"].metrics["loss"] == 1 and members["1"].metrics["gpu_seconds"] == 0
    assert members["3"].tags["pounce.state"] == "failed" and "ValueError: no" in members["3"].tags["pounce.error"]


def test_the_run_says_who_ran_what_and_where(calls, server):
    facts, run = calls
    below = server.run(facts["left"])

    for one in (run, below):
        assert re.fullmatch(r"[0-9a-f]{16}", one.tags["pounce.lease"]) and one.tags["pounce.node"] == facts["node"]
        assert os.path.basename(one.tags["mlflow.source.name"]).startswith("script")
        assert one.tags["mlflow.user"] and one.tags["mlflow.source.type"] == "LOCAL"


# ---- cells ----

CELLS = """
    from shell_cells import cell, names, on_worker, shell
    import secrets
    os.environ["MLFLOW_TRACKING_TOKEN"] = {token!r}
    def there(source, out=""):
        problem = on_worker(source, out)
        assert not problem, problem
    def here(source):
        problem = cell(source)
        assert not problem, problem

    there('import mlflow\\nmlflow.set_experiment("cells")\\nfirst = mlflow.start_run().info.run_id\\nmlflow.log_metric("a", 1)\\n'
          'import subprocess\\nsubprocess.run(["pounce-report", "reported=4"], check=True)', "first")
    here('import mlflow, os\\nsecond = mlflow.active_run().info.run_id\\nmlflow.log_metric("b", 2)')
    report(first=names["first"], second=names["second"])
    there('import hashlib, os\\nmlflow.log_metric("c", 3)\\nfound = hashlib.md5(os.environ["MLFLOW_TRACKING_TOKEN"].encode()).hexdigest()', "found")
    report(token=names["found"])
    here("%pounce release")
    leaks, count = files_with({token!r})
    report(leaks=leaks, saved=count)
    os.environ["MLFLOW_TRACKING_TOKEN"] = "renewed"
    there('found = os.environ["MLFLOW_TRACKING_TOKEN"], mlflow.active_run().info.run_id, mlflow.get_run(first).info.status', "found")
    report(next=names["found"])
    here("mlflow.autolog(log_models=False, silent=True)")
    there("switched = dict(mlflow.utils.autologging_utils.AUTOLOGGING_INTEGRATIONS['mlflow'])", "switched")
    report(switched=[names["switched"][name] for name in ("disable", "log_models")])
    there("mlflow.end_run()\\nfresh = mlflow.start_run(run_name='of the cell').info.run_id\\nmlflow.autolog(disable=True)", "fresh")
    here("left = mlflow.active_run().info.run_id, mlflow.utils.autologging_utils.AUTOLOGGING_INTEGRATIONS['mlflow']['disable']")
    report(fresh=names["fresh"], left=names["left"])
    import contextlib, io
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        failed = shell.run_cell("%%pounce --cpus 1\\nmlflow.log_metric('last', 1)\\n1 / 0").error_in_exec
    report(error=type(failed).__name__, shown=shown.getvalue())
    here("mlflow.end_run()")
    there("none = mlflow.active_run() is None", "none")
    report(none=names["none"])
"""


@pytest.fixture(scope="module")
def cells(mlflow_home):
    mlflow_home.environment["PYTHONPATH"] = str(Path(__file__).parent)
    return mlflow_home.run(CELLS.format(token=TOKEN), seconds=180).reports


def test_a_run_that_a_cell_leaves_open_is_active_in_the_notebook_and_in_its_next_cells(cells, server):
    run = server.run(cells["first"])

    assert cells["second"] == cells["first"]
    assert [run.metrics[name] for name in (*"abc", "reported")] == [1, 2, 3, 4]


def test_a_run_outlives_the_worker_that_logged_into_it(cells):
    assert cells["next"][1:] == [cells["first"], "RUNNING"]


def test_autologging_that_the_notebook_switched_on_is_on_there(cells):
    assert cells["switched"] == [False, False]


def test_the_notebook_goes_on_with_what_a_cell_has_begun_ended_and_switched(cells, server):
    assert cells["left"] == [cells["fresh"], True]
    assert server.run(cells["first"]).status == server.run(cells["fresh"]).status == "FINISHED"
    assert cells["none"] is True


def test_what_a_cell_logged_before_its_error_is_there(cells, server):
    assert cells["error"] == "ZeroDivisionError" and server.run(cells["fresh"]).metrics["last"] == 1


def test_a_line_below_the_cell_leads_to_the_run_that_it_logged_into(cells, server):
    experiment = server.run(cells["fresh"]).info["experiment_id"]

    assert f"pounce: logged into of the cell: {server.address}/#/experiments/{experiment}/runs/{cells['fresh']}\n" in cells["shown"]


def test_a_token_reaches_the_worker_and_no_file(cells):
    assert cells["token"] == hashlib.md5(TOKEN.encode()).hexdigest() and cells["saved"] > 3
    assert cells["leaks"] == []


def test_a_renewed_token_is_there_with_the_next_cell_also_on_a_new_worker(cells):
    assert cells["next"][0] == "renewed"


def test_what_the_page_shows_runs(mlflow_home):
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.M | re.S)

    assert "True" in mlflow_home.run(program, seconds=120).stdout.splitlines()


# ---- reports ----

REPORTS = """
    import subprocess
    PROGRAM = {program!r}
    client = pounce.Client()

    def works():
        import subprocess, sys, time
        subprocess.run(["sh", "-ec", "pounce-report loss=0.5 step=3 --status 'epoch 1'; pounce-report --file report.txt; pounce-report bad/=1"], check=True)
        while os.path.exists("waits"): time.sleep(0.02)
        import mlflow  # imported here, or by the thread that logs what is reported
        mlflow.log_metric("own", 1)
        return mlflow.active_run().info.run_id

    def rank():
        import subprocess
        subprocess.run(["pounce-report", f"rank={{pounce.rank().rank}}"], check=True)

    def status():
        shown = subprocess.run([PROGRAM, "status", "--json"], check=True, capture_output=True, text=True, timeout=60).stdout
        return [row.get("reported", {{}}).get("mlflow_run") for row in json.loads(shown)["leases"]]

    import mlflow
    mlflow.set_experiment("reports")
    run = mlflow.start_run().info.run_id
    open("report.txt", "w").write("all is well")
    open("waits", "w").close()
    future = client.submit(works)
    while status() != [run]: time.sleep(0.05)
    os.unlink("waits")
    report(run=run, active=future.result(), reports=len(future.reports))
    with client.gang(workers=2) as gang:
        gang.run(rank)
    while any(status()): time.sleep(0.05)
    mlflow.end_run()
"""


def test_what_programs_report_is_in_the_run_and_pouncectl_shows_which(server):
    with made_home(heartbeat_ms=100) as home:
        home.environment |= {"MLFLOW_TRACKING_URI": server.address, "MLFLOW_DISABLE_TELEMETRY": "true"}
        shown = home.run(REPORTS.format(program=shutil.which("pouncectl", path=sysconfig.get_path("scripts"))), seconds=600)
        facts, said = shown.reports, shown.stderr
    run = server.run(facts["run"])

    assert facts["active"] == facts["run"] and facts["reports"] == 3
    assert run.metrics == {"loss": 0.5, "own": 1, "rank": 0}
    assert said.count(f"pounce: the MLflow run {run.id} lacks what was reported: ") == 1
    assert run.tags["pounce.status"] == "epoch 1" and run.tags["pounce.lease"] and server.files(run.id) == ["report.txt"]
    (loss,) = server.ask(f"metrics/get-history?run_id={run.id}&metric_key=loss")["metrics"]
    assert loss["step"] == 3


COMMAND = """
    import subprocess
    def run(*words):
        ended = subprocess.run([{program!r}, "run", "--mlflow", "--experiment", "commands", *words], capture_output=True, text=True)
        return ended.returncode, ended.stdout, ended.stderr
    report(ended=run("--", "sh", "-c", 'pounce-report loss=0.5 step=7; echo "$MLFLOW_RUN_ID"; echo err >&2'))
    report(failed=run("--", "sh", "-c", "exit 7"))
"""


def test_a_command_is_a_run_with_its_reports_output_and_exit_code(mlflow_home, server):
    facts = mlflow_home.run(COMMAND.format(program=shutil.which("pouncectl", path=sysconfig.get_path("scripts"))), seconds=600).reports
    experiment = server.ask("experiments/get-by-name?experiment_name=commands")["experiment"]["experiment_id"]
    found = server.ask("runs/search", experiment_ids=[experiment], order_by=["attribute.start_time"])["runs"]
    good, bad = (server.run(one["info"]["run_id"]) for one in found)

    assert (facts["ended"][:2], facts["failed"][:2]) == ([0, f"{good.id}\n"], [7, ""])
    assert [(run.status, run.tags["pounce.exit_code"]) for run in (good, bad)] == [("FINISHED", "0"), ("FAILED", "7")]
    assert good.metrics == {"loss": 0.5} and server.files(good.id) == ["output.txt"]
    assert bad.params["command"] == "sh -c 'exit 7'" and bad.tags["pounce.lease"] and server.files(bad.id) == []


def test_a_command_that_a_signal_ended_is_killed_and_of_a_long_output_both_ends_are_kept(monkeypatch):
    told = []
    mlflow = SimpleNamespace(start_run=lambda **_: SimpleNamespace(info=SimpleNamespace(run_id="1", experiment_id="0")), log_param=print, set_tags=told.append,
                             set_tag=lambda *words: told.append(words), log_text=lambda text, name: told.append(text), end_run=told.append)
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    command = TrackedCommand(["a"], "")
    for part in (b"first ", *[b"x" * 100_000] * 60, b" last"):
        command.keep(part)
    command.came_back(-15, {"pounce.node": "g1"})
    command.end(143)

    where, code, text, status = told
    assert (where, code, status) == ({"pounce.node": "g1"}, ("pounce.exit_code", "143"), "KILLED")
    assert text.startswith("first x") and text.endswith("x last") and len(text) < 1_050_000 and "bytes are left out here" in text


# ---- without it ----

def test_without_mlflow_in_the_notebook_a_call_takes_nothing_along_and_its_worker_imports_nothing(home):
    run = home.run("""
    from pounce._engine import mlflow_runs
    from pounce._engine.task import Task
    client = pounce.Client()
    def modules():
        import sys
        return [name for name in sys.modules if name.partition(".")[0] == "mlflow"]
    report(there=client.submit(modules).result(), here=[name for name in sys.modules if name.partition(".")[0] == "mlflow"],
           along=mlflow_runs.of_call(Task("f"), "local"))
    """)

    assert run.reports == {"there": [], "here": [], "along": None}


def test_the_handlers_that_mlflow_gives_to_other_libraries_are_no_settings_of_the_persons(monkeypatch):
    class Formatter(logging.Formatter):
        __module__ = "mlflow.utils.logging_utils"

    class Stream(io.StringIO):
        __module__ = "mlflow.utils.logging_utils"

    monkeypatch.setitem(sys.modules, "mlflow", SimpleNamespace(__name__="mlflow", __file__=pytest.__file__))
    name, own = "the handler StreamHandler of the logger pounce-tests-huey", logging.StreamHandler(Stream())
    logger = logging.getLogger("pounce-tests-huey")
    own.setFormatter(Formatter())
    monkeypatch.setattr(logger, "handlers", [own])

    assert name not in [what for what, _ in loggers.left_out(logging)]
    own.setStream(io.StringIO())
    assert name in [what for what, _ in loggers.left_out(logging)]


# ---- the last 2.x ----

def test_the_last_2_x_logs_into_the_notebooks_run_too(mlflow_home, server):
    if not SECOND.is_dir():
        pytest.skip(f"no MLflow 2 in {SECOND}")
    before = mlflow_home.environment.get("PYTHONPATH")
    mlflow_home.environment["PYTHONPATH"] = str(SECOND)
    try:
        run = mlflow_home.run("""
        import warnings
        warnings.simplefilter("ignore")
        import mlflow
        mlflow.set_experiment("2.x")
        mlflow.start_run()
        client = pounce.Client()
        def logs():
            import mlflow
            mlflow.log_metric("m", 1)
            mlflow.log_metric("late", 2, synchronous=False)
            mlflow.start_run(nested=True)
            return mlflow.__version__, mlflow.active_run().info.run_id
        version, child = client.submit(logs).result()
        with client.gang(workers=2) as gang:
            gang.run(lambda: __import__("mlflow").log_metric("rank", pounce.rank().rank))
        report(version=version, child=child, run=mlflow.active_run().info.run_id)
        """, seconds=180).reports
    finally:
        mlflow_home.environment.pop("PYTHONPATH") if before is None else mlflow_home.environment.update(PYTHONPATH=before)

    assert run["version"].startswith("2.")
    assert server.run(run["run"]).metrics == {"m": 1, "late": 2, "rank": 0}
    assert server.run(run["child"]).status == "FINISHED"


# ---- a server that does not answer ----

class Client:
    """MLflow's, of a server that answers so many requests."""

    def __init__(self, answers: int):
        self.asked, self._answers = 0, answers

    def create_run(self, experiment, tags, run_name):
        self._ask()
        return SimpleNamespace(info=SimpleNamespace(run_id=str(self.asked), experiment_id=experiment))

    def log_batch(self, *_, **__):
        self._ask()

    set_terminated = log_batch

    def _ask(self) -> None:
        self.asked += 1
        if self.asked > self._answers:
            raise ConnectionError("no route to host")


@pytest.mark.parametrize("answers, asked", [(0, 1), (1, 2), (2, 3), (3, 4)])
def test_a_server_that_does_not_answer_costs_the_rest_of_the_record_and_no_member(answers, asked, monkeypatch):
    client, stack, given_up = Client(answers), [], []
    entities = SimpleNamespace(Param=lambda *_: None, Metric=lambda *_: None, RunTag=lambda *_: None)
    fluent = SimpleNamespace(_active_run_stack=SimpleNamespace(get=lambda: stack), ActiveRun=lambda run: run,
                             _active_experiment_id="1", _get_experiment_id=lambda: "1")
    modules = {"mlflow": SimpleNamespace(MlflowClient=lambda: client, active_run=lambda: None), "mlflow.entities": entities,
               "mlflow.tracking.fluent": fluent, "mlflow.tracking.context.registry": SimpleNamespace(resolve_tags=dict)}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(member_runs, "output", lambda: SimpleNamespace(end=given_up.append))

    runs, submitted = member_runs.MemberRuns.of_sweep("train", None, 1), []
    for number in range(2) if runs is not None else ():
        member = Member(number, {"lr": number}, state="done", value=0.5)
        with runs.active(member):
            submitted.append(list(stack))
        runs.ended(member)
    if runs is not None:
        runs.sweep_ended("FINISHED")

    assert client.asked == asked and len(given_up) == 1 and "no route to host" in given_up[0]
    assert len(submitted) == (2 if runs is not None else 0) and stack == []


# ---- stores ----

@pytest.mark.parametrize("uri, launcher, workers, problem", [
    ("http://tracking.example.org:5000", "slurm", 8, None),
    ("http://localhost:5000", "local", 1, None),
    ("http://localhost:5000", "slurm", 1, "do not reach it"),
    ("sqlite:////home/ada/runs.db", "local", 1, None),
    ("sqlite:////home/ada/runs.db", "slurm", 1, "on a disk of this machine \\(ext4\\)"),
    ("sqlite:////shared/runs.db", "slurm", 1, None),
    ("sqlite:////shared/runs.db", "slurm", 4, "4 workers would write at once"),
    ("file:///home/ada/mlruns", "slurm", 1, "do not see"),
    ("/shared/mlruns", "slurm", 4, None),
    ("databricks", "slurm", 4, None)])
def test_a_store_that_workers_cannot_use_is_named(uri, launcher, workers, problem):
    found = problems(uri, launcher, workers, lambda path: "nfs4" if path.startswith("/shared") else "ext4")

    assert len(found) == (problem is not None)
    assert problem is None or re.search(problem, found[0])


@pytest.mark.parametrize("name, value, secret", [
    ("MLFLOW_TRACKING_TOKEN", "x", True), ("MLFLOW_TRACKING_PASSWORD", "x", True), ("MLFLOW_TRACKING_USERNAME", "x", True),
    ("AWS_SECRET_ACCESS_KEY", "x", True), ("AWS_ACCESS_KEY_ID", "x", True), ("MLFLOW_S3_ENDPOINT_URL", "http://s3", False),
    ("MLFLOW_TRACKING_URI", "https://host", False), ("MLFLOW_TRACKING_URI", "https://ada:pw@host", True),
    ("MLFLOW_TRACKING_TOKEN", None, True)])
def test_variables_that_may_be_secrets_are_known_by_their_names_and_addresses(name, value, secret):
    assert is_secret(name, value) == secret
