from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from bare_user import ROOT, USER, command

BUILD = ROOT / "build"
LONG = bool(os.environ.get("POUNCE_LONG_RUN"))
LIMIT_S = 240

# Of each version the first that is here; the system's own first.
FOUND = {version: next((str(path) for path in (Path(f"/usr/bin/python{version}"), Path(f"/usr/local/bin/python{version}"),
                                               *sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))) if path.exists()), None)
         for version in ("3.10", "3.11", "3.12", "3.13")}
SYSTEMS = f"{sys.version_info.major}.{sys.version_info.minor}"  # the environment of the tests is the system's Python


@functools.cache
def built_wheel(version: str) -> Path:
    """As docs/admin.md says, in a build folder that stays, so that what did not change is not compiled again.

    Where the tests' own environment has what builds it, in that: pip's build environments have another path each time, and with it
    another pybind11, which a compiler's cache takes for another.
    """
    folder = BUILD / f"wheel-{version}" / "out"
    shutil.rmtree(folder, ignore_errors=True)
    own = version == SYSTEMS and all(importlib.util.find_spec(name) for name in ("scikit_build_core", "pybind11", "auditwheel"))
    words = [sys.executable if own else FOUND[version], "-m", "pip", "wheel", "--no-deps", *(["--no-build-isolation"] if own else [])]
    environment = {**os.environ, "CXX": "/usr/bin/c++", "CCACHE_BASEDIR": str(ROOT)}
    done = subprocess.run([*words, "--wheel-dir", str(folder), f"--config-settings=build-dir={BUILD / f'wheel-{version}'}", "."],
                          cwd=ROOT, env=environment, capture_output=True, text=True, timeout=20 * 60)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (wheel,) = folder.glob("*.whl")
    return wheel


def install_commands(apps: Path, python: Path | str) -> str:
    """What docs/admin.md has a user type, with that folder in place of /apps."""
    (commands,) = re.findall(r"^<!-- installed by a user -->\n```sh\n(.*?)^```", (ROOT / "docs" / "admin.md").read_text(), re.M | re.S)
    return commands.replace("/apps/", f"{apps}/").replace("python3 ", f"{python} ")


class Installation:
    """A wheel in an environment of its own, made by a user who sees none of the libraries that it was built with."""

    def __init__(self, folder: Path, python: Path):
        self.folder = folder
        homes = python.is_relative_to(Path.home())  # nobody else can read there
        self.prefix = str(python.resolve().parents[1]) if homes else ""
        self.python = str(python.resolve())
        self.home = folder / "home"
        self.bin = folder / "apps" / "pounce" / "bin"
        for path in (self.home, folder / "apps" / "wheels"):
            path.mkdir(parents=True)
            shutil.chown(path, USER, "nogroup")
        shutil.chown(folder / "apps", USER, "nogroup")

    def run(self, *words: str, code: int = 0, **environment: str) -> str:
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            done = subprocess.run(command(Path(scratch), self.prefix, *words), capture_output=True, text=True, timeout=LIMIT_S, env=self.environment | environment)
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_")) or name in ("LANG", "TMPDIR")}
        return kept | {"HOME": str(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture(scope="session")
def readable_folder():
    """Where an ordinary user may go: pytest's own folders are closed to others."""
    with tempfile.TemporaryDirectory(prefix="pounce-installed-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)
