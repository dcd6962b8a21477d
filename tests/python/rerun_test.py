"""Runs of MLflow that are run once more: a project, a batch run, calls; and what is refused. Jobs are processes (fake_slurm.py)."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import fake_slurm
import pytest
from docs_test import blocks
from pounce import errors
from pounce._batch import copies, making, notebook, records
from pounce._engine.options import Options
from pounce._record import calls, software, sources, store
from pounce.reruns.comparison import Metrics

ROOT = Path(__file__).resolve().parents[2]
needs_mlflow = pytest.mark.skipif(importlib.util.find_spec("mlflow") is None, reason="MLflow is not installed")
pytestmark = [pytest.mark.xdist_group("rerun"), pytest.mark.timeout(600)]  # of the first test, for which all of it runs: ten processes that import MLflow


@pytest.fixture
def at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(call, kind=errors.BadRequest) -> errors.PounceError:
    with pytest.raises(kind) as found:
        call()
    assert found.value.remedy
    return found.value


# ---- records -----------------------------------------------------------------------------------------------------------


def test_a_record_is_this_users_alone_and_is_read_only_as_it_was_written(at_home):
    name = store.kept(store.of({"kind": "call"}, b"the code"))
    file = at_home / ".local/state/pounce/records" / name
    assert store.read(name) == ({"kind": "call", "data": store.read(name)[0]["data"]}, b"the code")
    assert (oct(file.stat().st_mode)[-3:], oct(file.parent.stat().st_mode)[-3:]) == ("600", "700")

    file.write_bytes(file.read_bytes().replace(b"the code", b"bad code"))
    assert "has changed since it was written" in refusal(lambda: store.read(name), errors.ResultGone).text
    store_again = store.of({"kind": "call"}, b"other")
    other = at_home / ".local/state/pounce/records" / store.kept(store_again)
    other.chmod(0o622)
    assert "not this user's alone" in refusal(lambda: store.read(store_again.name), errors.ResultGone).text


@pytest.mark.parametrize("name", ["0" * 64, "../../../../etc/passwd", ""])
def test_a_tag_that_names_no_record_of_this_users_is_refused(at_home, name):
    assert "record" in refusal(lambda: store.read(name)).text


def test_a_call_with_a_secret_of_the_environment_is_not_recorded(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_0123456789")

    assert calls.recorded(print, ("Bearer hf_0123456789",), {}, Options(), "", "") is None
    assert calls.recorded(print, ("another",), {}, Options(), "", "") is not None


def test_the_calls_of_a_run_are_noted_once_each(at_home):
    for name, begins in (("a", True), ("a", True), ("b", False)):
        store.note_call("run1", name, begins)
    assert store.calls_of("run1") == [("a", True), ("b", False)] and store.calls_of("run2") == store.calls_of("../x") == []


def test_the_oldest_records_make_room(at_home, monkeypatch):
    monkeypatch.setattr(store, "_MOST", 2)
    names = [store.kept(store.of({"number": number})) for number in range(3)]
    for number, name in enumerate(names[1:]):
        os.utime(at_home / ".local/state/pounce/records" / name, (number, number))
    last = store.kept(store.of({"number": 3}))
    refusal(lambda: store.read(names[1]))
    assert store.read(last)[0]["number"] == 3


def test_files_of_a_folder_are_had_again_as_they_were_and_large_ones_where_they_lie(at_home):
    project, again = at_home / "project", at_home / "again"
    (project / "sub").mkdir(parents=True)
    (project / "sub" / "train.sh").write_text("first")
    (project / "sub" / "train.sh").chmod(0o755)
    (project / "large").write_bytes(b"x" * (sources._SMALL + 1))
    (project / ".git").mkdir()
    (project / "train-41.out").write_text("of an earlier run")
    marks, data = sources.taken(project)
    assert set(marks) == {"sub/train.sh", "large"} and sources.changes(marks, project) == ([], [])

    (project / "sub" / "train.sh").write_text("second")
    (project / "large").write_bytes(b"y" * (sources._SMALL + 1))
    (project / "new").write_text("")
    assert sources.changes(marks, project) == (["sub/train.sh"], ["large"])
    sources.restore(data, marks, project, again)
    assert (again / "sub" / "train.sh").read_text() == "first" and os.access(again / "sub" / "train.sh", os.X_OK)
    assert os.readlink(again / "large") == str(project / "large")


def test_an_environment_is_told_by_its_packages(at_home):
    site = at_home / "env" / "lib" / "python3.11" / "site-packages"
    (site / "My_Pack.age-1.0.dist-info").mkdir(parents=True)
    (at_home / "env" / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.9\n")
    before = software.of(str(at_home / "env"))
    assert before == {"python": "3.11.9", "packages": {"my-pack-age": "1.0"}}
    now = {"python": "3.12.1", "packages": {"my-pack-age": "2.0", "new": "1"}}
    assert software.differences(before, now) == ["Python 3.12.1 was 3.11.9", "my-pack-age 2.0 was 1.0", "new 1 is new"]
    assert software.of()["packages"]["pytest"] and software.differences(now, before)[-1] == "new 1 is gone"


def test_metrics_that_differ_are_a_table(at_home):
    metrics = Metrics({"loss": 0.5, "same": 1, "gone": 2, "system/cpu": 3, "zero": 0, "nan": float("nan")}, {"loss": 0.4, "same": 1, "zero": 1, "nan": float("nan")})
    assert repr(metrics).splitlines() == ["METRIC  BEFORE  NOW  DIFFERENCE  RELATIVE", "gone    2       -    -",
                                          "loss    0.5     0.4  -0.1        -20.00%", "zero    0       1    +1", "equal: nan, same"]
    assert [each.name for each in metrics.differing] == ["gone", "loss", "zero"]
    assert metrics[3].as_dict() == {"name": "same", "before": 1, "now": 1, "difference": 0, "relative": 0.0}
    assert json.loads(json.dumps([each.as_dict() for each in metrics]))[2]["before"] == "nan"
    assert repr(Metrics({}, {})) == "neither run has metrics"


# ---- parameters --------------------------------------------------------------------------------------------------------


def test_arguments_are_changed_by_their_names_wherever_they_stood():
    def work(rate, /, epochs, *rest, seed=1): ...

    assert copies.with_arguments(work, (1, 2, 3), {"seed": 4}, {"rate": 9, "seed": 8}) == ((9, 2, 3), {"seed": 8})
    error = refusal(lambda: copies.with_arguments(work, (1, 2), {}, {"epoch": 1}))
    assert "no parameter epoch; did you mean epochs?" in error.text
    assert copies.with_arguments(lambda **words: 0, (), {"a": 1}, {"b": 2}) == ((), {"a": 1, "b": 2})


def test_a_notebooks_parameters_are_set_behind_those_of_the_first_run():
    cells = [notebook.code_cell("# parameters\nlr = 1\nn = 2"), notebook.code_cell("lr")]
    made = notebook.for_batch({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, {"lr": 3})
    notebook.change(made, {"n": 5})
    assert [notebook.source_of(cell).partition("\n")[2] for cell in made["cells"]] == ["lr = 1\nn = 2", "lr = 3", "n = 5", ""]
    assert "no parameter rl; did you mean lr?" in refusal(lambda: notebook.change(made, {"rl": 5})).text


def test_a_batch_run_without_mlflow_has_no_record(at_home, monkeypatch):
    monkeypatch.delitem(sys.modules, "mlflow", raising=False)
    monkeypatch.setenv("POUNCE_CONFIG", str(at_home / "pounced.json"))
    (at_home / "pounced.json").write_text('{"launcher": "local"}')
    plain = making.of_function(pow, (2, 3), {}, making.Request())
    assert not (plain.path / "tags.json").exists() and "tags" not in plain.script.read_text()
    assert not (at_home / ".local/state/pounce/records").exists()
    source = {"cells": [notebook.code_cell("import mlflow")], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    tracked = making.of_notebook(source, "A notebook", "train", {}, making.Request())
    tags = json.loads((tracked.path / "tags.json").read_text())
    facts = store.read(tags["pounce.record"])[0]
    assert tags["pounce.batch"] == "train" and records.changed(facts, tracked) == []

    (tracked.path / "input.ipynb").write_text("{}")
    assert "input.ipynb of the batch run train has changed" in refusal(lambda: copies.again(facts, {}, {})).text
    tracked.remove()
    assert "the folder of the batch run train is gone" in refusal(lambda: copies.again(facts, {}, {})).text


# ---- all of it, with MLflow ----------------------------------------------------------------------------------------------

MLPROJECT = """
name: t
entry_points:
  main: {parameters: {rate: {type: float, default: 0.5}, data: path}, command: "python train.py {rate} {data}"}
