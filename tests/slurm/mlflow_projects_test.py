"""Projects of MLflow on the real cluster: what Slurm says of their jobs and environments, what MLflow says of their runs, and where no secret is."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import secrets
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from hunt import OPEN_TO_ALL, Hunt, told_by_slurm
from login_node import ROOT, wait_until
from long_run import only_in_long_runs
from mlflow_pages import Pages
from notebooks import Executed, printed

pytestmark = [pytest.mark.xdist_group("hunt"),
              pytest.mark.skipif(importlib.util.find_spec("mlflow") is None, reason="MLflow is not installed")]

MLPROJECT = """
name: keys
python_env: python_env.yaml
entry_points:
  main: {command: "python -c 'import tiny; print(tiny.WORD)'; echo $LOADED; sleep 600"}
"""
PYTHON_ENV = 'dependencies: ["--no-index", "--find-links wheels", "tiny"]\n'
MODULE = "module() { export LOADED=\"loaded $*\"; }\n"


class Store:
    """A tracking store for everybody, and what is in its database."""

    def __init__(self, folder: Path, empty: Path):
        self.file = folder / "mlflow.db"
        self.uri = f"sqlite:///{self.file}"
        shutil.copy(empty, self.file)
        self.file.chmod(0o666)
        with contextlib.closing(sqlite3.connect(self.file)) as database, database:
            database.execute("update experiments set artifact_location = ?", (f"{folder}/artifacts",))

    def rows(self, query: str, *values: str) -> list[tuple]:
        with contextlib.closing(sqlite3.connect(f"file:{self.file}?mode=ro", uri=True)) as database:
            return database.execute(query, values).fetchall()

    def status(self, run: str) -> str:
        return self.rows("select status from runs where run_uuid = ?", run)[0][0]

    def tags(self, run: str) -> dict[str, str]:
        return dict(self.rows("select key, value from tags where run_uuid = ?", run))


@pytest.fixture(scope="module")
def empty_store(tmp_path_factory) -> Path:
    """Its tables are made once: that takes seconds."""
    folder = tmp_path_factory.mktemp("store")
    make = f"import mlflow; mlflow.MlflowClient('sqlite:///{folder}/empty.db').search_experiments()"
    subprocess.run([sys.executable, "-c", make], cwd=folder, check=True, capture_output=True)
    return folder / "empty.db"


@pytest.fixture
def alice(make_user, empty_store):
    alice = make_user()
    alice.folder.chmod(0o777)  # her project is there
    alice.store = Store(alice.folder, empty_store)
    return alice


def submitted(alice, project: Path, *words: str, **environment: str) -> tuple[str, str]:
    """The job and the run that `mlflow run --backend pounce` prints."""
    environment = {"MLFLOW_TRACKING_URI": alice.store.uri, **environment}
    command = " ".join(["mlflow", "run", "--backend", "pounce", *words, "."])
    # It imports MLflow and may make an environment: half a minute of a processor, which six tests share here.
    run = alice.start(["sh", "-c", f"cd {project} && {command}"], **environment).ended(400)
    return re.search(r"job (\d+) is MLflow's run (\w+)", run.output).groups()


def with_wheel(project: Path) -> None:
    """A package that no other test run has had, so that its environment is made here."""
    (project / "wheels").mkdir(parents=True)
    about = "tiny-1.dist-info"
    with zipfile.ZipFile(project / "wheels" / "tiny-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny.py", f"WORD = 'tiny is here'  # {secrets.token_hex(8)}\n")
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")


def test_slurm_has_each_key_and_no_secret_and_a_job_that_is_cancelled_is_a_run_that_was_killed(alice, make_user, cluster_folder):
    project = alice.folder / "project"
    with_wheel(project)
    (project / "init").mkdir()
    for name, text in (("MLproject", MLPROJECT), ("python_env.yaml", PYTHON_ENV), ("init/bash", MODULE)):
        (project / name).write_text(text)
    project.chmod(0o777)
    config = {"account": "ml", "mem": "1G", "partition": "bigcats", "time": "0:20:00", "gres": "gpu:1", "mail-user": "ada@example.org",
              "mail-type": "FAIL", "ntasks": "2", "job-name": "slide", "output": "train-%j.out", "sbatch-script-file": "batchFile", "modules": ["cuda"],
              "environment": {"MODULESHOME": str(project)}}
    (project / "slurm_config.json").write_text(json.dumps(config))
    known = {name: secrets.token_hex(16) for name in ("MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_USERNAME", "AWS_SECRET_ACCESS_KEY")}

    job, run = submitted(alice, project, "--backend-config", "slurm_config.json", **known)
    output = project / f"train-{job}.out"
    wait_until(lambda: output.exists() and "loaded" in output.read_text(), 60, "its command has begun")
    facts = dict(word.partition("=")[::2] for word in alice.run("scontrol", "show", "job", job).split())
    hunt = Hunt({name: value.encode() for name, value in known.items()})
    folder = Path("/home/alice/pounce-batch") / alice.store.tags(run)["pounce.batch"]
    places = {
        "arguments": [found for found in hunt.in_processes() if found.endswith("cmdline")],
        "open to all": hunt.in_files(*OPEN_TO_ALL, cluster_folder, others_may_read=True),
        "slurm's": hunt.in_files(*(cluster_folder / name for name in ("spool", "log", "state", "etc")), others_may_read=False),
        "records": hunt.within(told_by_slurm(make_user(None, alice.node))),
        "hers": [found for found in hunt.in_files(folder, others_may_read=False) if not found.endswith("/secrets.json")],
    }
    told = {Path(found.split()[-1]).parent.name for found in hunt.in_processes()}  # programs with it in their environment
    programs = {Path("/proc", pid, "cmdline").read_bytes().decode().replace("\0", " ") for pid in told}
    wait_until(lambda: alice.store.status(run) == "RUNNING", 60, "MLflow has heard of the beginning")
    alice.run("scancel", job)
    wait_until(lambda: alice.store.status(run) == "KILLED", 30, "MLflow has heard of the end")
    alice.run("rm", "-rf", ".cache/pounce/mlflow-environments")  # no other test run has this one's package

    expected = {"Account": "ml", "Partition": "bigcats", "TimeLimit": "00:20:00", "MinMemoryNode": "1G", "NumTasks": "2", "JobName": "slide",
                "MailUser": "ada@example.org", "MailType": "FAIL", "StdOut": str(output), "Command": str(project / "batchFile")}
    assert {name: facts[name] for name in expected} == expected and re.fullmatch("gres[:/]gpu:1", facts["TresPerNode"])
    assert output.read_text().startswith("tiny is here\nloaded load cuda\n")
    assert {place: found for place, found in places.items() if found} == {}
    assert programs and all(text.startswith(("sleep 600", "bash -c ")) for text in programs), programs
    assert alice.store.tags(run)["slurm_job_id"] == job and alice.store.tags(run)["mlflow.project.env"] == "virtualenv"


def test_an_environment_is_made_in_a_job_without_a_gpu_that_has_ended_before_the_project_s_job_and_once(make_user, empty_store):
    builds = f"builds{secrets.token_hex(4)}"  # its jobs are called after it
    alice = make_user(policy={"classes": {builds: {"qos": "cheetah", "partition": "bigcats"}}})
    (shared := alice.folder / "shared").mkdir()  # pounced takes no policy from a folder into which others write
    alice.store = Store(shared, empty_store)
    project = shared / "project"
    with_wheel(project)
    (project / "MLproject").write_text(MLPROJECT.replace("sleep 600", "true"))
    (project / "python_env.yaml").write_text(PYTHON_ENV)
    (project / "slurm_config.json").write_text('{"gres": "gpu:1", "time": "5", "job-name": "trains"}')
    for folder in (shared, project):
        folder.chmod(0o777)

    runs = [submitted(alice, project, "--backend-config", "slurm_config.json") for _ in range(2)]
    for _, run in runs:
        wait_until(lambda run=run: alice.store.status(run) in ("FINISHED", "FAILED", "KILLED"), 120, "the job has ended")
    said = [path.read_text() for path in sorted(alice.folder.glob("*.log"), key=lambda path: int(path.stem))]
    alice.run("rm", "-rf", ".cache/pounce/mlflow-environments")

    sacct = lambda which: alice.run("sacct", "--noheader", "--allocations", "--parsable2", which, "--format=JobID,ReqTRES,AllocTRES,Submit,End").splitlines()
    ended = lambda: all("Unknown" not in line for line in sacct(f"--name=pounce-{builds}"))
    wait_until(ended, 60, "slurmdbd has the end of the build")
    (build,) = (line.split("|") for line in sacct(f"--name=pounce-{builds}"))  # the second run had none
    (trains,) = (line.split("|") for line in sacct(f"--jobs={runs[0][0]}"))
    assert [alice.store.status(run) for _, run in runs] == ["FINISHED"] * 2, said
    assert f"job {build[0]} made the project's environment" in said[0] and "project's environment" not in said[1]
    assert "gres/gpu" not in build[1] + build[2] and "gres/gpu" in trains[1]
    assert build[4] <= trains[3], (build, trains)


def test_a_cache_that_the_node_does_not_see_ends_the_run_before_its_job(alice):
    alice.node.keeps_to_itself("/srv")
    project = alice.folder / "project"
    with_wheel(project)
    (project / "MLproject").write_text(MLPROJECT)
    (project / "python_env.yaml").write_text(PYTHON_ENV)
    project.chmod(0o777)
    words = ["mlflow", "run", "--backend", "pounce", "--backend-config", '{"gres": "gpu:1"}', str(project)]
    run = alice.start(words, MLFLOW_TRACKING_URI=alice.store.uri, XDG_CACHE_HOME="/srv/cache")

    assert run.process.wait(120) == 1

    assert re.search(r"\w+ does not see /srv/cache/pounce/mlflow-environments of the machine that submits", run.output), run.output
    assert "XDG_CACHE_HOME" in run.output and alice.store.rows("select run_uuid from runs") == []


@only_in_long_runs("it installs packages from an index; tests/python/mlflow_environments_test.py has programs in the place of uv and conda")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("manager", ["uv", "virtualenv"])
def test_a_step_of_the_example_has_the_environment_of_its_python_env_yaml_which_is_made_once(alice, manager):
    project, wheels, programs = (alice.folder / name for name in ("18_mlflow", "wheels", "programs"))
    shutil.copytree(ROOT / "examples" / "18_mlflow", project)
    project.chmod(0o777)
    pip = [sys.executable, "-m", "pip", "--quiet"]
    needed = yaml.safe_load((project / "python_env.yaml").read_text())["dependencies"]  # a login node of these tests reaches no index
    if subprocess.run([*pip, "install", f"--target={programs}", "uv"]).returncode or subprocess.run([*pip, "download", f"--dest={wheels}", *needed]).returncode:
        pytest.skip("no package index is reached from here")
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "UV_OFFLINE": "1", "UV_FIND_LINKS": str(wheels)}
    environment = {"PATH": f"{programs}/bin:{Path(sys.executable).parent}:/usr/bin:/bin", "XDG_CACHE_HOME": f"/home/alice/{alice.folder.name}", **offline}

    runs = [submitted(alice, project, "-e", "prepare", "--env-manager", manager, **environment)[1] for _ in range(2)]
    for run in runs:
        wait_until(lambda run=run: alice.store.status(run) in ("FINISHED", "FAILED", "KILLED"), 120, "the step has ended")
    made = alice.run("ls", f"{alice.folder.name}/pounce/mlflow-environments").split()
    alice.run("rm", "-rf", alice.folder.name)

    assert [alice.store.status(run) for run in runs] == ["FINISHED"] * 2 and alice.store.tags(runs[0])["mlflow.project.env"] == manager
    told = ["making the project's environment" in path.read_text() for path in sorted(alice.folder.glob("*.log"))]
    assert told == [True, False] and len([name for name in made if not name.endswith(".lock")]) == 1


def test_the_example_s_steps_are_jobs_of_their_own_and_end_without_the_one_who_began_them(alice):
    project = alice.folder / "18_mlflow"
    shutil.copytree(ROOT / "examples" / "18_mlflow", project)
    project.chmod(0o777)

    job, main = submitted(alice, project, "--backend-config", "slurm_config.json", "--env-manager", "local", "-P", "rows=50")
    wait_until(lambda: alice.store.status(main) in ("FINISHED", "FAILED", "KILLED"), 100, "the project has ended")

    log = Path("/home/alice/pounce-batch", alice.store.tags(main)["pounce.batch"], "job.log").read_text()
    assert alice.store.status(main) == "FINISHED", log
    tags = {of["mlflow.project.entryPoint"]: of for of in map(alice.store.tags, (row[0] for row in alice.store.rows("select run_uuid from runs")))}
    assert {of["mlflow.parentRunId"] for name, of in tags.items() if name != "main"} == {main} and set(tags) == {"main", "prepare", "train"}
    jobs = [tags[name]["slurm_job_id"] for name in ("main", "prepare", "train")]
    asked = [alice.run("sacct", "--noheader", "--allocations", "--parsable2", f"--jobs={one}", "--format=ReqTRES") for one in jobs]
    assert len(set(jobs)) == 3 and ["gres/gpu" in text for text in asked] == [False, False, True]
    assert "y = 3.0 x + 1.0" in log


@pytest.mark.xdist_group("mlflow_pages")  # beside the others, which hunt for secrets of their own
@pytest.mark.timeout(900)  # a notebook, a server and a browser on two cores that others use too
def test_the_example_s_notebook_logs_serves_sweeps_and_repeats_a_run_and_mlflow_s_pages_show_it(alice):
    done = Executed(alice, ROOT / "examples" / "18_mlflow" / "tracking.ipynb", 400, MLFLOW_TRACKING_URI=alice.store.uri,
                    JPY_SESSION_NAME="tracking.ipynb")  # as Jupyter tells its kernels
    cells = done.cells()

    assert "score 1.00, alpha 0.5" in printed(cells[2]) and "best {'rate': 0.2}" in printed(cells[4])
    assert printed(cells[3]) == "answers [1.1, 3.9]\n"
    assert re.search(r"^loss +\S+ +\S+ +-\S+ +-[\d.]+%$", printed(cells[6]), re.M) and "repeats True" in printed(cells[6])
    runs = dict(alice.store.rows("select name, status from runs"))
    assert runs["by hand"] == runs["sweep of fit"] == runs["fit"] == "FINISHED" and len(alice.store.rows("select run_uuid from runs")) == 7

    pages = Pages(alice, alice.store.uri, (1280, 840))
    (run, experiment), = alice.store.rows("select run_uuid, experiment_id from runs where name = 'by hand'")
    pages.columns(str(experiment), ["attributes.`Source`", *(f"metrics.`{name}`" for name in ("seconds", "loss")),
                                    *(f"params.`{name}`" for name in ("alpha", "rate")), "tags.`pounce.state`"])
    pages.open(f"/experiments/{experiment}/runs", "by hand", "sweep of fit")
    pages.browser.click("[data-component-id='mlflow_header.toggle_sidebar_button']")
    pages.browser.click("[data-component-id$='runnamecellrenderer.tsx_46']")  # opens the sweep
    pages.wait("fit 0", "fit 1", "fit 2", "tracking.ipynb, cell 5")
    pages.picture("mlflow-runs")
    pages.open(f"/experiments/{experiment}/runs/{run}", "tracking.ipynb, cell 2", "pounce.lease", "slurm_job_id", "training_score")
    pages.picture("mlflow-run")
    node = alice.store.tags(run)["pounce.node"]
    pages.open(f"/experiments/{experiment}/runs/{run}/system-metrics", f"system/{node}", "cpu_utilization_percentage",
               marks=".js-plotly-plot path.point", least=2)
    pages.picture("mlflow-system")
    pages.open("/models/line/versions/1", "Version 1", "by hand")
    pages.picture("mlflow-model")
    pages.browser.close()


def test_a_partition_that_the_policy_forbids_is_refused(make_user, empty_store):
    alice = make_user(policy={"classes": {"quick": {"qos": "cheetah", "partition": "bigcats", "walltime": "30min"}}})
    (project := alice.folder / "project").mkdir()
    project.chmod(0o777)
    (project / "MLproject").write_text("entry_points: {main: {command: 'true'}}")
    config = '{"partition": "pascal"}'
    run = alice.start(["mlflow", "run", "--backend", "pounce", "--backend-config", config, str(project)], MLFLOW_TRACKING_URI=Store(project, empty_store).uri)

    assert run.process.wait(60) == 1

    assert "runs class quick in the partition bigcats, not in pascal. Leave \"partition\" out" in run.output
