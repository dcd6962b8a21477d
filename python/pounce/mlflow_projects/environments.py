"""The environment that a project asks for, made once on the machine that submits and found again by its content."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..errors import BadRequest

_DONE = ".pounce-complete"  # in an environment that was made to its end
_LAST_LINES = 8
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
           read: Callable[[str], PythonEnv]) -> tuple[str, str]:
    """The manager, and the prefix of the environment, empty for the caller's own Python. Makes it if it is not there.

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
        return manager, str(of_conda(Path(file)))
    return manager, str(of_python(read(file) if file else PythonEnv(_VERSION), folder, manager))


def cache() -> Path:
    """Nodes see it, as they see the home."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pounce" / "mlflow-environments"


def of_python(wanted: PythonEnv, project: Path, manager: str) -> Path:
    """The prefix of a virtual environment with these packages. Blocks while it is made. `manager`: virtualenv or uv.

    Raises
    ------
    BadRequest
        There is no such Python or no uv here; a package cannot be installed.
    """
    uv = shutil.which("uv") or ""
    if manager == "uv" and not uv:
        raise BadRequest("there is no program uv here, which --env-manager uv needs",
                         "Install uv, or use --env-manager virtualenv.")
    python = wanted.python if manager == "uv" else _interpreter(wanted.python)
    parts = [manager, python, *wanted.build_dependencies, "", *wanted.dependencies]
    key = _key(parts, _files_of(wanted.dependencies, project))
    with _made(key) as prefix:
        if prefix is not None:
            make = [uv, "venv", "--python", python] if manager == "uv" else [python, "-m", "venv"]
            _run([*make, str(prefix)], project)
            its = f"{prefix}/bin/python"
            install = [uv, "pip", "install", "--python", its] if manager == "uv" else [its, "-m", "pip", "install"]
            for packages in (wanted.build_dependencies, wanted.dependencies):
                if packages:
                    _run([*install, "--quiet", *_words(packages)], project)
    return _folder_of(key)


def of_conda(file: Path) -> Path:
    """The prefix of the environment that a ``conda.yaml`` describes. Blocks while it is made."""
    program = os.environ.get("CONDA_EXE") or next(filter(None, map(shutil.which, ("conda", "mamba", "micromamba"))), "")
    if not program:
        raise BadRequest(f"{file.name} asks for a conda environment, and there is no conda, mamba or micromamba here",
                         "Load conda's module, name an environment with the key \"env\", or use --env-manager local.")
    words = ["create", "--yes"] if Path(program).name == "micromamba" else ["env", "create", "--yes"]
    key = _key(["conda"], [(file.name, file.read_bytes())])
    with _made(key) as prefix:
        if prefix is not None:
            _run([program, *words, "--prefix", str(prefix), "--file", str(file)], file.parent)
    return _folder_of(key)


# ---- the cache ----


def _folder_of(key: str) -> Path:
    return cache() / key


@contextlib.contextmanager
def _made(key: str) -> Iterator[Path | None]:
    """The folder to make it in, by one process at a time; None: it is there."""
    folder = _folder_of(key)
    if (folder / _DONE).exists():
        yield None
        return
    cache().mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(cache() / f"{key}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / _DONE).exists():  # another process has made it meanwhile
            yield None
            return
        shutil.rmtree(folder, ignore_errors=True)  # of a process that did not come to its end
        print(f"pounce: making the project's environment in {folder}", file=sys.stderr, flush=True)
        try:
            yield folder
            (folder / _DONE).touch()
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


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


def _run(words: Sequence[str], folder: Path) -> None:
    try:
        done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
    except OSError as problem:
        raise BadRequest(f"{words[0]} cannot be started: {problem.strerror}", "See whether it is installed.") from None
    if done.returncode:
        last = "\n".join(done.stdout.splitlines()[-_LAST_LINES:])
        raise BadRequest(f"the project's environment cannot be made: {Path(words[0]).name} ended with exit code "
                         f"{done.returncode}", "Its last lines say why.", {"last_lines": last})
