"""pouncectl setup with a compiler, Slurm's headers and nothing else of the tree: what it builds is what pounced and pouncectl take."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from bare_user import LIBRARIES, ROOT
from conftest import LONG

BUILT = Path(os.environ.get("POUNCE_BUILD_DIR", ROOT / "build" / "release"))
pytestmark = pytest.mark.skipif(not LONG, reason="it compiles for a minute or two: in long runs")


@pytest.fixture(scope="module")
def installed(readable_folder):
    """The programs and the sources, in a folder that root alone may write; a user's home beside it."""
    folder = readable_folder / "setup"
    subprocess.run(["cmake", "--install", str(BUILT), "--component", "helper_sources", "--prefix", str(folder / "pounce")], check=True, capture_output=True)
    (folder / "pounce" / "bin").mkdir()
    for name in ("pouncectl", "pounced", "pounce-worker"):
        shutil.copy(BUILT / name, folder / "pounce" / "bin")
    (folder / "home").mkdir()
    shutil.chown(folder / "home", "nobody", "nogroup")
    return folder


def pouncectl(folder: Path, *words: str) -> dict:
    done = subprocess.run(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", str(folder / "pounce/bin/pouncectl"), *words, "--json"],
                          env={"HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=600)
    return json.loads(done.stdout)


@pytest.mark.timeout(900)
def test_a_user_without_root_builds_it_once_and_both_programs_take_it(installed):
    built = pouncectl(installed, "setup")["setup"]
    again = pouncectl(installed, "setup")["setup"]
    version = pouncectl(installed, "version")

    assert built["built"] and built["pounce_slurm"].startswith(str(installed / "home/.local/share/pounce/pounce-slurm/"))
    assert Path(built["libslurm"]).parent == LIBRARIES
    assert not again["built"] and again["pounce_slurm"] == built["pounce_slurm"] == version["pounce_slurm"]
    assert "built for" in version["libslurm"]
