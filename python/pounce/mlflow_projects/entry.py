"""A project and one of its entry points, as MLflow reads them from the file MLproject."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mlflow.exceptions import MlflowException
from mlflow.projects import utils as projects

from .._engine.resource_words import did_you_mean
from ..errors import BadRequest

_SCRIPTS = (".py", ".sh", ".R")  # an entry point that is such a file needs no MLproject


def loaded_from(folder: Path, entry_point: str) -> Any:
    """
    Raises
    ------
    BadRequest
        There is no MLproject, or it is none of MLflow's.
    """
    file = next((path for path in folder.iterdir() if path.name.lower() == "mlproject"), None)
    if file is None and not entry_point.endswith(_SCRIPTS):
        raise BadRequest(f"{folder} has no file MLproject, so no entry point {entry_point}",
                         "Write one there, or name a script of it: -e train.py.")
    try:
        return projects.load_project(str(folder))
    except MlflowException as problem:  # a sentence of its own
        raise BadRequest(problem.message.strip().rstrip("."), f"Correct {file}.") from None
    except Exception as problem:  # of YAML's parser, or of MLflow, which takes what it says for granted
        said = " ".join(str(problem).split())
        raise BadRequest(f"{file} is no MLproject that MLflow can read: {type(problem).__name__}: {said}",
                         'Correct it; an entry point is written "main: {command: python train.py}".') from None


def entry_of(project: Any, name: str) -> Any:
    """
    Raises
    ------
    BadRequest
        It has no such entry point, or that has no command.
    """
    names = entry_points(project)
    if name not in names and not name.endswith(_SCRIPTS):
        raise BadRequest(f"the project has no entry point {name}{did_you_mean(name, names)}",
                         f"Its entry points are {', '.join(names) or 'none'}.")
    entry = project.get_entry_point(name)
    if not isinstance(entry.command, str):
        raise BadRequest(f"the entry point {name} has no command", 'Write one: "command: python train.py".')
    return entry


def entry_points(project: Any) -> list[str]:
    """Their names; MLflow has no public attribute for them."""
    return list(getattr(project, "_entry_points", None) or ())
