"""A home for one measurement, with the local launcher: it has a pounced of its own, which ends by itself soon after."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def own_home(**config: object) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="pounce-bench-"))
    (folder / "run").mkdir(mode=0o700)
    settings = {"launcher": "local", "stand_in_gpus": 1, "daemon_idle_exit_s": 1, **config}
    (folder / "pounced.json").write_text(json.dumps(settings))
    theirs = dict(os.environ)
    os.environ.update(HOME=str(folder), XDG_RUNTIME_DIR=str(folder / "run"), POUNCE_CONFIG=str(folder / "pounced.json"))
    try:
        yield folder
    finally:
        os.environ.clear()
        os.environ.update(theirs)
        shutil.rmtree(folder, ignore_errors=True)