"""
PROGRAM = """
import contextlib, io, json, os, pathlib, types
import mlflow, pounce
from mlflow.projects.backend import loader
from pounce import mlflow_projects
from pounce._batch import making
from pounce._batch.run import BatchRun
from pounce._record import software, store
from pounce.mlflow_projects import artefacts
from pounce.reruns.command import main
loader.MLFLOW_BACKENDS.update(pounce=mlflow_projects.backend)
reports, mlflow_client = {}, mlflow.MlflowClient()
def tags(id):
    return mlflow_client.get_run(id).data.tags
def refusal(run, parameters=None):
    try:
        pounce.rerun(run if run.startswith("runs:") else f"runs:/{run}", parameters)
    except pounce.PounceError as error:
        return f"{type(error).__name__} {error}"
def command(*words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(words))
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}

# Jobs run beside each other and beside the calls: each imports MLflow.
first = mlflow.projects.run(".", parameters={"data": "rows.csv"}, backend="pounce", env_manager="local", synchronous=False)
mlflow_client.log_metric(first.run_id, "loss", 1.0)
mlflow_client.log_metric(first.run_id, "system/cpu", 5)

# calls
out = io.StringIO()
with contextlib.redirect_stdout(out):
    exec(open("../page.py").read())
batch = BatchRun(making.of_function(train, (), {"rate": 0.6}, making.Request())).submit()
reports["page"] = {"out": out.getvalue(), "first": future.mlflow_run, "run": again.run_id, "tags": tags(again.run_id), "status": again.status}
reports["refused"] = {}
with mlflow.start_run(run_name="the notebook's") as outer:
    def logs(x):
        import mlflow
        mlflow.log_metric("x", x)
    client.submit(logs, 4).result()
    reports["refused"]["running"] = refusal(outer.info.run_id)
