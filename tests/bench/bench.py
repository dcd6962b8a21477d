"""What the benchmarks share: a home of their own with the local launcher, floors from the C++ programs, one line of JSON."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path


@contextlib.contextmanager
def own_home(**config):
    """Its pounced is nobody else's and ends by itself soon afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="pounce-bench-"))
    (folder / "run").mkdir(mode=0o700)
    settings = {"launcher": "local", "stand_in_gpus": 1, "daemon_idle_exit_s": 1, **config}
    (folder / "pounced.json").write_text(json.dumps(settings))
    os.environ.update(HOME=str(folder), XDG_RUNTIME_DIR=str(folder / "run"), POUNCE_CONFIG=str(folder / "pounced.json"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def floor(program: str, repetitions: int) -> dict:
    path = Path(os.environ["POUNCE_BUILD"]) / "tests" / program
    return json.loads(subprocess.run([path, str(repetitions)], check=True, capture_output=True, text=True).stdout)


def say(**facts) -> None:
    print(json.dumps({k: round(v, 3) if isinstance(v, float) else v for k, v in facts.items()}), flush=True)
