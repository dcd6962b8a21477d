"""pouncectl setup with a compiler, Slurm's headers and nothing else of the tree: what it builds is what pounced and pouncectl take."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
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


# For sh: the headers of the libraries that came with the sources are hidden from the command, and from nobody else.
HIDE = """
for library in nlohmann spdlog fmt tl; do mount -t tmpfs none /usr/include/$library; done
exec setpriv --reuid=nobody --regid=nogroup --clear-groups -- "$@"
"""


def pouncectl(folder: Path, *words: str) -> tuple[int, dict]:
    """Its exit code, and what it said."""
    done = subprocess.run(["unshare", "--mount", "sh", "-e", "-c", HIDE, "hide", str(folder / "pounce/bin/pouncectl"), *words, "--json"],
                          env={"HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=600)
    return done.returncode, json.loads(done.stdout)


def lines_of(said: dict) -> dict[str, str]:
    """The doctor's: each check and its state."""
    return {line["check"]: line["state"] for line in said["checks"]}


@pytest.mark.timeout(900)
def test_a_user_without_root_builds_it_once_and_both_programs_take_it(installed):
    code, said = pouncectl(installed, "setup", "--python", sys.executable)
    code_without_pounce, said_again = pouncectl(installed, "setup", "--python", "/usr/bin/python3")
    _, version = pouncectl(installed, "version")
    built, again = said["setup"], said_again["setup"]

    assert built["built"] and built["pounce_slurm"].startswith(str(installed / "home/.local/share/pounce/pounce-slurm/"))
    assert Path(built["libslurm"]).parent == LIBRARIES
    assert not again["built"] and again["pounce_slurm"] == built["pounce_slurm"] == version["pounce_slurm"]
    assert "built for" in version["libslurm"]
    assert (code, said["wrong"]) == (0, 0) and set(lines_of(said).values()) <= {"ok", "note"}, said
    assert {check for check, state in lines_of(said).items() if state == "ok"} >= {"programs", "Python", "configuration", "state folder"}
    assert (code_without_pounce, said_again["wrong"]) == (1, 1) and lines_of(said_again)["Python"] == "wrong"