with mlflow.start_run() as several:
    for x in (1, 2):
        client.submit(logs, x).result()
with mlflow.start_run() as mapped:
    list(client.map(logs, [1]))
def named():
    import mlflow
    mlflow.set_tracking_uri(uri)
    with mlflow.start_run() as run:
        return run.info.run_id
uri = mlflow.get_tracking_uri()
named_run = client.options(name="named").submit(named).result()
reports["named"] = {"record": store.read(tags(named_run)["pounce.record"])[0]["name"]}
client.close()

# a project of a folder whose files have changed, and a batch run
first.wait()
first.get_status()
pathlib.Path("train.py").write_text("raise SystemExit('the wrong code')")
pathlib.Path("rows.csv").write_text("other rows")
os.chdir("..")  # the parameter's relative path is that of the first run
batch.result()
(of_batch,) = (run.info.run_id for run in mlflow_client.search_runs(["0"], f"tags.`pounce.batch` = '{batch.name}'"))
of_batch_again = pounce.rerun(f"runs:/{of_batch}", {"epochs": 2})
actual = software.of
software.of = lambda prefix="": {**actual(prefix), "packages": {"numpy": "9"}}
again = pounce.rerun(f"runs:/{first.run_id}", {"rate": "1e-3"})
software.of = actual
reports["command"] = command(f"runs:/{outer.info.run_id}", "-P", "x=5", "--compare", "--json")
new = json.loads(reports["command"]["out"])["run_id"]
reports["joined"] = {"status": mlflow_client.get_run(new).info.status, "name": mlflow_client.get_run(new).info.run_name, "first": outer.info.run_id, "tags": tags(new)}
again.wait()
mlflow_client.log_metric(again.run_id, "loss", 0.75)
again.compare()
record = store.read(tags(again.run_id)["pounce.record"])[0]
reports["project"] = {"first": first.run_id, "tags": tags(again.run_id), "as_dict": again.as_dict(), "repr": repr(again), "params": mlflow_client.get_run(again.run_id).data.params,
                      "source": pathlib.Path(record["folder"]).name, "seen": json.loads((first.batch.folder.parent / "t-2" / "source" / "seen.json").read_text())}
