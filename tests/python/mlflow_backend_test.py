"""The backend with a real MLflow, where a job is a process of this machine (fake_slurm.py): one program, seen from several sides."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import fake_slurm
import pytest
from docs_test import blocks

ROOT = Path(__file__).resolve().parents[2]
needs_mlflow = pytest.mark.skipif(importlib.util.find_spec("mlflow") is None, reason="MLflow is not installed")

MLPROJECT = """
name: quotes
entry_points:
  main:
    parameters: {text: string, count: {type: int, default: 3}}
    command: "python show.py {text} {count}"
  fails: {command: "exit 3"}
  waits: {command: "touch waits; sleep 600"}
  quoted: {parameters: {text: string}, command: "echo \\"{text}\\""}
  again: {command: "python again.py"}
  data: {parameters: {file: path}, command: "ls {file}"}
"""
SHOW = """
import json, os, sys
outside = open(f"/proc/{os.getppid()}/environ").read().split("\\0")
with open("seen.json", "w") as file:
    json.dump({"words": sys.argv[1:], "token": os.environ.get("MLFLOW_TRACKING_TOKEN"), "run": os.environ["MLFLOW_RUN_ID"], "a": os.environ["A"],
               "outside": [line for line in outside if "hunter2" in line], "prefix": sys.prefix}, file)
print("shown", flush=True)
"""
AGAIN = """
import mlflow, program
try:
    mlflow.projects.run(".", "again", backend="pounce", env_manager="local")
except mlflow.exceptions.ExecutionException as error:
    print(error, flush=True)
"""
# What a test's project cannot do itself: there is no installed package here, whose entry points MLflow would find.
REGISTERS = """
from mlflow.projects.backend import loader
from pounce import mlflow_projects
loader.MLFLOW_BACKENDS.update(pounce=mlflow_projects.backend, slurm=mlflow_projects.slurm_backend)
"""
PROGRAM = REGISTERS + """
import builtins, json, os, subprocess, sys, time
import mlflow
from mlflow.exceptions import ExecutionException
reports = {}
client = mlflow.MlflowClient()
text = "it's \\"$(touch injected)\\" `id`;\\nnext --line \\\\ *"
def start(entry="main", uri=".", parameters=None, config=None, backend="pounce", manager="local", **more):
    return mlflow.projects.run(uri, entry, parameters=parameters, backend=backend, backend_config=config, env_manager=manager, **more)
def of(run_id):
    info = client.get_run(run_id)
    return {"status": info.info.status, "tags": info.data.tags, "params": info.data.params}
def refusal(**words):
    try:
        start(**words)
    except ExecutionException as error:
        return str(error)

# side by side: each job imports MLflow
waits, lost = start("waits", synchronous=False), start("waits", synchronous=False)
failing = start("fails", synchronous=False, config={"job-name": "short", "output": "out-own.txt"})
again = start("again", synchronous=False)
shown = start(parameters={"text": text, "lr": "0.1; id"}, config={"environment": {"A": "${HOME}/a $(id)"}, "sbatch-script-file": "batchFile"}, backend="slurm")
reports["shown"] = {"result": shown.batch.result(), "status": shown.get_status(), "run": shown.run_id, "seen": json.load(open("seen.json")), **of(shown.run_id),
                    "injected": os.path.exists("injected"), "script": os.readlink("batchFile"), "secrets": os.path.exists(shown.batch.folder / "secrets.json"),
                    "modes": sorted({oct(path.stat().st_mode & 0o777) for path in shown.batch.folder.iterdir() if path.is_file() and path.name != "job.log"
                                     and path.suffix == ".json"})}
reports["failing"] = {"wait": failing.wait(), "status": failing.get_status(), **of(failing.run_id), "log": failing.batch.log(),
                      "link": os.readlink(failing.batch.folder / "job.log")}
again.wait()
reports["again"] = {"status": again.get_status(), "log": again.batch.log()}
while not os.path.exists("waits"):
    time.sleep(0.05)
