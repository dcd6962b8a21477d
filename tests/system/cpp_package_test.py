"""The C++ client as somebody else's project finds it: installed, then examples/08_cpp_client built against that and run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from daemon_world import DEADLINE_S, Home, program

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("POUNCE_BUILD_DIR", ROOT / "build" / "release"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    if not (BUILD / "libpounce.a").exists():
        pytest.skip(f"{BUILD} holds no build of libpounce.a")
    prefix = tmp_path_factory.mktemp("prefix")
    command("cmake", "--install", BUILD, "--component", "development", "--prefix", prefix)
    return prefix


@pytest.fixture(scope="module")
def example(installed, tmp_path_factory) -> Path:
    built = tmp_path_factory.mktemp("example")
    command("cmake", "-S", ROOT / "examples" / "08_cpp_client", "-B", built, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={installed}")
    command("cmake", "--build", built)
    return built / "on_a_gpu"


def command(*words) -> None:
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_example_runs_a_command_on_a_leased_worker(example, tmp_path):
    home = Home(tmp_path)
    home.environment["PATH"] = f"{Path(program('pounced')).parent}:{home.environment['PATH']}"
    if "PYTHONPATH" in os.environ:
        home.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
    try:
        done = subprocess.run([example, sys.executable, "sh", "-c", "echo on a worker; exit 7"], env=home.environment,
                              cwd=tmp_path, capture_output=True, text=True, timeout=4 * DEADLINE_S)
    finally:
        home.close()

    assert done.returncode == 7, done.stderr
    assert done.stdout == "on a worker\n"


def test_nothing_of_the_build_or_of_python_is_installed_with_it(installed):
    files = {str(path.relative_to(installed)) for path in installed.rglob("*") if path.is_file()}

    headers = {f"include/pounce/{path.name}" for path in (ROOT / "include" / "pounce").iterdir()}
    assert headers < files
    assert {Path(file).name for file in files - headers} >= {"libpounce.a", "pounceConfig.cmake", "pounceTargets.cmake"}
    assert not any(file.endswith((".so", ".py")) for file in files)
    targets = [path.read_text() for path in installed.rglob("*.cmake")]
    assert [text for text in targets if str(ROOT) in text] == []
