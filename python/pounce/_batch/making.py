"""Makes batch runs: writes a folder with the script, the program that it runs, and what the program needs."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import sys
import sysconfig
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import _core, errors
from .._common import here, serialize
from .._engine import environment
from .._engine.options import Options
from ..errors import BadRequest
from . import notebook, records, variables
from .job_lines import job_lines
from .placement import COMMAND, Placement, placed
from .run_folder import RunFolder, made
from .script import Script, for_a_command

_JOB = Path(__file__).parent / "job"
_REPORT_LINE = Path(__file__).parents[1] / "_worker" / "reports" / "report_line.py"


@dataclass(frozen=True)
class Request:
    """The user's options for a batch run, beside its work."""

    options: Options = field(default_factory=Options)
    env: str = ""     # the prefix of another environment
    name: str = ""    # empty: pounce chooses one
    folder: str = ""  # where its folder lies; empty: below the home
    lines: tuple[str, ...] = ()  # of sbatch, beside those that the options stand for
    place: Placement | None = None  # where it goes, if that is decided already
    tags: Mapping[str, str] = field(default_factory=dict)  # of the runs of MLflow that it begins, beside its own


def of_notebook(source: Mapping[str, Any], what: str, name: str, parameters: Mapping[str, Any], request: Request,
                inputs: Mapping[str, Any] | None = None, brings: tuple[str, ...] = (),
                directory: str = "") -> RunFolder:
    """`inputs`: variables that the cells find. `brings`: variables that are kept as the run's result."""
    made_for = notebook.for_batch(dict(source), parameters)
    files: dict[str, bytes] = {}
    if inputs:
        files["inputs.pickle"] = pickled(dict(inputs), "the variables")
        made_for["cells"].insert(0, notebook.code_cell(_TAKES_INPUTS, "pounce-inputs"))
    if brings:
        made_for["cells"].append(notebook.code_cell(_GIVES_RESULT.replace("{names}", repr(brings)), "pounce-result"))
    files["input.ipynb"] = json.dumps(notebook.with_ids(made_for), indent=1).encode()
    return _made(what, name, "run_notebook.py", files, request, directory)


def of_function(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any],
                request: Request) -> RunFolder:
    name = getattr(function, "__name__", "function")
    _check_call(function, name, args, kwargs)
    call = pickled((function, args, dict(kwargs)), name)
    return _made(f"The function {name}", name, "call_function.py", {"call.pickle": call}, request, "")


def of_project(name: str, directory: str, request: Request) -> RunFolder:
    """A project of MLflow. Its maker adds the files that describe it (``job/run_project.py``); this process's Python
    reads them, whatever the project's own is."""
    return _made(f"The MLflow project {name}", name, "run_project.py", {}, request, directory, True)


def of_place(options: Options, what: str, env: str = "") -> str:
    """The script for a command of the user's, with these resources. `env`: the prefix of another environment."""
    kept, left_out = variables.recorded(environment.travelling(env or None))
    lines = tuple(job_lines(options, place := placed(options)))
    shell = variables.as_shell(kept, left_out)
    return for_a_command(what, _core.__version__, lines, shell, place.prologue, place.container)


# The first cell of a notebook that gets variables, and the last cell of one that returns some.
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


def _made(what: str, name: str, program: str, files: Mapping[str, bytes], request: Request,
          directory: str, is_project: bool = False) -> RunFolder:
    place = request.place or placed(request.options)  # first: a refusal leaves no folder
    lines = (*job_lines(request.options, place), *request.lines)
    named = environment.interpreter_of(request.env) if request.env else place.interpreter
    python = sys.executable if is_project else named or sys.executable
    kept, left_out = variables.recorded(environment.travelling(request.env or None))
    folder = made(request.name or _plain(name), request.folder, bool(request.name))
    prefix = str(Path(named).parent.parent) if named else ""
    has_tags = not is_project and (records.is_tracked(files) or bool(request.tags))
    script = Script(folder.name, what, _core.__version__, folder.path, directory or here.folder(), python, program,
                    lines, place.prologue, (COMMAND,) if is_project else place.container, is_project, has_tags,
                    _programs())
    try:
        text = script.text()
        if has_tags:
            _add_tags(folder, {**records.tags_of(folder, files, prefix, text), **request.tags})
        for file, data in files.items():
            folder.write(file, data)
        folder.write("environment.sh", variables.as_shell(kept, [] if is_project else left_out))
        folder.write(program, (_JOB / program).read_bytes())
        _add_modules(folder.path)
        folder.write(folder.script.name, text)
    except BaseException:  # e.g. a full disk: an incomplete run would keep its name
        folder.remove()
        raise
    return folder


def _programs() -> str:
    return re.sub(r'([\\"$`])', r"\\\1", sysconfig.get_path("scripts"))


def _add_tags(folder: RunFolder, tags: Mapping[str, str]) -> None:
    """A module that MLflow finds by its entry point, also where there is no pounce."""
    about = folder.path / "tags" / "pounce_batch-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: pounce-batch\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[mlflow.run_context_provider]\npounce = pounce_batch_tags:Context\n")
    shutil.copyfile(_JOB / "pounce_batch_tags.py", folder.path / "tags" / "pounce_batch_tags.py")
    folder.write("tags.json", json.dumps(tags))


def _plain(name: str) -> str:
    """The name with only the characters that a run's name may have."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", name).lstrip("._-")[:58] or "run"


def _add_modules(folder: Path) -> None:
    """Copies pounce's own modules that a run may need if they are not installed where it runs."""
    import cloudpickle

    (folder / "without_pounce").mkdir()
    shutil.copyfile(_JOB / "pounce_here.py", folder / "without_pounce" / "pounce.py")
    shutil.copyfile(_REPORT_LINE, folder / "without_pounce" / "pounce_report_line.py")
    shutil.copyfile(_JOB / "keep_reports.py", folder / "keep_reports.py")
    package = Path(cloudpickle.__file__).parent
    shutil.copytree(package, folder / "lib" / "cloudpickle", ignore=shutil.ignore_patterns("__pycache__"))


def pickled(value: Any, name: str) -> bytes:
    """As a batch run reads it."""
    import cloudpickle

    try:
        return cloudpickle.dumps(value, protocol=5)  # unlike calls to workers, this can be read without pounce
    except Exception as error:
        where, part, why = serialize.path_of_unpicklable(value, name) or (name, value, error)
        raise errors.NotPicklable(f"{where} is a {type(part).__name__}, which cannot be pickled: {why}") from error


def _check_call(function: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise BadRequest(f"{name} cannot be called so: {error}", "Give its arguments with -p NAME=VALUE.") from None
    except ValueError:  # a C function without a signature
        return
    try:
        source = inspect.cleandoc("\n" + inspect.getsource(function))
    except (OSError, TypeError):
        return
    if question := notebook.asks(source):
        raise BadRequest(f"{name} calls {question}(), and nobody can answer a batch job",
                         "Make it an argument, and give it with -p.")
