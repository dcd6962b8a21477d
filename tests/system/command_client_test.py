"""A client that is not Python (tests/cpp/command.cc, the public headers alone) on a real pounced with the local launcher."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from daemon_world import DEADLINE_S, Home, program

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("POUNCE_BUILD_DIR", ROOT / "build" / "release"))
CLIENT = BUILD / "tests" / "command_client"


@pytest.fixture
def home(tmp_path):
    if not CLIENT.exists():
        pytest.skip(f"{CLIENT} is not built (POUNCE_TESTS)")
    made = Home(tmp_path)
    made.environment["PATH"] = f"{Path(program('pounced')).parent}:{made.environment['PATH']}"
    if "PYTHONPATH" in os.environ:
        made.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
    yield made
    made.close()


def run(home: Home, *argv: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
    return subprocess.run([CLIENT, *options, sys.executable, "--", *argv], env=home.environment, cwd=home.folder,
                          capture_output=True, text=True, timeout=4 * DEADLINE_S)


def test_a_command_of_a_cpp_client_runs_on_a_worker_and_its_output_comes_back(home):
    done = run(home, "sh", "-c", 'echo "in $PWD"; echo trouble >&2', options=("--cpus", "1"))

    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"in {home.folder}", "trouble"]


def test_its_exit_code_is_the_commands(home):
    assert run(home, "sh", "-c", "exit 7").returncode == 7


def test_a_program_that_is_not_there_is_told_with_its_name(home):
    done = run(home, "no-such-program")

    assert done.returncode == 70
    assert done.stderr.startswith("task_raised: ") and "no-such-program" in done.stderr


def test_a_command_that_is_cancelled_ends_on_the_worker(home):
    done = run(home, "sh", "-c", "echo $$; exec sleep 1000", options=("--seconds", "3"))

    assert done.returncode == 70 and done.stderr.startswith("cancelled: "), done.stderr
    assert not Path(f"/proc/{done.stdout.strip()}").exists()


def test_the_client_sees_nothing_but_the_public_headers():
    source = (ROOT / "tests" / "cpp" / "command.cc").read_text()

    own = [line.split('"')[1] for line in source.splitlines() if line.startswith('#include "')]
    assert own == ["pounce/client.h"]
    assert len(source.splitlines()) < 80
