"""Projects of MLflow: what a configuration says, what becomes of parameters and sources, and what the job tells."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pounce import errors
from pounce._batch.job import run_project
from pounce._batch.job_lines import job_lines
from pounce._batch.placement import Placement
from pounce._common import mlflow_uri
from pounce.mlflow_projects import command, script_link, variables
from pounce.mlflow_projects.config import KEYS, parsed
from pounce.mlflow_projects.source import fetched

SLIDE = {
    "account": "mltf_acc", "mem": "4G", "partition": "pascal", "time": "8:00:00", "gres": "gpu:1", "mail-user": "ada@example.org", "mail-type": "FAIL",
    "ntasks": "1", "job-name": "train", "output": "train-%j.out", "sbatch-script-file": "batchFile", "modules": ["cuda/12", "gcc"],
}


@pytest.fixture
def at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(call) -> errors.BadRequest:
    with pytest.raises(errors.BadRequest) as found:
        call()
    assert found.value.remedy
    return found.value


# ---- the configuration -------------------------------------------------------------------------------------------------


def test_each_key_of_a_configuration_becomes_a_line_for_sbatch():
    config = parsed(SLIDE)
    lines = [*job_lines(config.options, Placement(account="mltf_acc")), *config.lines]
    assert [line.removeprefix("#SBATCH --") for line in lines] == [
        "account=mltf_acc", "nodes=1", "ntasks=1", "mem=4096M", "gres=gpu:1", "time=480", "partition=pascal", 'mail-user="ada@example.org"',
        "mail-type=FAIL", "ntasks=1", "job-name=train"]
    assert (config.output, config.script_link, config.modules) == ("train-%j.out", "batchFile", ("cuda/12", "gcc"))


def test_the_keys_of_the_public_plugin_and_pounces_own_are_read():
    config = parsed({"gpus_per_node": 2, "nodes": "2", "environment": ["A=1", 'export_me="b c"'], "exports": ["WANDB_API_KEY"], "class": "lion",
                     "env": "~/envs/torch", "container": "apptainer exec --nv image.sif {command}", "account": None})
    assert (config.options.resources.gpus, config.options.resources.class_, config.nodes) == (2, "lion", 2)
    assert (config.environment, config.exports) == ({"A": "1", "export_me": "b c"}, ("WANDB_API_KEY",))
    assert config.container == ("apptainer", "exec", "--nv", "image.sif", "{command}") and config.env == "~/envs/torch"
    assert config.lines == ("#SBATCH --nodes=2", "#SBATCH --ntasks=2")
    assert parsed({"gpu": "a100:2"}).options.resources.gpu_type == "a100"
    assert parsed({"environment": {"A": 1}}).environment == {"A": "1"}


@pytest.mark.parametrize("keys, cause", [
    ({"partitoin": "pascal"}, '"partitoin" in a backend configuration; did you mean partition?'),
    ({"ntasks": "two"}, "\"ntasks\": it takes a whole number, at least 1, not 'two'"),
    ({"ntasks": True}, '"ntasks": it takes a text'),
    ({"mem": "much"}, '"mem": memory= takes'),
    ({"time": "soon"}, '"time": time= takes'),
    ({"gres": "tape:1"}, "asks for something else than GPUs"),
    ({"gres": "gpu:1", "gpus_per_node": 1}, "gres and gpus-per-node both say how many GPUs"),
    ({"modules": 7}, '"modules": it takes a list of texts'),
    ({"environment": ["A"]}, "'A' sets no variable"),
    ({"environment": ["A='1"]}, "is no shell's line"),
    ({"exports": ["a b", "c-d"]}, "'a b' is no variable's name"),
    ({"container": "apptainer exec image.sif"}, "has not once the word {command}"),
    ({"job-name": "a\nb"}, "has a line break"),
    ({"build_on": "logn"}, "\"build_on\": there is no place 'logn' to make an environment; did you mean login?"),
])
def test_a_key_that_makes_no_sense_is_refused_by_name(keys, cause):
    assert cause in refusal(lambda: parsed(keys)).text


def test_an_output_in_a_folder_that_is_not_there_is_refused_and_one_that_is_there_is_taken_from_here(at_home):
    assert script_link.output_line("train-%j.out") == (f"#SBATCH --output=\"{at_home}/train-%j.out\"",)
    assert "no folder" in refusal(lambda: script_link.output_line("logs/train.out")).text


def test_the_script_s_link_takes_the_place_of_an_earlier_one_and_of_nothing_else(at_home):
    first, second = (at_home / "pounce-batch" / name / f"{name}.sbatch" for name in ("a", "b"))
    for script in (first, second):
        script_link.check("batchFile")
        assert script_link.made("batchFile", script) == at_home / "batchFile"
    assert Path(os.readlink("batchFile")) == second
    (at_home / "mine").write_text("my own")
    assert "pounce has not made it" in refusal(lambda: script_link.check("mine")).text


# ---- parameters and variables ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("template", ['train.py "{alpha}"', "train.py --name='x {alpha}'", "echo \"it's {alpha}\""])
def test_a_value_that_would_end_the_command_s_own_quotes_is_refused(template):
    error = refusal(lambda: command.check(template, {"alpha": "$(id)"}, {"alpha": "'$(id)'"}))
    assert "would end the quotes around {alpha}" in error.text and "MLflow adds its own" in error.remedy


@pytest.mark.parametrize("template, value", [('train.py "{alpha}"', "0.5"), ("train.py {alpha} 'x'", "'$(id)'"), (r"echo \"{alpha}", "'a b'")])
def test_a_value_that_stays_one_word_is_not(template, value):
    command.check(template, {"alpha": "any"}, {"alpha": value})


@pytest.mark.parametrize("template, cause", [
    ("train.py {alhpa}", "{alhpa}, and its entry point has no such parameter; did you mean alpha?"), ("awk '{print}' {alpha}", "{print}"),
    ("echo ${HOME}", "{HOME}"), ("echo {} {alpha}", "{}"), ("echo }", "not in pairs: Single '}'")])
def test_braces_that_name_no_parameter_are_refused(template, cause):
    error = refusal(lambda: command.check(template, {}, {"alpha": "1"}))
    assert cause in error.text and "are doubled" in error.remedy


def test_a_zero_byte_is_refused():
    assert "zero byte" in refusal(lambda: command.check("train.py {a}", {"a": "x\0y"}, {"a": "'x\0y'"})).text


def test_credentials_and_what_looks_like_a_secret_travel_by_themselves():
    environment = {"PATH": "/bin", "MLFLOW_TRACKING_URI": "https://me:pw@host", "MLFLOW_TRACKING_TOKEN": "t", "MLFLOW_TRACKING_USERNAME": "u",
                   "AWS_DEFAULT_REGION": "x", "MLFLOW_EXPERIMENT_NAME": "e", "MINE": "m"}
    assert set(variables.secrets(environment, ("MINE",))) == {
        "MLFLOW_TRACKING_URI", "MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_USERNAME", "AWS_DEFAULT_REGION", "MINE"}
    assert "NOT_SET is not set here" in refusal(lambda: variables.secrets(environment, ("NOT_SET",))).text


@pytest.mark.parametrize("uri, absolute", [
    ("sqlite:///mlflow.db", "sqlite:////here/mlflow.db"), ("sqlite:////there/mlflow.db", "sqlite:////there/mlflow.db"), ("./mlruns", "/here/mlruns"),
    ("/there/mlruns", "/there/mlruns"), ("https://host/mlflow", "https://host/mlflow"), ("file:///there", "file:///there"),
    ("databricks", "databricks")])
def test_a_store_in_a_relative_folder_is_the_caller_s(uri, absolute):
    assert mlflow_uri.absolute(uri, "/here") == absolute


@pytest.mark.parametrize("uri, own", [("http://localhost:5000", True), ("https://me:pw@127.0.0.1", True), ("http://localhost.example.org", False),
                                      ("http://0.0.0.0:5000", True), ("http://127.example.org", False)])
def test_a_server_on_this_machine_alone_is_known(uri, own):
    assert mlflow_uri.is_this_machines_own(uri) is own


def test_a_step_that_starts_itself_with_the_same_parameters_is_refused():
    first = variables.steps({}, "/project", "main", {"depth": 2})
    second = variables.steps({variables.STEPS: first}, "/project", "main", {"depth": 1})
    error = refusal(lambda: variables.steps({variables.STEPS: second}, "/project", "main", {"depth": "2"}))
    assert "started by itself" in error.text


# ---- where a project comes from ----------------------------------------------------------------------------------------


def git(folder: Path, *words: str) -> str:
    author = {name: "ada" for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")}
    done = subprocess.run(["git", *words], cwd=folder, env={**os.environ, **author}, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(at_home) -> Path:
    """A bare one with two commits of sub/train.py, the first with the tag v1."""
    work, bare = at_home / "work", at_home / "repository.git"
    (work / "sub").mkdir(parents=True)
    git(work, "init", "--quiet", "--initial-branch=main")
    for text in ("first", "second"):
        (work / "sub" / "train.py").write_text(text)
        git(work, "add", ".")
        git(work, "commit", "--quiet", "--message", text)
        if text == "first":
            git(work, "tag", "v1")
    git(at_home, "clone", "--quiet", "--bare", str(work), str(bare))
    return bare


def test_a_repository_is_cloned_at_the_commit_that_is_named(repository, at_home):
    (run := at_home / "run").mkdir()
    with fetched(f"file://{repository}#sub", "v1") as source:
        folder = source.moved_into(run)
        assert source.commit == git(repository, "rev-parse", "v1")
    assert folder == run / "source" / "sub" and (folder / "train.py").read_text() == "first"
    with fetched(f"{repository}#sub", None) as source:
        clone = source.clone
        assert (source.folder / "train.py").read_text() == "second" and source.commit == git(repository, "rev-parse", "main")
    assert not clone.exists()


def test_a_project_without_a_name_has_its_repository_s(repository, at_home):
    for uri, name in ((f"file://{repository}", "repository"), (f"{repository}#sub", "sub"), (str(at_home / "work"), "work")):
        with fetched(uri, None) as source:
            assert source.name == name


def test_a_folder_is_used_as_it_lies_there_and_a_version_of_it_is_cloned(repository, at_home):
    work = at_home / "work"
    with fetched(f"{work}#sub", None) as source:
        assert (source.folder, source.clone) == (work / "sub", None)
    with fetched(f"{work}#sub", "v1") as source:
        assert (source.folder / "train.py").read_text() == "first"
    assert (work / "sub" / "train.py").read_text() == "second"


@pytest.mark.parametrize("uri, version, cause", [
    ("nowhere", None, "no project at nowhere"), ("repository.git#other", None, "no folder other"), ("repository.git", "v9", "no commit, tag or branch v9"),
    ("repository.git#../work", None, "no folder ../work"), ("repository.git", "--upload-pack=id", "no commit, tag or branch"), (".", "v1", "is no git repository, so it has no version v1")])
def test_a_source_that_is_not_there_is_refused_and_leaves_nothing(repository, at_home, uri, version, cause):
    def fetch():
        with fetched(uri, version):
            pass

    assert cause in refusal(fetch).text
    assert list((at_home / "pounce-batch").glob(".clone-*")) == []


# ---- in the job --------------------------------------------------------------------------------------------------------

CLIENT = """
import os, types
class MlflowClient:
    def note(self, *words):
        with open(os.environ["CALLS"], "a") as file:
            print(*words, file=file)
    def update_run(self, run, status): self.note(run, status)
    def set_terminated(self, run, status): self.note(run, status)
    def set_tag(self, run, name, value): self.note(name)
    def get_run(self, run): return types.SimpleNamespace(info=types.SimpleNamespace(status="RUNNING"))
