"""Makes batch runs: writes a folder with the script, what it runs, and what that needs."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import _core, errors
from .._common import here, serialize
from .._engine import environment
from .._engine.options import Options
from ..errors import BadRequest
from . import notebook, variables
from .job_lines import job_lines
from .placement import placed
from .run_folder import RunFolder, made
from .script import Script, for_a_command

_JOB = Path(__file__).parent / "job"


@dataclass(frozen=True)
class Asked:
    """What is asked of a batch run beside its work."""

    options: Options = field(default_factory=Options)
    env: str = ""     # the prefix of another environment
    name: str = ""    # empty: one is found
    folder: str = ""  # where its folder lies; empty: below the home


def of_notebook(source: Mapping[str, Any], what: str, name: str, parameters: Mapping[str, Any], asked: Asked,
                inputs: Mapping[str, Any] | None = None, brings: tuple[str, ...] = (), directory: str = "") -> RunFolder:
    """`inputs`: variables that the cells find. `brings`: those that are kept as its result."""
    made_for = notebook.for_batch(dict(source), parameters)
    files: dict[str, bytes] = {}
    if inputs:
        files["inputs.pickle"] = _pickled(dict(inputs), "the variables")
        made_for["cells"].insert(0, notebook.code_cell(_TAKES_INPUTS, "pounce-inputs"))
    if brings:
        made_for["cells"].append(notebook.code_cell(_GIVES_RESULT.replace("{names}", repr(brings)), "pounce-result"))
    files["input.ipynb"] = json.dumps(notebook.with_ids(made_for), indent=1).encode()
    return _made(what, name, "run_notebook.py", files, asked, directory)


def of_function(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], asked: Asked) -> RunFolder:
    name = getattr(function, "__name__", "function")
    _check_call(function, name, args, kwargs)
    call = _pickled((function, args, dict(kwargs)), name)
    return _made(f"The function {name}", name, "call_function.py", {"call.pickle": call}, asked, "")


def of_place(options: Options, what: str, env: str = "") -> str:
    """The script for a command of the user's, with these resources. `env`: the prefix of another environment."""
    kept, left_out = variables.recorded(environment.travelling(env or None))
    lines = tuple(job_lines(options, place := placed(options)))
    return for_a_command(what, _core.__version__, lines, variables.as_shell(kept, left_out), place.prologue, place.container)


# The first and the last cell of a notebook that has variables from outside, or gives some back.
_TAKES_INPUTS = """\
# Variables of the notebook that this batch run was made in
import os, pickle, sys
sys.path.append(os.path.join(os.environ["POUNCE_BATCH"], "lib"))
with open(os.path.join(os.environ["POUNCE_BATCH"], "inputs.pickle"), "rb") as _file:
    globals().update(pickle.load(_file))"""
_GIVES_RESULT = """\
# What this batch run gives back
import os, sys
sys.path.append(os.path.join(os.environ["POUNCE_BATCH"], "lib"))
import cloudpickle
_path = os.path.join(os.environ["POUNCE_BATCH"], "result.pickle")
with open(os.open(_path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as _file:
    cloudpickle.dump({"value": {name: globals()[name] for name in {names}}}, _file, protocol=5)
os.replace(_path + ".new", _path)"""


def _made(what: str, name: str, program: str, files: Mapping[str, bytes], asked: Asked, directory: str) -> RunFolder:
    lines = tuple(job_lines(asked.options, place := placed(asked.options)))  # first: what is refused leaves no folder
    python = environment.interpreter_of(asked.env) if asked.env else place.interpreter or sys.executable
    kept, left_out = variables.recorded(environment.travelling(asked.env or None))
    folder = made(asked.name or _plain(name), asked.folder, bool(asked.name))
    script = Script(folder.name, what, _core.__version__, folder.path, directory or here.folder(), python, program, lines, place.prologue,
                    place.container)
    try:
        text = script.text()
        for file, data in files.items():
            folder.write(file, data)
        folder.write("environment.sh", variables.as_shell(kept, left_out))
        folder.write(program, (_JOB / program).read_bytes())
        _add_modules(folder.path)
        folder.write(folder.script.name, text)
    except BaseException:  # a full disk: half a run would keep its name
        folder.remove()
        raise
    return folder


def _plain(name: str) -> str:
    """As the name of a run may be."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", name).lstrip("._-")[:58] or "run"


def _add_modules(folder: Path) -> None:
    """What a run may need of ours, for where it is not installed."""
    import cloudpickle

    (folder / "without_pounce").mkdir()
    shutil.copyfile(_JOB / "pounce_here.py", folder / "without_pounce" / "pounce.py")
    shutil.copytree(Path(cloudpickle.__file__).parent, folder / "lib" / "cloudpickle", ignore=shutil.ignore_patterns("__pycache__"))


def _pickled(value: Any, name: str) -> bytes:
    import cloudpickle

    try:
        return cloudpickle.dumps(value, protocol=5)  # not as calls travel: nothing of pounce is needed to read it
    except Exception as error:
        where, part, why = serialize.path_of_unpicklable(value, name) or (name, value, error)
        raise errors.NotPicklable(f"{where} is a {type(part).__name__}, which cannot be pickled: {why}") from error


def _check_call(function: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise BadRequest(f"{name} cannot be called so: {error}", "Give its arguments with -p NAME=VALUE.") from None
    except ValueError:  # of C, without a signature
        return
    try:
        source = inspect.cleandoc("\n" + inspect.getsource(function))
    except (OSError, TypeError):
        return
    if question := notebook.asks(source):
        raise BadRequest(f"{name} calls {question}(), and nobody can answer a batch job", "Make it an argument, and give it with -p.")