reports["refused"]["unknown parameter"] = refusal(first.run_id, {"rat": 1})
of_batch_again.compare()
reports["batch"] = {"first": of_batch, "tags": tags(of_batch_again.run_id), "metrics": [each.as_dict() for each in of_batch_again.metrics], "job": tags(of_batch)["slurm_job_id"]}

# what cannot be repeated
def planted(record, **more):
    run = mlflow_client.create_run("0", tags={"pounce.record": record, **more})
    mlflow_client.set_terminated(run.info.run_id)
    return run.info.run_id
gone = {**store.read(tags(first.run_id)["pounce.record"])[0], "folder": "", "sources": {}, "uri": os.path.abspath("repository.git"), "commit": "1" * 40}
other_python = {**store.read(tags(outer.info.run_id)["pounce.record"])[0]}
other_python["software"] = {"python": "3.7.1", "packages": {}}
theirs = planted(tags(outer.info.run_id)["pounce.record"])
store.note_call(theirs, "0" * 64, True)
plain = planted("", other="1")
mlflow_client.delete_tag(plain, "pounce.record")
mlflow_client.delete_run(mapped.info.run_id)
reports["refused"].update({
    "deleted": refusal(mapped.info.run_id), "several": refusal(several.info.run_id), "no record": refusal(plain), "not here": refusal(planted("2" * 64)),
    "another store": refusal("0" * 32), "no run": refusal("runs:/a/b"), "commit": refusal(planted(store.kept(store.of(gone)))), "other call": refusal(theirs),
    "python": refusal(planted(store.kept(store.of(other_python)))), "argument": refusal(outer.info.run_id, {"y": 1})})
reports["wrong usage"] = [command(), command("runs:/a", "--fast"), command("runs:/a", "-P", "x"), command("runs:/a", "--json")]
entry = types.SimpleNamespace(parameters={"data": types.SimpleNamespace(type="path", default=None)})
artefacts.MlflowClient.list_artifacts = lambda self, run, path=None: [mlflow.entities.FileInfo("big.bin", False, 10 << 30)]
try:
    artefacts.check(entry, {"data": "runs:/abc/big.bin"})
except pounce.BadRequest as error:
    reports["refused"]["artefact"] = f"{type(error).__name__} {error}"
