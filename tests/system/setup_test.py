"""pouncectl setup before sites made of files: what it says where something is missing. Nothing is compiled here
(tests/installed/setup_test.py does)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from daemon_world import program

HEADER = "#define SLURM_VERSION_NUMBER 0x{release}\n"


class Site:
    """A Slurm of release 24.05 without commands, and a pouncectl installed with its sources."""

    def __init__(self, folder: Path):
        self.folder, self.slurm = folder, folder / "slurm"
        self.installed = folder / "installed"
        (self.slurm / "lib").mkdir(parents=True)
        (self.slurm / "lib" / "libslurm.so.41").write_bytes(b"\x7fELF\0" + b"24.05.3\0")
        for name in ("bin", "share/pounce/pounce-slurm"):
            (self.installed / name).mkdir(parents=True)
        (self.installed / "share/pounce/pounce-slurm/build").write_text("#!/bin/sh\necho 'compiler: error: no such thing' >&2\nexit 1\n")
        (self.installed / "bin/pouncectl").write_bytes(Path(program("pouncectl")).read_bytes())
        (self.installed / "bin/pouncectl").chmod(0o755)
        self.compiler = folder / "c++"
        self.compiler.write_text("#!/bin/sh\n")
        self.compiler.chmod(0o755)

    def put_headers(self, release: str):
        folder = self.slurm / "include" / "slurm"
        folder.mkdir(parents=True)
        (folder / "slurm_version.h").write_text(HEADER.format(release=release))
        (folder / "slurm.h").write_text("")

    def setup(self, *words: str, command: str = "setup", **environment: str) -> dict:
        bare = {"PATH": str(self.folder), "HOME": str(self.folder)}
        done = subprocess.run([self.installed / "bin/pouncectl", command, "--json", *words], env=bare | environment,
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 1, (done.stdout, done.stderr)
        return json.loads(done.stdout)["error"]


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


def test_a_site_without_the_named_slurm_is_told_to_name_it(site, tmp_path):
    (tmp_path / "empty").mkdir()

    error = site.setup("--slurm", str(tmp_path / "empty"))

    assert error["code"] == "no_slurm" and "there is no libslurm here" in error["text"] and "--slurm DIR" in error["remedy"]


def test_missing_headers_are_named_with_the_packages_that_have_them(site, tmp_path):
    (tmp_path / "empty").mkdir()

    error = site.setup("--slurm", str(site.slurm), "--headers", str(tmp_path / "empty"))

    assert "Slurm's headers are not here" in error["text"]
    assert "libslurm-dev" in error["remedy"] and "--headers DIR" in error["remedy"]


def test_headers_and_a_library_of_different_releases_are_not_mixed(site):
    site.put_headers("160508")

    error = site.setup("--slurm", str(site.slurm))

    assert error["code"] == "version_mismatch"
    assert "of Slurm 22.05" in error["text"] and "of 24.05" in error["text"] and "Name the headers of Slurm 24.05" in error["remedy"]


def test_a_missing_compiler_is_said_with_what_to_load(site):
    site.put_headers("180503")
    site.compiler.unlink()

    error = site.setup("--slurm", str(site.slurm))

    assert "there is no C++ compiler here" in error["text"] and "module load gcc" in error["remedy"]


def test_a_compiler_that_is_named_and_is_not_there_is_named(site):
    site.put_headers("180503")

    error = site.setup("--slurm", str(site.slurm), CXX="/opt/gcc/bin/g++")

    assert "/opt/gcc/bin/g++" in error["text"] and "CXX" in error["remedy"]


def test_a_build_that_fails_says_the_compilers_first_error_and_leaves_only_its_log(site):
    site.put_headers("180503")

    error = site.setup("--slurm", str(site.slurm))

    assert "compiler: error: no such thing" in error["text"] and "C++20" in error["remedy"]
    (left,) = (site.installed / "lib/pounce/pounce-slurm").rglob("*libslurm*")
    assert left.suffix == ".log" and str(left) in error["remedy"]


def test_an_installation_without_the_sources_says_how_to_get_them(site):
    (site.installed / "share/pounce/pounce-slurm/build").unlink()

    error = site.setup("--slurm", str(site.slurm))

    assert "sources of pounce-slurm did not come" in error["text"] and "pip install" in error["remedy"]


def test_rebuild_is_told_the_same_and_builds_also_where_one_is_there(site):
    site.put_headers("180503")

    error = site.setup("--slurm-prefix", str(site.slurm), command="rebuild")

    assert "compiler: error: no such thing" in error["text"] and "C++20" in error["remedy"]
