"""How much longer `mlflow run --backend pounce` takes until its job is submitted than plain `mlflow run --backend local` of the same project.

    tests/bench/project_submission.py [--rounds 5] [--files 0]

Both take turns in each round, with the environment of this Python. The project runs `true`. Slurm is played by programs of the tests, whose
sbatch takes a tenth of a second; processor time is that of the command alone, without the job's. --files N adds so many files of 10 kB to the project.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
import fake_slurm

MLPROJECT = "name: tiny\nentry_points: {main: {parameters: {rate: {type: float, default: 0.5}}, command: 'true {rate}'}}\n"
REGISTERED = """
import sys
from mlflow.projects.backend import loader
from pounce import mlflow_projects
loader.MLFLOW_BACKENDS.update(pounce=mlflow_projects.backend)
from mlflow.cli import cli
cli()
"""
LOCAL = "import sys\nfrom mlflow.cli import cli\ncli()\n"


def seconds(backend: str, project: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Wall and processor time of one command."""
    program = REGISTERED if backend == "pounce" else LOCAL
    command = [sys.executable, "-c", program, "run", "--backend", backend, "--env-manager", "local", str(project)]
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    wall, after = time.perf_counter() - start, os.times()
    return wall, after.children_user + after.children_system - before.children_user - before.children_system


def measured(rounds: int, files: int) -> dict[str, list[tuple[float, float]]]:
    times: dict[str, list[tuple[float, float]]] = {"local": [], "pounce": []}
    with tempfile.TemporaryDirectory() as folder:
        home, project = Path(folder) / "home", Path(folder) / "project"
        home.mkdir()
        project.mkdir()
        (project / "MLproject").write_text(MLPROJECT)
        for number in range(files):
            (project / f"file{number}").write_bytes(os.urandom(10_000))
        (home / "pounced.json").write_text('{"launcher": "local"}')
        with fake_slurm.fake_slurm(Path(folder) / "slurm") as programs:
            environment = {**os.environ, "HOME": str(home), "POUNCE_CONFIG": str(home / "pounced.json"), "GIT_PYTHON_REFRESH": "quiet",
                           "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "MLFLOW_TRACKING_URI": f"sqlite:///{home}/mlflow.db"}
            seconds("local", project, environment)  # makes the store's tables
            for _ in range(rounds):
                for backend, found in times.items():
                    found.append(seconds(backend, project, environment))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--files", type=int, default=0)
    words = parser.parse_args()
    times = measured(words.rounds, words.files)
    for which, place in (("wall", 0), ("processor", 1)):
        local, ours = ([each[place] for each in times[backend]] for backend in ("local", "pounce"))
        more = [mine - theirs for mine, theirs in zip(ours, local, strict=True)]
        print(f"{which:<10} local {statistics.median(local):.2f} s   pounce {statistics.median(ours):.2f} s   "
              f"more in a round {statistics.median(more):+.2f} s ({min(more):+.2f} to {max(more):+.2f})")


if __name__ == "__main__":
    main()
