"""What of the notebook's environment a worker has, and other environments."""

from __future__ import annotations

import os
from pathlib import Path

ACTIVATION = {
    "LD_LIBRARY_PATH": "/opt/cuda/lib64", "CONDA_PREFIX": "/opt/conda/envs/a", "CONDA_DEFAULT_ENV": "a", "LOADEDMODULES": "cuda/12:gcc/12",
    "_LMFILES_": "/m/cuda:/m/gcc", "MODULEPATH": "/m", "OMP_NUM_THREADS": "3", "PYTHONHASHSEED": "7",
}
STAYS = {"SLURM_NTASKS": "4711", "SLURM_CPUS_PER_TASK": "64", "SBATCH_PARTITION": "x", "SECRET_TOKEN": "s3cret"}


def test_a_worker_has_what_activation_gave_and_nothing_of_an_outer_jobs_launch(home):
    home.environment.update(ACTIVATION | STAYS)

    run = home.run("""
        with pounce.Client(launcher="local") as client:
            report(there=client.submit(lambda: __import__("os").environ.copy()).result(60))
            report(python=client.submit(lambda: __import__("sys").executable).result(60) == sys.executable)
    """)

    there = run.reports["there"]
    assert {name: there.get(name) for name in ACTIVATION} == ACTIVATION
    assert {name: there[name] for name in STAYS if name in there} == {}
    assert run.reports["python"]


FLAGS = {"PYTHONNOUSERSITE": "1", "PYTHONUTF8": "1", "PYTHONOPTIMIZE": "1", "PYTHONWARNINGS": "ignore::ResourceWarning"}


def test_a_worker_is_started_with_the_flags_of_this_python(home):
    home.environment.update(FLAGS)

    run = home.run("""
        def flags():
            import os, sys
            own = sys.flags
            return own.no_user_site, own.utf8_mode, own.optimize, "ignore::ResourceWarning" in sys.warnoptions
        with pounce.Client(launcher="local") as client:
            report(here=flags(), there=client.submit(flags).result(60))
            report(shown=client.submit(lambda: __import__("os").environ.copy()).result(60))
    """)

    assert run.reports["there"] == run.reports["here"] == [1, 1, 1, True]
    assert {name: run.reports["shown"].get(name) for name in FLAGS} == FLAGS


def test_a_local_worker_sees_the_job_that_it_runs_in_and_nothing_of_the_jobs_launch(home):
    job = {"SLURM_JOB_ID": "4711", "SLURM_JOB_NAME": "train", "SLURM_ARRAY_TASK_ID": "3", "SLURMD_NODENAME": "g1"}
    home.environment.update(job, SLURM_JOBID="4711", SLURM_PROCID="0", SLURM_NTASKS="2", SLURM_STEP_ID="0", SLURM_TASKS_PER_NODE="2")

    run = home.run("""
        with pounce.Client(launcher="local") as client:
            report(there=client.submit(lambda: __import__("os").environ.copy()).result(60))
    """)

    assert {name: value for name, value in run.reports["there"].items() if name.startswith("SLURM")} == job


def test_a_client_in_a_task_is_in_no_job_though_the_task_sees_the_workers(home):
    home.environment.update(SLURM_JOB_ID="4711", SLURMD_NODENAME="g1")

    run = home.run("""
        import subprocess
        def instance(program, environment):
            return json.loads(subprocess.run([program, "where"], env=environment, capture_output=True, text=True, check=True).stdout)["instance"]
        def in_task(program, config):
            try:
                pounce.Client(here=True)
            except pounce.BadRequest as error:
                return str(error), os.environ["SLURM_JOB_ID"], instance(program, os.environ | {"POUNCE_CONFIG": config})
        from pounce._engine.daemon import find_program
        program, own = find_program("pounced"), os.environ.copy()
        with pounce.Client(launcher="local") as client:
            report(task=client.submit(in_task, program, own["POUNCE_CONFIG"]).result(60))
        report(inside=instance(program, own), outside=instance(program, {name: own[name] for name in own if name != "SLURM_JOB_ID"}))
    """)

    refused, job, instance = run.reports["task"]
    assert "this is none" in refused and job == "4711"
    assert instance == run.reports["outside"] != run.reports["inside"]


def test_what_a_child_of_the_worker_prints_shows_at_once(home):
    run = home.run("""
        import subprocess
        CHILD = "import os, time\\nprint('from a child')\\nwhile not os.path.exists('seen'): time.sleep(0.01)\\nos._exit(0)"
        def parent(): return subprocess.run([sys.executable, "-c", CHILD]).returncode
        class Shown:  # of the notebook: the child ends, without a flush, when its line has come
            def printed(self, is_error, data):
                if b"from a child" in data: open("seen", "w").close()
        with pounce.Client() as client:
            with client._session.events_held_back():
                future = client.submit(parent)
                client._session.show_at(future._task, Shown())
            report(code=future.result(60))
    """)

    assert run.reports == {"code": 0}


