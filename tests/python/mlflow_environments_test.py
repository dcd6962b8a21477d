"""Environments of MLflow's projects: made once for the same content, on a lease, by programs that stand for uv and conda."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from pounce import errors
from pounce._batch.placement import Placement
from pounce._engine.options import Options
from pounce.mlflow_projects import environment_cache, environment_lease, environments
from pounce.mlflow_projects.environment_build import Recipe, build_on_node, variables_of_builders
from pounce.mlflow_projects.environments import PythonEnv

# Makes the folder, or does what the name of a package says.
TOOL = """#!/bin/sh
echo "$0 $*" >> "{log}"
echo "$UV_DEFAULT_INDEX $https_proxy" > "{log}.index"
case "$*" in *venv*--python*|*create*) for last; do :; done; case "$*" in *--file*) last=$(echo "$*" | sed 's/.*--prefix \\([^ ]*\\).*/\\1/');; esac
  mkdir -p "$last/bin"; echo "$$" > "$last/made-by";; esac
case "$*" in
  *broken*) echo "no package broken"; exit 3;;
  *remote*) echo "WARNING: Retrying after connection broken by NewConnectionError"; echo "ERROR: No matching distribution found"; exit 1;;
  *signal9*) kill -9 $$;;
  *slow*) echo "Collecting slow"; touch "{log}.slow"; exec sleep 600;;
  *waits*) touch "{log}.waits"; while [ ! -e "{log}.go" ]; do sleep 0.05; done;; esac
