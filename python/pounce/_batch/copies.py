"""A batch run once more, in a folder of its own: the files of the first one, with other parameters."""

from __future__ import annotations

import inspect
import json
import pickle
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import errors
from .._engine.resource_words import did_you_mean
from ..errors import BadRequest
from . import making, notebook, records, run_folder
from .job_lines import pattern, quoted
from .run_folder import RunFolder

_SHARED = ("lib", "without_pounce", "tags", "environment.sh", "inputs.pickle", "call_function.py", "run_notebook.py")


def again(facts: Mapping[str, Any], parameters: Mapping[str, Any], tags: Mapping[str, str]) -> RunFolder:
    """Makes the folder of a run that repeats the recorded one, with these parameters changed. Nothing is submitted.

    Raises
    ------
    BadRequest
        The folder is gone, a file of it has changed since, or there is no such parameter.
    """
    old = _unchanged(facts)
    files = _with_parameters({name: (old.path / name).read_bytes() for name in facts["files"]}, parameters)
    new = run_folder.made(old.name, str(old.path.parent) if old.path.parent != run_folder.home() else "", False)
    try:
        script = _renamed(files.pop(old.script.name).decode(), old, new)
        for name in _SHARED:
            _copied(old.path / name, new.path / name)
        for name, data in files.items():
            new.write(name, data)
        new.write("tags.json", json.dumps({**records.tags_of(new, files, facts["env"], script), **tags}))
        new.write(new.script.name, script)
    except BaseException:
        new.remove()
        raise
    return new


def differences(facts: Mapping[str, Any]) -> list[str]:
    """In words: what a user has changed in the script, which is made for that."""
    there = run_folder.home() / facts["name"]
    return [f"the script {name} has changed since, and runs as it is now"
            for name in records.changed(facts, RunFolder(facts["name"], there)) if name.endswith(".sbatch")]


def _unchanged(facts: Mapping[str, Any]) -> RunFolder:
    try:
        old = run_folder.found(facts["name"])
    except errors.NoSuchName:
        old = None
    if old is None or str(old.path.resolve()) != str(Path(facts["folder"]).resolve()):
        raise BadRequest(f"the folder of the batch run {facts['name']} is gone, and its code was there",
                         "Make the batch run anew: %pounce batch.")
    if changed := [name for name in records.changed(facts, old) if name != old.script.name]:
        raise BadRequest(f"{', '.join(changed)} of the batch run {facts['name']} has changed since, in {old.path}",
                         "Make the batch run anew: %pounce batch.")
    return old


def _with_parameters(files: dict[str, bytes], parameters: Mapping[str, Any]) -> dict[str, bytes]:
    if not parameters:
        return files
    if "call.pickle" in files:
        return {**files, "call.pickle": _called_with(files["call.pickle"], parameters)}
    source = json.loads(files["input.ipynb"])
    notebook.change(source, parameters)
    return {**files, "input.ipynb": json.dumps(notebook.with_ids(source), indent=1).encode()}


def _called_with(data: bytes, parameters: Mapping[str, Any]) -> bytes:
    """The call with these arguments. It is this user's own, and as it was written."""
    function, args, kwargs = pickle.loads(data)
    args, kwargs = with_arguments(function, args, kwargs, parameters)
    return making.pickled((function, args, kwargs), getattr(function, "__name__", "function"))


def with_arguments(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
                   changes: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with some changed, by their names.

    Raises
    ------
    BadRequest
        The function has no such parameter.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a C function without a signature
        return args, {**kwargs, **changes}
    known = signature.parameters
    takes_any = any(each.kind is each.VAR_KEYWORD for each in known.values())
    for name in changes:
        if not takes_any and (name not in known or known[name].kind is inspect.Parameter.VAR_POSITIONAL):
            raise unknown_parameter(name, known)
    bound = signature.bind(*args, **kwargs)
    for name, value in changes.items():
        if name in known:
            bound.arguments[name] = value
    return bound.args, {**bound.kwargs, **{name: value for name, value in changes.items() if name not in known}}


def unknown_parameter(name: str, known: Any) -> BadRequest:
    return BadRequest(f"there was no parameter {name}{did_you_mean(name, known)}",
                      f"The parameters are {', '.join(known) or 'none'}.")


def _renamed(script: str, old: RunFolder, new: RunFolder) -> str:
    for before, now in (
            (f"#SBATCH --job-name={old.name}", f"#SBATCH --job-name={new.name}"),
            (f"#SBATCH --output={quoted(pattern(str(old.log)))}", f"#SBATCH --output={quoted(pattern(str(new.log)))}"),
            (f"folder={shlex.quote(str(old.path))}", f"folder={shlex.quote(str(new.path))}"),
            (f"pounce finds the run as {old.name}.", f"pounce finds the run as {new.name}.")):
        script = script.replace(f"{before}\n", f"{now}\n", 1)
    return script


def _copied(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    elif source.is_file():
        shutil.copyfile(source, target)
        target.chmod(0o600)
