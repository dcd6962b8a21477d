"""The environment variables of workers and batch runs: this process's, or those of another environment."""

from __future__ import annotations

import glob
import json
import os
import shutil
import subprocess
import sys
import warnings

from .. import _core, errors
from .._common import here
from .._common.local_modules import SearchPath, search_path, standard_modules
from .._common.notebook_process import NotebookProcess
from .._common.settings.python import start_variables
from .._worker.state.hash_seed import VARIABLE, hash_seed

_OF_THE_SHELL = frozenset({"_", "SHLVL", "PWD", "OLDPWD"})
_HOOKS_TAKE_S = 10


def of_workers(prefix: str | None, saved_states: str, path: SearchPath) -> dict[str, str]:
    """The variables that workers start with, with `path`. `saved_states`: the folder of the user's saved states."""
    shown = _travelling(prefix, {})
    begins = start_variables() | {VARIABLE: hash_seed(saved_states)}
    shown |= {name: os.environ[name] for name in begins if name in os.environ}
    known = list(filter(None, shown.get("PYTHONPATH", "").split(os.pathsep)))
    ours = os.path.dirname(os.path.dirname(here.absolute(_core.__file__)))
    # No installation has it, and the interpreter looks for pounce first.
    if ours in (*path.folders(), here.folder()) and ours not in known:
        begins["PYTHONPATH"] = os.pathsep.join([*known, ours])
    notebook = NotebookProcess(list(path), standard_modules(), {name: shown.get(name) for name in begins})
    return notebook.into(shown | begins)


def travelling(prefix: str | None = None) -> dict[str, str]:
    """The variables that a batch run gets from this process; with `prefix`, that environment replaces ours."""
    added = os.pathsep.join(search_path().folders())
    return _travelling(prefix, {"PYTHONPATH": added} if added else {})  # includes what PYTHONPATH gave this process


def _travelling(prefix: str | None, more: dict[str, str]) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if _core.travels(os.fsencode(name))} | more
    if prefix is not None:
        environment = _entered(environment, prefix)
    elif _is_conda(sys.prefix):  # a kernel that JupyterHub started was never activated
        environment["CONDA_PREFIX"] = prefix = sys.prefix
    return environment if prefix is None or not _is_conda(prefix) else _activated(environment, prefix)


def _is_conda(prefix: str) -> bool:
    return os.path.isdir(os.path.join(prefix, "conda-meta"))


def _entered(environment: dict[str, str], prefix: str) -> dict[str, str]:
    ours = {os.path.join(sys.prefix, "bin"), os.path.dirname(sys.executable)}
    path = [folder for folder in environment.get("PATH", os.defpath).split(os.pathsep) if folder not in ours]
    kept = {name: value for name, value in environment.items()
            if name != "VIRTUAL_ENV" and not name.startswith("CONDA_")}
    kind = "CONDA_PREFIX" if _is_conda(prefix) else "VIRTUAL_ENV"
    return {**kept, kind: prefix, "PATH": os.pathsep.join([os.path.join(prefix, "bin"), *path])}


def _activated(environment: dict[str, str], prefix: str) -> dict[str, str]:
    """`environment` as conda's activation leaves it: first what is declared, then what the hooks of packages do.

    The hooks are shell scripts, so a shell runs them, with `environment` alone.
    """
    declared = {**environment, **_declared(prefix)}
    hooks = sorted(glob.glob(os.path.join(glob.escape(prefix), "etc", "conda", "activate.d", "*.sh")))
    shell = shutil.which("bash") or shutil.which("sh")
    if not hooks or shell is None:
        return declared
    run = [shell, "-c", 'for hook; do . "$hook" </dev/null >/dev/null 2>&1; done; env -0', "activate", *hooks]
    try:
        after = subprocess.run(run, env=declared, stdin=subprocess.DEVNULL, capture_output=True,
                               timeout=_HOOKS_TAKE_S, check=True)
    except (OSError, subprocess.SubprocessError) as problem:
        warnings.warn(f"workers go without what the hooks in {os.path.dirname(hooks[0])} set: {problem}", stacklevel=2)
        return declared
    pairs = (os.fsdecode(entry).partition("=") for entry in after.stdout.split(b"\0") if b"=" in entry)
    return {name: value for name, _, value in pairs if name.isidentifier() and name not in _OF_THE_SHELL}


def _declared(prefix: str) -> dict[str, str]:
    """Variables that packages (``etc/conda/env_vars.d``) and the user (``conda env config vars set``) declare."""
    declared: dict[str, str] = {}
    files = sorted(glob.glob(os.path.join(glob.escape(prefix), "etc", "conda", "env_vars.d", "*.json")))
    for path in [*files, os.path.join(prefix, "conda-meta", "state")]:
        try:
            with open(path, encoding="utf-8") as file:
                content = json.load(file)
        except (OSError, ValueError):
            continue
        variables = content.get("env_vars", {}) if path.endswith("state") else content
        declared.update({name: str(value) for name, value in variables.items() if value != "***unset***"})
    return declared


def interpreter_of(prefix: str) -> str:
    python = os.path.join(prefix, "bin", "python")
    if not os.access(python, os.X_OK):
        raise errors.BadRequest(f"env={prefix!r} is no environment: there is no program {python}",
                                "Name the folder that holds bin/python.")
    return python
