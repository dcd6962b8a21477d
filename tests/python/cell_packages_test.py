"""Which cells call a package manager, and what the user is told then."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

import pytest
from pounce._worker.cell import packages


@pytest.mark.parametrize(("source", "does"), [
    ("%pip install rich", True),
    ("import a\n  !pip install rich", True),
    ("!{sys.executable} -m pip list", True),
    ("!/opt/mine/bin/python -m pip install rich", True),
    ("!python3.11 -m pip install rich", True),
    ("%conda install numpy", True),
    ("pip = 1\nprint('%pip')", False),
    ("%pipeline", False),
])
def test_cells_that_call_a_package_manager(source, does):
    assert packages.installs(source) == does


def test_an_environment_that_cannot_be_written_is_answered_with_the_way_to_one_that_can(monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(packages.site, "ENABLE_USER_SITE", False)

    assert "cannot be written" in packages.note() and "python -m venv" in packages.note() and "--env" in packages.note()


@pytest.fixture
def wheel(tmp_path):
    """One made by hand: a module `purr` that knows a number."""
    path = tmp_path / "purr-1.0-py3-none-any.whl"
    about = {"METADATA": "Metadata-Version: 2.1\nName: purr\nVersion: 1.0\n", "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("purr.py", "loudness = 42\n")
        for name, text in about.items():
            archive.writestr(f"purr-1.0.dist-info/{name}", text)
        archive.writestr("purr-1.0.dist-info/RECORD", "".join(f"{name},,\n" for name in ("purr.py", *(f"purr-1.0.dist-info/{one}" for one in about))))
    return path


@pytest.fixture
def environment(tmp_path):
    """One of the user's own, with pip, which finds all else where this Python does."""
    prefix = tmp_path / "mine"
    subprocess.run([sys.executable, "-m", "venv", str(prefix)], check=True, capture_output=True, timeout=120)
    (folder,) = prefix.glob("lib/python*/site-packages")
    (folder / "others.pth").write_text(sysconfig.get_path("purelib"))
    return prefix


def test_what_pip_installs_in_a_cell_is_imported_by_the_next(wheel, environment):
    pytest.importorskip("ipykernel")
    kernel = pytest.importorskip("kernel")
    line = f"%%pounce --env {environment}\n"
    with kernel.notebook_at_home("import pounce") as notebook:
        before = notebook.run(line + "import purr")
        installed = notebook.run(line + f"%pip install --no-index --no-deps --disable-pip-version-check {wheel}")
        after = notebook.run(line + "import purr\npurr.loudness, purr.__file__")

    assert before.error["ename"] == "ModuleNotFoundError"
    assert "Successfully installed purr-1.0" in installed.stdout and f"packages are in {environment}" in installed.stdout + installed.said
    assert after.value.replace("\n", "").startswith(f"(42, '{environment}/")


@pytest.fixture
def channel(tmp_path):
    """A channel of conda's in a folder: one package, the module `hiss`."""
    noarch = tmp_path / "channel" / "noarch"
    noarch.mkdir(parents=True)
    (tmp_path / "channel" / "linux-64").mkdir()
    about = {"name": "hiss", "version": "1.0", "build": "0", "build_number": 0, "depends": [], "noarch": "generic", "subdir": "noarch"}
    where, module = sysconfig.get_path("purelib", vars={"base": "", "platbase": ""}).lstrip("/") + "/hiss.py", b"loudness = 43\n"
    paths = [{"_path": where, "path_type": "hardlink", "sha256": hashlib.sha256(module).hexdigest(), "size_in_bytes": len(module)}]
    parts = {"info/index.json": json.dumps(about).encode(), "info/files": where.encode() + b"\n", where: module,
             "info/paths.json": json.dumps({"paths": paths, "paths_version": 1}).encode()}
    package = noarch / "hiss-1.0-0.tar.bz2"
    with tarfile.open(package, "w:bz2") as archive:
        for name, data in parts.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    data = package.read_bytes()
    known = {**about, "size": len(data), "md5": hashlib.md5(data).hexdigest(), "sha256": hashlib.sha256(data).hexdigest()}
    for subdir, packages_there in (("noarch", {package.name: known}), ("linux-64", {})):
        repodata = {"info": {"subdir": subdir}, "packages": packages_there, "packages.conda": {}, "repodata_version": 1}
        (tmp_path / "channel" / subdir / "repodata.json").write_text(json.dumps(repodata))
    return (tmp_path / "channel").as_uri()


@pytest.mark.skipif(shutil.which("micromamba") is None, reason="there is no program micromamba: neither Debian nor PyPI has a package of it")
def test_what_conda_installs_in_a_cell_is_imported_by_the_next(channel, environment):
    micromamba = shutil.which("micromamba")
    kernel = pytest.importorskip("kernel")
    subprocess.run([micromamba, "create", "--yes", "--offline", "--prefix", str(environment.parent / "new")], check=True, timeout=120)
    shutil.move(environment.parent / "new" / "conda-meta", environment)  # a prefix of conda's, whose Python is that of these tests
    (environment / "bin" / "conda").symlink_to(micromamba)
    line = f"%%pounce --env {environment}\n"
    with kernel.notebook_at_home("import pounce") as notebook:
        installed = notebook.run(line + f"%conda install --offline --override-channels --channel {channel} hiss")
        after = notebook.run(line + "import hiss\nhiss.loudness")

    assert f"packages are in {environment}" in installed.stdout + installed.said
    assert after.value == "43"
