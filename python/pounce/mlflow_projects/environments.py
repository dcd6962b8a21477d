"""The environment that a project asks for: which one it is, and how it is made."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..errors import BadRequest
from .environment_build import Recipe
from .environment_cache import cache

_VERSION = ".".join(map(str, sys.version_info[:3]))
_IGNORED = frozenset((".git", "__pycache__", "mlruns"))


@dataclass(frozen=True)
class PythonEnv:
    """What a ``python_env.yaml`` says."""

    python: str  # a version
    build_dependencies: Sequence[str] = ()
    dependencies: Sequence[str] = ()


class Project(Protocol):
    """MLflow's, as far as it is needed here."""

    env_type: str           # python_env, conda_env or docker_env
    env_config_path: str | None


def chosen(project: Project, folder: Path, manager: str | None, prefix: str, contained: bool,
           read: Callable[[str], PythonEnv]) -> tuple[str, str | Recipe]:
    """The manager, and the environment: its prefix, empty for the caller's own Python; or how it is made.

    `manager`: MLflow's, if one was named. `prefix`: the configuration's. `contained`: it has a container. `read`: of a
    ``python_env.yaml`` or ``conda.yaml``.
    """
    if prefix:
        if manager not in (None, "local"):
            raise BadRequest(f'the key "env" names an environment, and --env-manager {manager} makes one',
                             "Leave one of them out.")
        return "local", prefix
    kind, file = project.env_type, project.env_config_path
    if kind == "docker_env":
        return "docker", ""
    if manager is None:
        manager = "local" if file is None or contained else "conda" if kind == "conda_env" else "virtualenv"
    if manager == "local":
        return manager, ""
    if manager == "conda":
        if kind != "conda_env" or file is None:
            raise BadRequest("the project has no conda.yaml for --env-manager conda", "Use --env-manager virtualenv.")
        return manager, of_conda(Path(file))
    return manager, of_python(read(file) if file else PythonEnv(_VERSION), folder, manager)


def of_python(wanted: PythonEnv, project: Path, manager: str) -> Recipe:
    """A virtual environment with these packages. `manager`: virtualenv or uv.

    Raises
    ------
    BadRequest
        There is no such Python or no uv here.
    """
    uv = shutil.which("uv") or ""
    if manager == "uv" and not uv:
        raise BadRequest("there is no program uv here, which --env-manager uv needs",
                         "Install uv, or use --env-manager virtualenv.")
    python = wanted.python if manager == "uv" else _interpreter(wanted.python)
    parts = [manager, python, *wanted.build_dependencies, "", *wanted.dependencies]
    prefix = str(cache() / _key(parts, _files_of(wanted.dependencies, project)))
    its = f"{prefix}/bin/python"
    make = [uv, "venv", "--python", python] if manager == "uv" else [python, "-m", "venv"]
    install = [uv, "pip", "install", "--python", its] if manager == "uv" else [its, "-m", "pip", "install"]
    commands = [(*make, prefix)]
    for packages in (wanted.build_dependencies, wanted.dependencies):
        if packages:
            commands.append((*install, *_words(packages)))
    return Recipe(prefix, str(project), tuple(commands))


def of_conda(file: Path) -> Recipe:
    """The environment that a ``conda.yaml`` describes.

    Raises
    ------
    BadRequest
        There is no conda here.
    """
    program = os.environ.get("CONDA_EXE") or next(filter(None, map(shutil.which, ("conda", "mamba", "micromamba"))), "")
    if not program:
        raise BadRequest(f"{file.name} asks for a conda environment, and there is no conda, mamba or micromamba here",
                         "Load conda's module, name an environment with the key \"env\", or use --env-manager local.")
    words = ["create", "--yes"] if Path(program).name == "micromamba" else ["env", "create", "--yes"]
    prefix = str(cache() / _key(["conda"], [(file.name, file.read_bytes())]))
    command = (program, *words, "--prefix", prefix, "--file", str(file))
    return Recipe(prefix, str(file.parent), (command,))


# ---- its key ----


def _key(parts: Sequence[str], files: Sequence[tuple[str, bytes]]) -> str:
    hashed = hashlib.sha256()
    for part in (platform.machine().encode(), *(part.encode() for part in parts),
                 *(one for name, data in files for one in (name.encode(), data))):
        hashed.update(len(part).to_bytes(8, "little"))
        hashed.update(part)
    return hashed.hexdigest()[:32]


def _files_of(dependencies: Sequence[str], project: Path) -> list[tuple[str, bytes]]:
    """The files that these lines name, with their content: lists of requirements, and what these name; wheels; the
    source of packages."""
    files: list[tuple[str, bytes]] = []
    waiting = [(line, project) for line in dependencies]
    seen: set[Path] = set()
    while waiting:
        line, folder = waiting.pop()
        for path in (folder / _path_in(word) for word in line.split()):
            if path.resolve() in seen or not path.exists():
                continue
            seen.add(path.resolve())
            if line.split()[0] in ("-e", "--editable"):  # such an environment refers to this very folder
                files.append((f"editable {path.resolve()}", b""))
            files += [(os.path.relpath(one, project), one.read_bytes()) for one in _content(path)]
            if path.suffix in (".txt", ".in"):
                waiting += [(one, path.parent) for one in path.read_text(errors="replace").splitlines()]
    return files


def _path_in(word: str) -> str:
    """What may be a path in a word of a line: ``-rmore.txt``, ``--requirement=more.txt``, ``file:///a.whl``."""
    if word.startswith("--"):
        word = word.partition("=")[2]
    return word.removeprefix("-r").removeprefix("-c").removeprefix("file://") or "no path"


def _content(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return sorted(one for one in path.rglob("*") if one.is_file() and not _IGNORED.intersection(one.parts))


# ---- the tools ----


def _interpreter(version: str) -> str:
    """Of the same minor version: this one, one on the path, or pyenv's."""
    minor = ".".join(version.split(".")[:2])
    if minor in (".".join(map(str, sys.version_info[:2])), str(sys.version_info[0])):
        return sys.executable
    if found := shutil.which(f"python{minor}"):
        return found
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for python in sorted(root.glob(f"versions/{minor}*/bin/python"), reverse=True):
        return str(python)
    raise BadRequest(f"the project asks for Python {version}, and there is no python{minor} here",
                     "Load its module, use --env-manager uv, or name an environment with the key \"env\".")


def _words(packages: Sequence[str]) -> list[str]:
    """A line of requirements as arguments of pip: an option has its value behind it."""
    return [word for line in packages
            for word in (shlex.split(line) if line.lstrip().startswith("-") else [line.strip()])]