subprocess.run(["scancel", str(lost.job)], check=True)  # in this Slurm that leaves nobody who could tell MLflow
cloned = start(uri=f"file://{os.getcwd()}/repository.git#sub", parameters={"text": "x"}, config={"environment": {"A": "1"}}, version="v1", synchronous=False)
reports["lost"] = {**of(lost.run_id), "left": [name for name in ("open", "secrets.json") if os.path.exists(lost.batch.folder / name)]}
reports["waiting"] = {"status": waits.get_status(), **of(waits.run_id)}

asked = []
class Interrupted:
    job = waits.job
    def follow(self):
        raise KeyboardInterrupt
def interrupt(answer):
    def input(question):
        asked.append(question)
        if answer is None:
            raise EOFError
        return answer
    builtins.input, batch, waits.batch = input, waits.batch, Interrupted()
    try:
        waits.wait()
    except BaseException as end:
        return type(end).__name__
    finally:
        waits.batch = batch
reports["interrupt"] = {"ends": [interrupt("n"), interrupt(None), interrupt("y")], "asked": asked[0], "status": waits.get_status()}
waits.cancel()
reports["cancelled"] = {"status": waits.get_status(), **of(waits.run_id)}

os.chdir("page")
exec(open("page.py").read())
reports["page"] = {"status": of(run.run_id)["status"], "out": [file for file in os.listdir() if file.endswith(".out")]}
os.chdir("..")
before = len(client.search_runs(["0"]))
os.makedirs("empty")
reports["refused"] = {
    "key": refusal(config={"partitoin": "x"}), "ntasks": refusal(config={"ntasks": "two"}), "no MLproject": refusal(uri="empty"),
    "quotes": refusal(entry="quoted", parameters={"text": "$(id)"}), "missing": refusal(), "nowhere": refusal(uri="nowhere"),
    "yaml": refusal(uri="yaml"), "no map": refusal(uri="no map"), "no command": refusal(uri="no command"), "entry": refusal(entry="qouted"),
    "no run": refusal(entry="data", parameters={"file": "runs:/0123456789abcdef/x"}), "no file": refusal(entry="data", parameters={"file": f"runs:/{shown.run_id}/x"}),
    "docker": refusal(uri="docker"), "editable": refusal(uri=f"file://{os.getcwd()}/repository.git#editable", manager=None, parameters={"text": "x"}), "conda": refusal(uri="conda", manager=None), "manager": refusal(config={"env": sys.prefix}, manager="virtualenv",
    parameters={"text": "x"}), "exports": refusal(config={"exports": ["NOT_SET"]}, parameters={"text": "x"})}
try:
    start(config="broken.json")
except ValueError as error:
    reports["refused"]["no JSON"] = str(error)
reports["made"] = len(client.search_runs(["0"])) - before

cloned.wait()
reports["cloned"] = {"commit": subprocess.check_output(["git", "rev-parse", "v1"], cwd="repository.git", text=True).strip(), "folder": str(cloned.batch.folder),
                     "seen": json.load(open(cloned.batch.folder / "source" / "sub" / "seen.json"))["words"], **of(cloned.run_id)}