json.dump(reports, open("reports.json", "w"))
"""
TRAIN = "import json, os, sys\njson.dump([sys.argv[1], open('rows.csv').read(), os.getcwd()], open('seen.json', 'w'))\n"


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    (home / "project").mkdir()
    for name, text in (("MLproject", MLPROJECT), ("train.py", TRAIN), ("rows.csv", "rows")):
        (home / "project" / name).write_text(text)
    (home / "page.py").write_text(blocks("docs/rerun.md", "python")[0])
    subprocess.run(["git", "init", "--quiet", "--bare", str(home / "repository.git")], check=True)
    (home / "pounced.json").write_text('{"launcher": "local"}')
    (home / "program.py").write_text(PROGRAM)
    with fake_slurm.fake_slurm(home / "slurm") as programs:
        environment = {name: value for name, value in os.environ.items() if name not in ("MLFLOW_RUN_ID", "XDG_STATE_HOME")}
        environment |= {"HOME": str(home), "POUNCE_CONFIG": str(home / "pounced.json"), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
                        "MLFLOW_TRACKING_URI": f"sqlite:///{home}/mlflow.db", "GIT_PYTHON_REFRESH": "quiet", "MLFLOW_DISABLE_TELEMETRY": "true"}
        done = subprocess.run([sys.executable, str(home / "program.py")], cwd=home / "project", env=environment, capture_output=True, text=True, timeout=590)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((home / "reports.json").read_text())


@needs_mlflow
def test_a_project_runs_again_from_the_files_of_that_time_and_each_difference_is_named(reports):
    project = reports["project"]
    assert project["seen"][:2] == ["1e-3", "rows"] and project["seen"][2].endswith("/source")
    assert project["tags"]["pounce.rerun_of"] == project["first"] and project["params"]["rate"] == "1e-3"
    told = project["as_dict"]
    assert (told["status"], told["kind"], [each["name"] for each in told["metrics"]]) == ("FINISHED", "project", ["loss"])
    differences = {(each["what"], each["text"].partition(" in ")[0]) for each in told["differences"]}
    assert ("code", "rows.csv, train.py") in differences and any(what == "data" and "rows.csv (data) has changed" in text for what, text in differences)
    assert any(what == "environment" and text.startswith("numpy 9 was ") for what, text in differences)
    assert "loss    1       0.75  -0.25       -25.00%" in project["repr"] and "environment: " in project["repr"]


@needs_mlflow
def test_what_the_page_shows_is_what_happens(reports):
    page = reports["page"]
    shown = blocks("docs/rerun.md", "python")[0].partition("print(again.metrics)\n")[2]
    assert page["out"].splitlines() == [line.removeprefix("# ") for line in shown.splitlines()]
    assert page["tags"]["pounce.rerun_of"] == page["first"] != page["run"] and page["status"] == "FINISHED"


@needs_mlflow
def test_a_call_that_logged_into_the_notebooks_run_gets_a_run_of_its_own(reports):
    joined, command = reports["joined"], reports["command"]
    assert (joined["status"], joined["name"], joined["tags"]["pounce.rerun_of"]) == ("FINISHED", "the notebook's", joined["first"])
    told = json.loads(command["out"])
    assert command["code"] == 0 and told["metrics"] == [{"name": "x", "before": 4, "now": 5, "difference": 1, "relative": 0.25}]
    assert reports["named"]["record"] == "named"


@needs_mlflow
def test_a_batch_run_is_made_again_from_its_folder(reports):
    batch = reports["batch"]
    assert (batch["tags"]["pounce.rerun_of"], batch["tags"]["pounce.batch"]) == (batch["first"], "train-2")
    assert batch["metrics"][0]["name"] == "loss" and (batch["metrics"][0]["before"], batch["metrics"][0]["now"]) == (pytest.approx(0.2), pytest.approx(0.3))
    assert batch["job"].isdigit()


@needs_mlflow
@pytest.mark.parametrize("what, cause", [
    ("unknown parameter", "there was no parameter rat; did you mean rate?"), ("running", "is RUNNING"), ("deleted", "was deleted"),
    ("several", "2 different calls have logged into"), ("no record", "pounce has no record of the run"), ("not here", "this run's record '2222"),
    ("another store", "there is no run 0000"), ("no run", "'runs:/a/b' names no run"), ("commit", "1111 of the run cannot be had: "),
    ("other call", "ResultGone the run"), ("python", "was recorded with Python 3.7"), ("argument", "there was no parameter y"),
    ("artefact", "names an artefact of 10.0 GiB")])
def test_what_cannot_be_repeated_is_refused_with_cause_and_remedy(reports, what, cause):
    assert cause in reports["refused"][what] and re.search(r"[.?] [A-Z]", reports["refused"][what])


@needs_mlflow
def test_the_command_says_what_is_wrong_with_its_words(reports):
    none, option, value, as_json = reports["wrong usage"]
    assert [each["code"] for each in reports["wrong usage"]] == [2, 2, 2, 2]
    assert "no run is named" in none["err"] and "there is no option --fast" in option["err"] and "-P takes NAME=VALUE" in value["err"]
    assert json.loads(as_json["out"])["error"]["code"] == "bad_request"