"""
UV = PythonEnv("3.11")


@pytest.fixture
def at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tools(at_home, monkeypatch):
    """Programs uv and conda, which note what they are called with."""
    (programs := at_home / "programs").mkdir()
    for name in ("uv", "conda"):
        (programs / name).write_text(TOOL.format(log=at_home / "calls"))
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CONDA_EXE", raising=False)
    return lambda: (at_home / "calls").read_text().splitlines() if (at_home / "calls").exists() else []


@pytest.fixture
def leases(at_home, monkeypatch):
    """Workers are processes of this machine; counts the clients that are made for them."""
    (at_home / "pounced.json").write_text('{"launcher": "local", "daemon_idle_exit_s": 1}')
    monkeypatch.setenv("POUNCE_CONFIG", str(at_home / "pounced.json"))
    made = []
    monkeypatch.setattr(environment_lease, "Client", lambda client=environment_lease.Client, **words: made.append(words) or client(**words))
    return made


def recipe(*packages: str, manager: str = "uv", python: PythonEnv = UV) -> Recipe:
    return environments.of_python(PythonEnv(python.python, [], packages), Path.cwd(), manager)


def refusal(call) -> errors.BadRequest:
    with pytest.raises(errors.BadRequest) as found:
        call()
    assert found.value.remedy
    return found.value


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline, path
        time.sleep(0.02)


def folders() -> list[str]:
    return [path.name for path in environment_cache.cache().iterdir() if path.is_dir()]


# ---- which one it is, and how it is made -------------------------------------------------------------------------------


def test_an_environment_is_made_once_for_the_same_content(tools, at_home, leases):
    project = at_home / "project"
    project.mkdir()
    (project / "requirements.txt").write_text("numpy==2.0\n-r more.txt\n")
    (project / "more.txt").write_text("scipy\n")
    plan = lambda: environments.of_python(PythonEnv("3.11", ["pip==24"], ["-r requirements.txt"]), project, "uv")

    first = environment_lease.made(plan(), Options(), "node")
    again = environment_lease.made(plan(), Options(), "node")

    assert again == first and len(tools()) == 3  # venv, and pip for each list
    assert tools()[2].endswith(f"pip install --python {first}/bin/python -r requirements.txt")
    assert len(leases) == 1  # what is there costs none
    (project / "more.txt").write_text("scipy==1.14\n")
    assert plan().prefix != first
    assert oct(environment_cache.cache().stat().st_mode)[-3:] == "700"


def test_a_conda_environment_is_made_where_there_is_conda_and_refused_where_there_is_none(tools, at_home, leases, monkeypatch):
    (at_home / "conda.yaml").write_text("dependencies: [python=3.11]\n")
    prefix = environment_lease.made(environments.of_conda(at_home / "conda.yaml"), Options(), "node")
    assert Path(prefix).is_dir() and "env create --yes --prefix" in tools()[0]
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    assert "no conda, mamba or micromamba" in refusal(lambda: environments.of_conda(at_home / "conda.yaml")).text
    assert "no program uv" in refusal(lambda: recipe()).text
    assert "no python2.7" in refusal(lambda: recipe(manager="virtualenv", python=PythonEnv("2.7.18"))).text


# ---- where it is made --------------------------------------------------------------------------------------------------


def test_it_is_made_by_a_worker_and_on_this_machine_where_the_configuration_says_so(tools, leases):
    environment_lease.made(recipe("a"), Options(), "login")
    assert leases == []
    environment_lease.made(recipe("b"), Options(), "node")
    assert leases == [{"here": False, "imports": "no"}]


def test_its_programs_have_the_index_and_the_proxy_of_the_machine_that_submits(tools, at_home, leases, monkeypatch):
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://me:password@index.example.org")
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    environment_lease.made(recipe("a"), Options(), "node")
    assert (at_home / "calls.index").read_text() == "https://me:password@index.example.org http://proxy:3128\n"
    assert set(variables_of_builders({"PIP_NO_INDEX": "1", "MLFLOW_TRACKING_TOKEN": "t", "HTTPS_PROXY": "p", "CCC": ""})) == {"PIP_NO_INDEX", "HTTPS_PROXY"}


def test_a_job_without_a_gpu_makes_it_itself_and_one_that_holds_a_gpu_does_not(tools, leases, monkeypatch):
    for name, value in (("SLURM_JOB_ID", "7"), ("SLURMD_NODENAME", "g1"), ("CUDA_VISIBLE_DEVICES", "")):
        monkeypatch.setenv(name, value)
    environment_lease.made(recipe("a"), Options(), "node")
    assert leases == []
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    environment_lease.made(recipe("b"), Options(), "node")
    assert len(leases) == 1


@pytest.mark.parametrize("site, wanted", [("", "lion"), ("quick", ""), (errors.Unsatisfiable("no"), "lion")])
def test_the_site_says_which_class_work_without_a_gpu_gets_and_else_it_is_the_run_s(monkeypatch, site, wanted):
    def placed(options):
        assert (options.resources.gpus, options.resources.class_, options.resources.account) == (0, "", "ml")
        if isinstance(site, Exception):
            raise site
        return Placement(class_=site)

    monkeypatch.setattr(environment_lease, "placed", placed)
    options = environment_lease.without_gpu(Options().changed(gpus="a100:2", class_="lion", account="ml", memory="200GB"))
    assert (options.resources.class_, options.resources.gpus, options.resources.gpu_type, options.resources.memory_mib) == (wanted, 0, "", 0)


@pytest.mark.parametrize("error", [errors.Unsatisfiable("no node can ever give this"), errors.Rejected("Invalid partition", "Name another.")])
def test_a_site_that_gives_no_lease_without_a_gpu_is_told_how_to_do_without(tools, monkeypatch, error):
    def refuses(**_):
        raise error

    monkeypatch.setattr(environment_lease, "Client", refuses)
    with pytest.raises(type(error)) as found:
        environment_lease.made(recipe("a"), Options(), "node")
    assert error.text in found.value.text and '"build_on": "login"' in found.value.remedy
    assert folders() == [] and tools() == []


# ---- what goes wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["node", "login"])
def test_an_environment_that_cannot_be_made_says_why_and_leaves_nothing(tools, leases, place):
    error = refusal(lambda: environment_lease.made(recipe("broken"), Options(), place))
    assert "uv ended with exit code 3" in error.text and error.context["last_lines"] == "no package broken"
    assert folders() == []


def test_a_node_without_a_network_is_told_with_another_way(tools, leases):
    error = refusal(lambda: environment_lease.made(recipe("remote"), Options(), "node"))
    assert "did not reach the package index" in error.remedy and '"build_on": "login"' in error.remedy
    assert "NewConnectionError" in error.context["last_lines"]


def test_a_folder_that_the_node_does_not_see_is_named_before_anything_is_made(tools, at_home):
    environment_cache.cache().mkdir(parents=True)
    plan = recipe("a")
    assert "does not see" in refusal(lambda: build_on_node(plan, "a token", {})).text
    Path(f"{plan.prefix}.lock").write_text("host 1 another\n")
    assert "XDG_CACHE_HOME" in refusal(lambda: build_on_node(plan, "a token", {})).remedy
    assert tools() == []


def test_a_cache_on_another_disk_than_the_home_is_told_before_there_is_a_lease(tools, leases, monkeypatch, capfd):
    if os.stat("/dev/shm").st_dev == os.stat(Path.home()).st_dev:
        pytest.skip("this machine has one file system")
    monkeypatch.setenv("XDG_CACHE_HOME", f"/dev/shm/pounce-test-{os.getpid()}")
    try:
        environment_lease.made(recipe("a"), Options(), "node")
    finally:
        subprocess.run(["rm", "-rf", os.environ["XDG_CACHE_HOME"]], check=True)
    said = capfd.readouterr().err
    assert "lies on a disk of this machine (tmpfs)" in said
    assert said.index("lies on a disk") < said.index("making the project's environment")


def test_ctrl_c_stops_the_programs_and_leaves_nothing(tools, at_home, leases):
    def interrupt():
        wait_for(at_home / "calls.slow")
        os.kill(os.getpid(), signal.SIGINT)

    for place in ("node", "login"):
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            environment_lease.made(recipe("slow"), Options(), place)
        thread.join()
        (at_home / "calls.slow").unlink()
        assert folders() == []
        maker = subprocess.run(["pgrep", "-f", f"{at_home}/programs/uv"], capture_output=True, text=True)
        assert maker.stdout == ""


# ---- two at a time -----------------------------------------------------------------------------------------------------

SECOND = """
import os, sys
from pathlib import Path
os.chdir(sys.argv[1])
from pounce._engine.options import Options
from pounce.mlflow_projects import environment_lease, environments
from pounce.mlflow_projects.environments import PythonEnv
print(environment_lease.made(environments.of_python(PythonEnv("3.11", [], ["waits"]), Path.cwd(), "uv"), Options(), sys.argv[2]))
"""


def second(at_home: Path, place: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", SECOND, str(at_home), place], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_two_runs_that_want_the_same_environment_make_it_once(tools, at_home, leases):
    first = second(at_home, "node")
    wait_for(at_home / "calls.waits")
    other = second(at_home, "node")
    assert other.stderr.readline().startswith(f"pounce: waiting for process {first.pid} on ")
    (at_home / "calls.go").touch()
    paths = [process.communicate(timeout=60)[0] for process in (first, other)]
    assert paths[0] == paths[1] == recipe("waits").prefix + "\n" and len(tools()) == 2


@pytest.mark.parametrize("place", ["node", "login"])
def test_a_run_that_is_killed_leaves_its_lock_to_the_next_one_when_its_programs_have_ended(tools, at_home, leases, place):
    first = second(at_home, place)
    wait_for(at_home / "calls.waits")
    first.kill()
    first.communicate(timeout=60)
    other = second(at_home, place)
    said = other.stderr.readline()
    (at_home / "calls.go").touch()
    assert other.communicate(timeout=60)[0] == recipe("waits").prefix + "\n" and len(tools()) == 4
    # On this machine the program of the killed one still wrote. A worker's is ended with its session.
    assert said.startswith("pounce: making" if place == "node" else f"pounce: waiting for process {first.pid}")


def test_what_is_killed_says_that_it_may_have_needed_more_memory(tools, leases):
    error = refusal(lambda: environment_lease.made(recipe("signal9"), Options(), "node"))
    assert "ended with SIGKILL" in error.text and "more memory" in error.remedy


def test_a_job_whose_time_ends_before_is_told(tools, monkeypatch):
    def ends(**_):
        raise errors.WalltimeReached("of the worker")

    monkeypatch.setattr(environment_lease, "Client", ends)
    with pytest.raises(errors.WalltimeReached, match="was not made in the time of its job"):
        environment_lease.made(recipe("a"), Options(), "node")