json.dump(reports, open("reports.json", "w"))
"""


def repository(folder: Path) -> None:
    author = {name: "ada" for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")}
    run = lambda *words, at: subprocess.run(["git", *words], cwd=at, env={**os.environ, **author}, check=True, capture_output=True)
    work = folder / "work"
    written(work / "sub")
    written(work / "editable")
    (work / "editable" / "python_env.yaml").write_text("dependencies: ['-e .']\n")
    run("init", "--quiet", "--initial-branch=main", at=work)
    run("add", ".", at=work)
    run("commit", "--quiet", "--message=first", at=work)
    run("tag", "v1", at=work)
    (work / "sub" / "show.py").write_text("raise SystemExit('the wrong commit')")
    run("commit", "--quiet", "--all", "--message=second", at=work)
    run("clone", "--quiet", "--bare", str(work), str(folder / "repository.git"), at=folder)


def written(project: Path) -> Path:
    project.mkdir(parents=True, exist_ok=True)
    for name, text in (("MLproject", MLPROJECT), ("show.py", SHOW), ("again.py", AGAIN), ("program.py", REGISTERS)):
        (project / name).write_text(text)
    return project


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    project = written(home / "project")
    for name, env in (("docker", "docker_env: {image: pytorch}"), ("conda", "conda_env: conda.yaml")):
        (project / name).mkdir()
        (project / name / "MLproject").write_text(env + "\nentry_points: {main: {command: 'true'}}\n")
    (project / "conda" / "conda.yaml").write_text("dependencies: [python=3.11]\n")
    for name, text in (("yaml", "entry_points: ["), ("no map", "entry_points: hello"), ("no command", "entry_points: {main: {comand: 'true'}}")):
        (project / name).mkdir()
        (project / name / "MLproject").write_text(text)
    (project / "broken.json").write_text("{")
    (home / "init").mkdir()
    (home / "init" / "bash").write_text("module() { echo modules are loaded; }\n")
    (project / "page").mkdir()
    (project / "page" / "MLproject").write_text("entry_points: {main: {command: 'true'}}\n")
    for name, language in (("slurm_config.json", "json"), ("page.py", "python")):
        (project / "page" / name).write_text(blocks("docs/mlflow-projects.md", language)[0])
    repository(project)
    (home / "pounced.json").write_text('{"launcher": "local"}')
    (home / "program.py").write_text(PROGRAM)
    with fake_slurm.fake_slurm(home / "slurm") as programs:
        environment = {name: value for name, value in os.environ.items() if name not in ("CONDA_EXE", "MLFLOW_RUN_ID")}
        environment |= {"HOME": str(home), "POUNCE_CONFIG": str(home / "pounced.json"), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
                        "MLFLOW_TRACKING_URI": f"sqlite:///{home}/mlflow.db", "MLFLOW_TRACKING_TOKEN": "hunter2", "GIT_PYTHON_REFRESH": "quiet", "MODULESHOME": str(home)}
        done = subprocess.run([sys.executable, str(home / "program.py")], cwd=project, env=environment, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((project / "reports.json").read_text())


@needs_mlflow
def test_parameters_arrive_as_they_were_written_and_nothing_of_them_is_executed(reports):
    seen = reports["shown"]["seen"]
    assert seen["words"] == ["it's \"$(touch injected)\" `id`;\nnext --line \\ *", "3", "--lr", "0.1; id"]
    assert not reports["shown"]["injected"]
    assert reports["shown"]["params"]["count"] == "3"


@needs_mlflow
def test_a_run_is_finished_from_the_job_s_side_and_says_what_it_is(reports):
    shown = reports["shown"]
    assert (shown["status"], shown["seen"]["run"], shown["result"]) == ("FINISHED", shown["run"], shown["run"])
    tags = shown["tags"]
    assert tags["mlflow.project.entryPoint"] == "main" and tags["mlflow.source.type"] == "PROJECT" and tags["mlflow.project.env"] == "local"
    assert tags["slurm_job_id"].isdigit() and tags["pounce.node"] and tags["mlflow.project.backend"] == "slurm"
    assert tags["pounce.batch"] in shown["script"] and shown["seen"]["a"].endswith("/a $(id)") and shown["seen"]["a"].startswith("/")


@needs_mlflow
def test_a_token_reaches_the_program_and_no_other_process_of_the_job(reports):
    shown = reports["shown"]
    assert (shown["seen"]["token"], shown["seen"]["outside"], shown["secrets"]) == ("hunter2", [], False)
    assert shown["modes"] == ["0o600"]


@needs_mlflow
def test_a_run_fails_with_its_command_and_its_log_is_where_the_configuration_says(reports):
    failing = reports["failing"]
    assert (failing["wait"], failing["status"]) == (False, "FAILED")
    assert failing["link"].endswith("/project/out-own.txt")


@needs_mlflow
def test_a_step_that_starts_itself_is_refused_in_the_job(reports):
    assert reports["again"]["status"] == "FINISHED" and "was started by itself, with the same parameters" in reports["again"]["log"]


@needs_mlflow
def test_ctrl_c_asks_and_the_job_goes_on_unless_the_user_ends_it(reports):
    interrupt = reports["interrupt"]
    assert reports["waiting"]["status"] == "RUNNING"
    assert interrupt["ends"] == ["SystemExit", "SystemExit", "KeyboardInterrupt"] and "too? Otherwise it goes on" in interrupt["asked"]
    assert interrupt["status"] == "RUNNING" and reports["cancelled"]["status"] == "KILLED"


@needs_mlflow
def test_a_run_whose_job_could_not_tell_of_its_end_is_ended_by_the_next_one_that_starts(reports):
    assert (reports["lost"]["status"], reports["lost"]["left"]) == ("KILLED", [])


@needs_mlflow
@pytest.mark.parametrize("what, cause, remedy", [
    ("key", "did you mean partition?", "The keys are account"), ("ntasks", "not 'two'", 'in digits: "1"'), ("no MLproject", "has no file MLproject", "-e train.py"),
    ("quotes", "would end the quotes around {text}", "MLflow adds its own"), ("missing", "missing parameters: 'text'", ""),
    ("nowhere", "there is no project at nowhere", "or a git repository"), ("docker", "Docker image pytorch", 'the key "container"'),
    ("editable", "a clone is another one in each run", 'Write "."'), ("conda", "there is no conda", '"env"'), ("manager", "--env-manager virtualenv makes one", "Leave one of them out"),
    ("yaml", "no MLproject that MLflow can read: ParserError: while parsing a flow node", "main: {command"), ("no map", "no MLproject that MLflow can read", "Correct it"),
    ("no command", "entry point main has no command", "command: python train.py"), ("entry", "no entry point qouted; did you mean quoted?", "Its entry points are main"),
    ("no run", "0123456789abcdef not found", "runs:/ID/PATH"), ("no file", "MLflow did not give an artefact", "runs:/ID/PATH"),
    ("exports", "NOT_SET is not set here", "Set it in the shell"), ("no JSON", "Expecting property name", "")])
def test_what_cannot_run_is_refused_with_cause_and_remedy_and_no_run_is_made(reports, what, cause, remedy):
    assert cause in reports["refused"][what] and remedy in reports["refused"][what]
    assert reports["made"] == 0


@needs_mlflow
def test_a_repository_runs_at_the_commit_that_the_run_keeps(reports):
    cloned = reports["cloned"]
    assert cloned["status"] == "FINISHED" and cloned["seen"] == ["x", "3"]
    assert cloned["tags"]["mlflow.source.git.commit"] == cloned["commit"]


@needs_mlflow
def test_what_the_page_shows_runs(reports):
    assert reports["page"] == {"status": "FINISHED", "out": ["train-%j.out"]}
    example = (ROOT / "examples" / "18_mlflow" / "main.py").read_text()  # the slurm suite runs it
    assert blocks("docs/mlflow-projects.md", "python")[1] in example


def test_the_entry_points_that_mlflow_looks_for_are_functions_that_import_nothing_of_it():
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["mlflow.project_backend"]
    assert set(named) == {"pounce", "slurm"}
    for value in named.values():
        module, _, function = value.partition(":")
        assert callable(getattr(import_module(module), function))


def test_another_plugin_that_claims_the_name_slurm_is_left_it(tmp_path, monkeypatch):
    from pounce import mlflow_projects

    info = tmp_path / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mlflow.project_backend]\nslurm = other_plugin:builder\n")
    (tmp_path / "other_plugin.py").write_text("def builder():\n    return 'theirs'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert mlflow_projects.slurm_backend() == "theirs"