def another_environment(home, version: str = "") -> str:
    """An environment whose Python is this one under another path; it may say that it is of another version."""
    import sys

    python = home.folder / "other" / "bin" / "python"
    python.parent.mkdir(parents=True)
    lie = f"sys.version_info = type('V', (), dict(major={version[0]}, minor={version[2:]}))();" if version else ""
    code = f"import sys, runpy; {lie} runpy.run_module('pounce._worker', run_name='__main__', alter_sys=True)"
    python.write_text(f'#!/bin/sh\nIN_OTHER=yes exec {sys.executable} -c "{code}"\n')
    python.chmod(0o755)
    return str(python.parent.parent)


def test_another_environments_python_runs_where_it_is_asked_for(home):
    prefix = another_environment(home)

    run = home.run(f"""
        def where(): return os.environ.get("IN_OTHER"), os.environ.get("VIRTUAL_ENV"), os.environ["PATH"].split(":")[0]
        client = pounce.Client()
        other = client.options(env={prefix!r})
        report(here=client.submit(where).result(60)[0], there=other.submit(where).result(60), jobs=len(client.queue()))
        report(again=other.options(cpus=1).submit(where).result(60)[0], same=client.options(env={prefix!r})._submitter is other._submitter)
        client.close()
        report(closed=error_of(lambda: other.submit(where))["type"])
    """)

    assert run.reports["here"] is None and run.reports["there"] == ["yes", prefix, prefix + "/bin"]
    assert run.reports["jobs"] == 2 and run.reports["again"] == "yes" and run.reports["same"]
    assert run.reports["closed"] == "ClientClosed"


def test_a_python_of_another_version_is_refused_before_anything_runs_and_both_are_named(home):
    prefix = another_environment(home, "3.7")

    run = home.run(f"""
        client = pounce.Client(env={prefix!r})
        report(error=error_of(lambda: client.submit(os.mkdir, "ran").result(60)), python="%d.%d" % sys.version_info[:2])
    """)

    error = run.reports["error"]
    assert error["type"] == "VersionMismatch" and "3.7" in error["text"] and run.reports["python"] in error["text"]
    assert not (home.folder / "ran").exists()


def test_a_folder_that_is_no_environment_is_refused_at_once(home):
    run = home.run("""
        client = pounce.Client()
        report(error=error_of(lambda: client.options(env=".")))
    """)

    assert run.reports["error"]["type"] == "BadRequest" and "bin/python" in run.reports["error"]["text"]


def test_what_condas_activation_would_set_is_set_on_the_worker(home):
    prefix = another_environment(home)
    write(prefix, "conda-meta/state", '{"env_vars": {"OF_THE_USER": "declared by hand"}}')
    write(prefix, "etc/conda/env_vars.d/gdal.json", '{"OF_A_PACKAGE": "declared"}')
    write(prefix, "etc/conda/activate.d/a.sh", 'echo noise; export HOOKED="$CONDA_PREFIX/share/$OF_A_PACKAGE"; unset OMP_NUM_THREADS')
    write(prefix, "etc/conda/activate.d/b.sh", "false; nonsense-command; export AFTER_A_MISTAKE='two\nlines'")
    home.environment["OMP_NUM_THREADS"] = "3"

    run = home.run(f"""
        client = pounce.Client(env={prefix!r})
        report(there=client.submit(lambda: __import__("os").environ.copy()).result(60))
    """)

    there = run.reports["there"]
    assert there["OF_THE_USER"] == "declared by hand" and there["OF_A_PACKAGE"] == "declared"
    assert there["HOOKED"] == f"{prefix}/share/declared" and there["AFTER_A_MISTAKE"] == "two\nlines"
    assert there["CONDA_PREFIX"] == prefix and "OMP_NUM_THREADS" not in there


def test_a_pounce_that_lies_in_a_folder_of_the_notebooks_is_found_before_that_folder_is_on_the_path(tmp_path, monkeypatch):
    from pounce import _core
    from pounce._engine import environment

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", "/of/the/notebook")
    monkeypatch.setattr(_core, "__file__", str(tmp_path / "pounce" / "_core.so"))
    given = environment.of_workers(None, str(tmp_path / "parked"), environment.search_path())

    assert given["PYTHONPATH"] == f"/of/the/notebook:{tmp_path}"
    assert "PYTHONPATH\t/of/the/notebook" in given["_POUNCE_NOTEBOOK"].split("\n")


def write(prefix: str, name: str, text: str) -> None:
    path = Path(prefix, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_worker_is_told_what_the_notebook_has_whatever_characters_are_in_it(monkeypatch):
    from pounce._common.notebook_process import NotebookProcess, taken

    there = NotebookProcess([["", "/a\tb", "/100%25", "/new\nline"], [], ["/%"]], ["json", "re"], {"PYTHONPATH": "", "PYTHONHASHSEED": None})
    for name, value in there.into({"PYTHONHASHSEED": "7"}).items():
        monkeypatch.setenv(name, value)

    assert taken() == there
    assert os.environ["PYTHONPATH"] == "" and "PYTHONHASHSEED" not in os.environ and "_POUNCE_NOTEBOOK" not in os.environ
