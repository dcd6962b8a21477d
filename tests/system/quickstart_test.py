"""quickstart where something is missing: one line of what to do, and nothing is changed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

QUICKSTART = Path(__file__).resolve().parents[2] / "packaging" / "quickstart"


@pytest.fixture
def bare(tmp_path):
    """A home, and a machine where dpkg knows no package."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "dpkg-query").write_text("#!/bin/sh\nexit 1\n")
    (programs / "dpkg-query").chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    return {**os.environ, "HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}"}


def quickstart(environment, *words):
    return subprocess.run([QUICKSTART, *words], env=environment, capture_output=True, text=True, timeout=60)


def test_local_installs_nothing_and_says_what_to_paste(bare):
    done = quickstart(bare, "--local")

    assert done.returncode == 3
    (line,) = done.stdout.splitlines()
    assert line.startswith("sudo apt-get install -y --no-install-recommends ") and "libzmq3-dev" in line
    assert "slurm" not in line
    assert list(Path(bare["HOME"]).iterdir()) == []


def test_here_without_a_slurm_says_what_else_there_is(bare, tmp_path):
    if Path("/etc/slurm/slurm.conf").exists():
        pytest.skip("this machine has a Slurm of its own")
    without = tmp_path / "without"  # every program but Slurm's
    without.mkdir()
    for program in Path("/usr/bin").iterdir():
        if program.name != "sinfo":
            (without / program.name).symlink_to(program)

    done = quickstart({**{k: v for k, v in bare.items() if k != "SLURM_CONF"}, "PATH": str(without)}, "--here")

    assert done.returncode == 3 and "no Slurm is here" in done.stderr and "--local" in done.stderr


def test_an_unknown_option_shows_the_usage(bare):
    done = quickstart(bare, "--nonsense")

    assert done.returncode == 2 and "Usage: quickstart" in done.stderr


# ---- to the end ----

PREFIX = Path(os.environ.get("POUNCE_ENVIRONMENT", "/opt/pounce-demo"))
NOBODY = 65534


@pytest.fixture
def newcomer():
    """A home of somebody who is not root, and a way to run things as that person."""
    if not (PREFIX / ".made-of").exists():
        pytest.skip(f"there is no environment {PREFIX}: packaging/environment makes it")
    home = Path(tempfile.mkdtemp(prefix="pounce-newcomer-"))  # pytest's own folders are root's alone
    away = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
    if away:
        os.chown(home, NOBODY, NOBODY)
    (home / "run").mkdir(mode=0o700)
    if away:
        os.chown(home / "run", NOBODY, NOBODY)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "XDG_RUNTIME_DIR": str(home / "run"), "LANG": "C.UTF-8"}
    yield home, lambda *words: subprocess.run([*away, *words], env=environment, capture_output=True, text=True, timeout=280, cwd="/")
    for endpoint in home.glob(".local/state/pounce/*/*/endpoint"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(json.loads(endpoint.read_text().splitlines()[0])["pid"], signal.SIGTERM)
    shutil.rmtree(home, ignore_errors=True)


@pytest.mark.skipif(not os.environ.get("POUNCE_LONG_RUN"), reason="takes more than a minute: tests/run --long runs it")
def test_local_runs_the_example_to_its_end_without_root(newcomer):
    home, run = newcomer

    done = run(QUICKSTART, "--local", "--env", PREFIX)

    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    executed = json.loads((home / "pounce-quickstart" / "offload-executed.ipynb").read_text())
    cells = [cell for cell in executed["cells"] if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in cells) and "CPU standing in" in done.stdout