"""


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Starts the program of a job whose MLflow notes what it is told: returns the process and those notes."""
    (calls := tmp_path / "calls").touch()
    (tmp_path / "mlflow").mkdir()
    (tmp_path / "mlflow" / "__init__.py").write_text(CLIENT)

    def start(text: str, secrets: dict | None = None, **more):
        project = {"run": "r1", "command": text, "directory": str(tmp_path), "path": "", "other_python": False, "modules": [], "container": ["{command}"],
                   "nodes": 1, "variables": {}, "environment": {}, "secrets": sorted(secrets or {}), **more}
        (tmp_path / "project.json").write_text(json.dumps(project))
        if secrets:
            (tmp_path / "secrets.json").write_text(json.dumps(secrets))
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "CALLS": str(calls), "BASE": "/base"}
        return subprocess.Popen([sys.executable, run_project.__file__, str(tmp_path)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True)

    start.told = lambda: [line for line in calls.read_text().splitlines() if line.startswith("r1")]
    start.folder = tmp_path
    return start


@pytest.mark.parametrize("text, code, status", [("exit 0", 0, "FINISHED"), ("exit 3", 3, "FAILED"), ("kill -9 $$", 137, "FAILED"),
                                                ("kill $$", 143, "KILLED"), ("exit 85", 85, "SCHEDULED")])
def test_the_job_tells_how_its_command_ended(job, text, code, status):
    process = job(text)
    assert process.communicate(timeout=60) and process.returncode == code
    assert job.told() == ["r1 RUNNING", f"r1 {status}"]


def test_a_job_that_slurm_warns_is_killed_at_once_and_finished_if_its_command_still_ends_well(job):
    process = job("echo ready; read go < go")
    os.mkfifo(job.folder / "go")
    assert process.stdout.readline() == "ready\n"
    reporter = wait_until(lambda: [pid for pid in children(process.pid) if b"report" in Path(f"/proc/{pid}/cmdline").read_bytes()])[0]
    wait_until(lambda: job.told() == ["r1 RUNNING"])
    os.kill(reporter, signal.SIGTERM)  # as Slurm warns the step that it is
    wait_until(lambda: job.told() == ["r1 RUNNING", "r1 KILLED"])
    (job.folder / "go").write_text("go\n")
    assert process.communicate(timeout=60) and process.returncode == 0
    assert job.told() == ["r1 RUNNING", "r1 KILLED", "r1 FINISHED"]


def test_a_job_whose_script_is_killed_was_killed(job):
    process = job("sleep 600")
    wait_until(lambda: job.told() == ["r1 RUNNING"])
    command = [pid for pid in children(process.pid) if b"report" not in Path(f"/proc/{pid}/cmdline").read_bytes()]
    for pid in (process.pid, *command):
        os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=60)  # the reporter has ended, too
    assert job.told() == ["r1 RUNNING", "r1 KILLED"]


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not (value := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return value


def test_secrets_are_in_the_command_s_environment_alone_and_are_removed_at_the_end(job):
    process = job('echo "$TOKEN"; tr "\\0" "\\n" < /proc/$PPID/environ | grep -c TOKEN= ', {"TOKEN": "hunter2"})
    assert process.communicate(timeout=60)[0] == "hunter2\n0\n"
    assert not (job.folder / "secrets.json").exists()
    again = subprocess.run([sys.executable, run_project.__file__, str(job.folder)], capture_output=True, text=True)
    assert again.returncode == 1 and "start it anew with mlflow run" in again.stderr


def test_the_environment_of_the_configuration_is_expanded_and_not_executed(job):
    process = job('printf "%s|%s" "$A" "$B"', environment={"A": "${BASE}/lib:$NONE", "B": "$(id) `id`"})
    assert process.communicate(timeout=60)[0] == "/base/lib:|$(id) `id`"


def test_modules_come_before_the_path_of_the_environment_and_the_container_around_the_command(job, tmp_path):
    (tmp_path / "init").mkdir()
    (tmp_path / "init" / "bash").write_text('module() { echo "$@"; PATH=/of-module:$PATH; [ "$2" != none ]; }\n')
    loads = dict(variables={"MODULESHOME": str(tmp_path)}, path="/of-env")
    process = job('echo "$IN ${PATH%%:/of-module*}"', modules=["cuda/12", "gcc"], container=["env", "IN=box", "{command}"], **loads)
    assert process.communicate(timeout=60)[0] == "load cuda/12 gcc\nbox /of-env\n"
    process = job("echo never", modules=["none"], **loads)
    out, said = process.communicate(timeout=60)
    assert process.returncode == 1 and "cannot be loaded: none" in said and "never" not in out


# ---- the page ----------------------------------------------------------------------------------------------------------

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "mlflow-projects.md").read_text()


def test_the_page_s_configuration_is_one_and_its_table_has_each_key():
    (example,) = re.findall(r"^```json\n(.*?)^```", PAGE, re.M | re.S)
    assert set(json.loads(example)) == set(SLIDE) and parsed(json.loads(example)).output
    rows = PAGE.partition("## The keys")[2].partition("## ")[0]
    named = {key for row in re.findall(r"^\| (`.*?) \|", rows, re.M) for key in re.findall(r"`([\w-]+)`", row)}
    assert {key.replace("_", "-") for key in named} == set(KEYS)
