"""Finding pounced, starting it where there is none, and what it may know of this process."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from . import errors
from .modules import search_path

# Names that travel to workers; never all of the environment, since anything secret may be in it.
_TRAVELS = re.compile(
    r"PATH|PYTHONPATH|PYTHONUNBUFFERED|PYTHONHASHSEED|LD_LIBRARY_PATH|VIRTUAL_ENV|CONDA_\w+|LANG|LANGUAGE|LC_\w+|TZ|HOME|USER|"
    r"LOGNAME|SHELL|TMPDIR|MODULEPATH|MODULESHOME|LOADEDMODULES|_LMFILES_|LMOD_\w+|"
    r"OMP_\w+|MKL_\w+|OPENBLAS_NUM_THREADS|NUMEXPR_\w+|VECLIB_MAXIMUM_THREADS|BLIS_NUM_THREADS|"
    r"CUDA_HOME|CUDA_PATH|XDG_CACHE_HOME|HF_HOME|TORCH_HOME|MPLBACKEND|MPLCONFIGDIR"
)
_TAKES_LONG_S = 90  # pounce-slurm may wait 60 s for a slurmctld that does not answer


def travelling_environment(prefix: str | None = None) -> dict[str, str]:
    """What workers have of this process's environment; with the environment at `prefix` in the place of ours."""
    environment = {name: value for name, value in os.environ.items() if _TRAVELS.fullmatch(name)}
    added = os.pathsep.join(search_path())
    if added:
        environment["PYTHONPATH"] = added  # holds what PYTHONPATH gave this process, too
    return environment if prefix is None else _entered(environment, prefix)


def _entered(environment: dict[str, str], prefix: str) -> dict[str, str]:
    """As its activation would leave it, but for hooks of packages (conda's activate.d), which only a shell can run."""
    ours = {os.path.join(sys.prefix, "bin"), os.path.dirname(sys.executable)}
    path = [folder for folder in environment.get("PATH", os.defpath).split(os.pathsep) if folder not in ours]
    kept = {name: value for name, value in environment.items() if name != "VIRTUAL_ENV" and not name.startswith("CONDA_")}
    kind = "CONDA_PREFIX" if os.path.isdir(os.path.join(prefix, "conda-meta")) else "VIRTUAL_ENV"
    return {**kept, kind: prefix, "PATH": os.pathsep.join([os.path.join(prefix, "bin"), *path])}


def interpreter_of(prefix: str) -> str:
    """The Python of the environment at `prefix`."""
    python = os.path.join(prefix, "bin", "python")
    if not os.access(python, os.X_OK):
        raise errors.BadRequest(f"env={prefix!r} is no environment: there is no program {python}", "Name the folder that holds bin/python.")
    return python


def find_program(name: str) -> str:
    """The program of this installation: beside the interpreter, else where scripts go, else on PATH."""
    folders = [os.environ.get("POUNCE_PROGRAMS", ""), os.path.dirname(sys.executable), sysconfig.get_path("scripts") or ""]
    for folder in filter(None, folders):
        path = Path(folder) / name
        if os.access(path, os.X_OK):
            return str(path)
    found = shutil.which(name)
    if found is None:
        raise errors.DaemonUnavailable(
            f"the program {name} is neither beside {sys.executable} nor on PATH", "Install pounce-hpc into this environment."
        )
    return found


def ensure(launcher: str | None, config: str | None) -> str:
    """Starts pounced unless it lives, and returns its endpoint as one line of JSON. Blocks.

    Raises
    ------
    PounceError
        The reason that pounced gave, by its code; ``DaemonUnavailable`` if it gave none.
    """
    command = [find_program("pounced"), "ensure"]
    if config is not None:
        command += ["--config", os.fspath(config)]
    if launcher is not None:
        command += ["--launcher", launcher]
    try:
        answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_TAKES_LONG_S)
    except subprocess.TimeoutExpired:
        raise errors.DaemonUnavailable(f"pounced did not start within {_TAKES_LONG_S} s") from None
    if answer.returncode == 0:
        return answer.stdout.strip()
    raise _error_of(answer)


def _error_of(answer: subprocess.CompletedProcess[str]) -> errors.PounceError:
    try:
        error = json.loads(answer.stdout)["error"]
        return errors.make(error["code"], error["text"], error.get("remedy", ""), error.get("context", {}))
    except (ValueError, KeyError, TypeError):
        words = (answer.stderr or answer.stdout).strip() or "without a word"
        return errors.DaemonUnavailable(f"pounced ended with code {answer.returncode}: {words}")
